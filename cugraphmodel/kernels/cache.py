"""Compiled kernels on disk, found by what they were compiled from.

The folder belongs to the user alone (mode 0700). Files appear in it whole or not at all, and each
has a checksum beside it, so that one cut short by a full disk or a power failure is made anew. Any
number of processes may use the folder at once.

Where there is no such folder (home read-only, or the folder is another user's or open to others,
who could plant code in it) a temporary folder of this process takes its place and is removed at
exit: everything works, only slower to start.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from cugraphmodel import settings
from cugraphmodel.errors import KernelCompileError

__all__ = ["cached", "folder", "is_cached", "key_of"]

_log = logging.getLogger(__name__)


def key_of(parts: Sequence[bytes | str]) -> str:
    """Name for a build that ``parts`` determine: 32 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def cached(parts: Sequence[bytes | str], suffix: str, build: Callable[[Path], None]) -> Path:
    """Path of a finished file, made by ``build`` if it is not there yet.

    Args:
        parts: everything the file depends on: sources, headers, options, compiler, processor.
        suffix: of the file's name, e.g. ``".so"``.
        build: writes the file to the path it is given. What it raises passes through, and nothing
            stays behind. It is not called twice at the same time for the same parts.
    """
    name = key_of(parts) + suffix
    place = folder()
    if _is_whole(place / name):
        return place / name
    try:
        return _build(place, name, build)
    except _FolderUnusable:
        _warn_once(f"cannot write to the kernel cache {place}; using a temporary folder")
        place = _private_folder(os.getpid())
        return place / name if _is_whole(place / name) else _build(place, name, build)


def is_cached(parts: Sequence[bytes | str], suffix: str) -> bool:
    """Whether :func:`cached` would find the file without building it."""
    return _is_whole(folder() / (key_of(parts) + suffix))


def folder() -> Path:
    """The folder in use: ``settings.cache_dir()`` if it is fit, else a temporary one."""
    wanted = settings.cache_dir()
    reason = _reason_against(wanted)
    if reason is None:
        return wanted
    _warn_once(f"not using the kernel cache {wanted}: {reason}; using a temporary folder")
    return _private_folder(os.getpid())


class _FolderUnusable(OSError):
    """The cache folder takes no files."""


def _reason_against(place: Path) -> str | None:
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = place.stat()
    except OSError as error:
        return f"it cannot be made ({error.strerror})"
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & 0o022:
        return "others may write to it (chmod 700 would mend that)"
    return None


@functools.cache
def _warn_once(message: str) -> None:
    _log.warning(message)


@functools.cache
def _private_folder(pid: int) -> Path:
    """A folder of this process alone (``pid``: so that a forked child makes its own)."""
    place = Path(tempfile.mkdtemp(prefix="cugraphmodel-"))

    def remove() -> None:
        if os.getpid() == pid:
            shutil.rmtree(place, ignore_errors=True)

    atexit.register(remove)
    return place


def _checksum_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _is_whole(path: Path) -> bool:
    try:
        expected = _checksum_path(path).read_text(encoding="ascii")
        return expected == hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, UnicodeDecodeError):
        return False


def _build(place: Path, name: str, build: Callable[[Path], None]) -> Path:
    path = place / name
    with _lock(place, name), _temporary(place, Path(name).suffix) as unfinished:
        if _is_whole(path):  # another process was faster
            return path
        build(unfinished)
        if not unfinished.is_file():
            raise KernelCompileError(
                "The compiler reported no error and wrote nothing. If CXX is set: does it name a "
                "C++ compiler?",
                source="",
                options=(),
                log="",
            )
        try:
            checksum = hashlib.sha256(unfinished.read_bytes()).hexdigest()
            _checksum_path(unfinished).write_text(checksum, encoding="ascii")
            unfinished.replace(path)
            _checksum_path(unfinished).replace(_checksum_path(path))
        except OSError as error:
            raise _FolderUnusable(error.errno, error.strerror, str(place)) from error
    return path


@contextlib.contextmanager
def _lock(place: Path, name: str) -> Iterator[None]:
    """Holds one of 256 lock files, so that they never pile up."""
    try:
        descriptor = os.open(place / f"{name[:2]}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _FolderUnusable(error.errno, error.strerror, str(place)) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise _FolderUnusable(error.errno, error.strerror, str(place)) from error
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _temporary(place: Path, suffix: str) -> Iterator[Path]:
    """A path in a fresh folder inside ``place``, which is removed with what is left in it."""
    try:
        inner = tempfile.mkdtemp(prefix="unfinished-", dir=place)
    except OSError as error:
        raise _FolderUnusable(error.errno, error.strerror, str(place)) from error
    try:
        yield Path(inner) / f"kernel{suffix}"
    finally:
        shutil.rmtree(inner, ignore_errors=True)
