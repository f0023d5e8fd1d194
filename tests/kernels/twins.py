"""Wrappers that are one thing on a GPU and another on the CPU device, and a hash of both sides.

CI never runs the GPU's side. So ``tests/gpu_report.json`` says of each wrapper, by that hash,
whether the tests that are marked with its name passed on a GPU.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Twin", "find_twins", "twins_of", "unconfirmed"]

HEADERS = "cugraphmodel/**/*.cuh"
HOST_HEADER = "cugraphmodel/executors/host/cuda_host.h"
"""Where the CPU's side may be as well."""

DEVICE, HOST, EITHER = "device", "host", "either"
CONDITIONS = {"#if defined(__CUDACC__)": DEVICE, "#if !defined(__CUDACC__)": HOST}

_NAMESPACE = re.compile(r"namespace \w* ?\{")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_MACRO = re.compile(r"#define (\w+)")
_TYPE = re.compile(r"(?:template <.*>\s*)?struct (?:\w+\([^;{]*\) )?(\w+)[^;()]*\{")
_FUNCTION = re.compile(
    r"(?:template <.*>\s*)?(?:CG_DEV|CUHOST_INLINE|inline|void)\b[\w:&*<>,\s]*?\b(\w+)\("
)
_MATH_FUNCTION = re.compile(r"CG_MATH\((\w+),")
_MATH = ("CG_MATH(", "CG_MATH_CALL(")
"""Calls of a function that CUDA has under one name and the C library under another."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Twin:
    """A wrapper with two sides.

    Attributes:
        header: path of the header that declares it, from the root of the repository.
        digest: of all definitions of its name, and of what they use of the headers, without
            comments and layout.
    """

    header: str
    digest: str


@dataclass(frozen=True)
class _Definition:
    text: str
    is_function: bool
    differs: bool
    """Whether only a GPU's compiler sees it, or sees another body."""


_Definitions = Mapping[str, list[_Definition]]


def find_twins(root: Path) -> dict[str, Twin]:
    """All wrappers of the repository at ``root``, by name."""
    files = [*sorted(root.glob(HEADERS)), root / HOST_HEADER]
    return twins_of({str(file.relative_to(root)): file.read_text("utf-8") for file in files})


def twins_of(texts: Mapping[str, str]) -> dict[str, Twin]:
    """As :func:`find_twins`, of headers given as path -> text."""
    by_header = {header: _definitions(text) for header, text in texts.items()}
    twins = {}
    for header, definitions in by_header.items():
        if header == HOST_HEADER:
            continue
        seen: dict[str, list[_Definition]] = defaultdict(list)
        for other in _included(header, texts):
            for name, found in by_header[other].items():
                seen[name] += found
        for name, found in definitions.items():
            if any(one.is_function and one.differs for one in found):
                twins[name] = Twin(header, _digest(name, seen))
    return twins


def _included(header: str, texts: Mapping[str, str]) -> set[str]:
    """A header and what it includes, which is to say the host header as well."""
    found, new = {header, HOST_HEADER}, [header]
    while new:
        names = _INCLUDE.findall(texts[new.pop()])
        fresh = {path for path in texts if Path(path).name in names} - found
        found |= fresh
        new += fresh
    return found


def unconfirmed(
    twins: Mapping[str, Twin], reports: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Lines that name the twins whose sides, as they are now, no recorded GPU run has compared.

    Args:
        twins: from :func:`find_twins`.
        reports: entries of ``tests/gpu_report.json``. What those without ``"twins"`` compared,
            which are from before this was recorded, nobody knows.
    """
    recorded = [entry["twins"] for entry in reports.values() if "twins" in entry]
    others = [entry["sources"] for entry in reports.values() if "twins" not in entry]
    unknown = []
    for name, twin in sorted(twins.items()):
        if any(confirmed.get(name) == twin.digest for confirmed in recorded):
            continue
        if any(name in confirmed for confirmed in recorded):
            yield f"twin changed since a GPU confirmed it: {name}"
        elif any(twin.header in sources for sources in others):
            unknown.append(name)
        else:
            yield f"twin never confirmed on a GPU: {name}"
    if unknown:
        yield f"twins not recorded whether a GPU confirmed them: {', '.join(unknown)}"


def _digest(name: str, seen: _Definitions) -> str:
    used, new = {name}, [name]
    while new:
        for definition in seen[new.pop()]:
            found = {word for word in _WORD.findall(definition.text) if word in seen} - used
            used |= found
            new += found
    texts = [definition.text for word in sorted(used) for definition in seen[word]]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _definitions(text: str) -> dict[str, list[_Definition]]:
    definitions: dict[str, list[_Definition]] = defaultdict(list)
    sides: list[str] = []
    for statement in _statements(text):
        if statement.startswith("#if"):
            sides.append(CONDITIONS.get(statement.strip(), EITHER))
        elif statement.startswith("#el"):
            sides[-1] = _other_side(sides[-1], statement)
        elif statement.startswith("#endif"):
            sides.pop()
        for pattern in (_MACRO, _TYPE, _MATH_FUNCTION, _FUNCTION):
            if match := pattern.match(statement):
                inside = any(mark in statement for mark in ("defined(__CUDACC__)", *_MATH))
                is_function = pattern in (_MATH_FUNCTION, _FUNCTION)
                definition = " ".join(_TOKEN.findall(statement))
                definitions[match[1]].append(
                    _Definition(definition, is_function, DEVICE in sides or inside)
                )
                break
    return definitions


def _other_side(side: str, line: str) -> str:
    if side == DEVICE:
        return HOST
    return DEVICE if side == HOST and line.startswith("#else") else EITHER


def _statements(text: str) -> Iterator[str]:
    """Directives, and declarations that begin at the start of a line, each with its body."""
    held: list[str] = []
    depth = 0
    for line in filter(str.strip, _COMMENT.sub("", text).replace("\\\n", " ").splitlines()):
        line = line.rstrip()
        if depth == 0 and line.startswith("#"):
            yield line
            continue
        if depth == 0 and not held and (line == "}" or _NAMESPACE.fullmatch(line)):
            continue
        held.append(line)
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.endswith((";", "}", ")")):
            yield "\n".join(held)
            held = []
