"""Reading kernel files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

__all__ = ["DEVICE_HEADER", "Source", "device_header", "load_source"]

DEVICE_HEADER = "device.cuh"
"""The include that stays an include: a compiler finds it as a header of this name."""

_PACKAGE = Path(__file__).parents[1]
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"[^\n]*$', re.MULTILINE)

_ONCE = re.compile(r"^#pragma once$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """One compilable kernel source.

    Attributes:
        name: path relative to the package, or whatever messages should call it.
        text: the source. Its only include is ``device.cuh``; others were put in, once each, with
            ``#line`` directives that keep file names and line numbers right.
    """

    name: str
    text: str


def load_source(name: str) -> Source:
    """Read a ``.cu`` file, anew each time, so that a graph captured after an edit has it.

    Args:
        name: path relative to the package, e.g. ``"ops/softmax/softmax.cu"``, or an absolute one.
            Its includes are looked for in its own folder, then in ``kernels``.

    Raises:
        FileNotFoundError: the file or one of its includes does not exist.
    """
    return Source(name, _expand(PurePosixPath(name), set()))


def device_header() -> str:
    """Text of ``device.cuh``."""
    return (Path(__file__).parent / DEVICE_HEADER).read_text(encoding="utf-8")


def _expand(name: PurePosixPath, done: set[PurePosixPath]) -> str:
    text = _ONCE.sub("", (_PACKAGE / name).read_text(encoding="utf-8"))
    pieces = [f'#line 1 "{name}"\n']
    end = 0
    for match in _INCLUDE.finditer(text):
        included = PurePosixPath(match[1])
        if included.name == DEVICE_HEADER:
            continue
        pieces.append(text[end : match.start()])
        end = match.end()
        path = _find(included, name)
        if path not in done:
            done.add(path)
            line = text.count("\n", 0, end) + 2  # of what follows the include
            pieces.append(f'{_expand(path, done)}\n#line {line} "{name}"')
    return "".join([*pieces, text[end:]])


def _find(included: PurePosixPath, including: PurePosixPath) -> PurePosixPath:
    for folder in (including.parent, PurePosixPath("kernels")):
        if (_PACKAGE / folder / included).is_file():
            return folder / included
    raise FileNotFoundError(f'{including} includes "{included}", which is not in the package')
