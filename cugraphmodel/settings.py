"""The only reader of environment variables. A value that means nothing is an error.

- ``CUGRAPHMODEL_CACHE_DIR``: folder for compiled kernels. Default:
  ``$XDG_CACHE_HOME/cugraphmodel``, else ``~/.cache/cugraphmodel``.
- ``CUGRAPHMODEL_HOST_THREADS``: worker threads of the CPU device. Default: the CPUs this process
  may use, at most 16.
- ``CUGRAPHMODEL_HOST_ORDER``: order of the emulated threads of a block: ``forward`` (default),
  ``reverse`` or a seed.
- ``CXX``: C++ compiler of the CPU device. Default: the first of c++, g++, clang++, ziglang.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from cugraphmodel.errors import SettingsError

__all__ = ["cache_dir", "cxx", "host_order", "host_threads"]


def cache_dir() -> Path:
    """Folder that holds compiled kernels. It need not exist or be writable."""
    named = os.environ.get("CUGRAPHMODEL_CACHE_DIR")
    if named is not None:
        try:
            path = Path(named).expanduser()
        except RuntimeError as error:  # ~user
            raise SettingsError(
                f"CUGRAPHMODEL_CACHE_DIR={named!r}: there is no such user."
            ) from error
        if not path.is_absolute():
            raise SettingsError(
                f"CUGRAPHMODEL_CACHE_DIR={named!r} is not an absolute path; give one, "
                "so that the cache does not depend on the current folder."
            )
        return path
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else _home() / ".cache") / "cugraphmodel"


def _home() -> Path:
    """The user's home; ``/`` if there is none, as for a user number that no account has."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def host_threads() -> int:
    """Worker threads of the CPU device."""
    text = os.environ.get("CUGRAPHMODEL_HOST_THREADS")
    if text is None:
        return min(len(os.sched_getaffinity(0)), 16)
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise SettingsError(
            f"CUGRAPHMODEL_HOST_THREADS={text!r} is not a whole number from 1 to 256."
        )
    return int(text)


def host_order() -> tuple[str, int]:
    """Order in which the CPU device runs the threads of a block: (kind, seed)."""
    text = os.environ.get("CUGRAPHMODEL_HOST_ORDER", "forward")
    if text in ("forward", "reverse"):
        return text, 0
    if text.isdecimal() and int(text) < 2**32:
        return "random", int(text)
    raise SettingsError(
        f"CUGRAPHMODEL_HOST_ORDER={text!r} means nothing; use 'forward', 'reverse' or a seed."
    )


def cxx() -> str | None:
    """The C++ compiler the user chose, as a command line, or None."""
    text = os.environ.get("CXX", "").strip()
    try:
        shlex.split(text)
    except ValueError as error:
        raise SettingsError(f"CXX={text!r} is no command line: {error}.") from error
    return text or None
