"""When the machine code of a kernel file must be looked at again."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Iterator

from cugraphmodel.executors.cuda.compiler import nvrtc_options
from cugraphmodel.kernels.source import device_header, load_source

__all__ = ["digest", "forget_files"]

DEVICE, HOST, PAST, EITHER = "device", "host", "past", "either"
CONDITIONS = {
    "#if defined(__CUDACC__)": DEVICE,
    "#if !defined(__CUDACC__)": HOST,
    "#if defined(CUHOST_CHECK)": HOST,
}
"""Whom the lines after a condition are for; after any other, for either. PAST a branch for the
device, the rest is for the host."""

_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


@functools.cache
def digest(source: str) -> str:
    """Of all that decides the machine code of a source's instances, but for their macros.

    Comments, indentation and blank lines do not count, nor does what only a C++ compiler sees.
    """
    texts = (load_source(source).text, device_header())
    seen = ["\n".join(for_device(lines_of_code(text))) for text in texts]
    return hashlib.sha256("\0".join([*seen, *nvrtc_options("", ())]).encode()).hexdigest()[:16]


def forget_files() -> None:
    """Read all files anew from now on."""
    digest.cache_clear()


def lines_of_code(text: str) -> Iterator[str]:
    """Lines without comments, ``#line`` directives, indentation and blank lines."""
    bare = _COMMENT_OR_TEXT.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    lines = (line.strip() for line in bare.splitlines())
    return (line for line in lines if line and not line.startswith("#line "))


def for_device(lines: Iterable[str]) -> Iterator[str]:
    """Lines that NVRTC may see."""
    branches: list[str] = []
    for line in lines:
        if line.startswith("#if"):
            branches.append(CONDITIONS.get(line, EITHER))
        elif line.startswith("#el"):
            branches[-1] = _next_branch(branches[-1], line)
        if HOST not in branches and PAST not in branches:
            yield line
        if line.startswith("#endif"):
            branches.pop()


def _next_branch(branch: str, line: str) -> str:
    if branch in (DEVICE, PAST):
        return PAST
    return DEVICE if branch == HOST and line == "#else" else EITHER
