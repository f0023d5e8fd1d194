"""Small faults that could be written into a kernel file, one token or statement each.

Works on text. What the CPU device never compiles is left alone: comments, strings, directives other
than ``#define``, and branches for the GPU's compiler; so is what means nothing to it: launch
bounds, alignment, static assertions. Operators stand between spaces in these files, brackets of
templates do not; that tells ``<`` from ``<``.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cugraphmodel

__all__ = [
    "FAMILIES",
    "PACKAGE",
    "Mutant",
    "all_mutants",
    "kernel_files",
    "mutants_of",
    "text_of",
]

PACKAGE = Path(cugraphmodel.__file__).parent


@dataclass(frozen=True)
class Mutant:
    """A file with one fault in it.

    Attributes:
        file: relative to the package.
        line: where the fault is, from 1.
        code: that line as it was, without indentation.
        family: kind of fault.
        change: what became of what, e.g. ``"< -> <="``.
        ordinal: which of the file's mutants with this code, family and change, from 0.
        text: the whole file with the fault.
    """

    file: str
    line: int
    code: str
    family: str
    change: str
    ordinal: int
    text: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Stays the same when lines are added or removed elsewhere."""
        return self.file, self.code, self.change, self.ordinal

    def __str__(self) -> str:
        nth = f" #{self.ordinal + 1}" if self.ordinal else ""
        return f"{self.file}:{self.line}: {self.change}{nth} in `{self.code}`"


def kernel_files(pattern: str = "*") -> list[str]:
    """Kernel files below ``ops`` and ``kernels`` whose path in the package matches a pattern."""
    found = [
        path.relative_to(PACKAGE).as_posix()
        for folder in ("kernels", "ops")
        for path in (PACKAGE / folder).rglob("*.cu*")
    ]
    return sorted(file for file in found if fnmatch.fnmatch(file, pattern))


def text_of(file: str) -> str:
    """A kernel file as it is in the package."""
    return (PACKAGE / file).read_text(encoding="utf-8")


def all_mutants(pattern: str = "*") -> list[Mutant]:
    """Every mutant of every file that matches, in the order of the text."""
    files = kernel_files(pattern)
    return [mutant for file in files for mutant in mutants_of(file, text_of(file))]


def mutants_of(file: str, text: str) -> list[Mutant]:
    """Every mutant of a text, in its order."""
    visible = _visible(text)
    edits = sorted({edit for find in _FINDERS for edit in find(visible)})
    seen: Counter[tuple[str, str]] = Counter()
    mutants = []
    for edit in edits:
        line = text.count("\n", 0, edit.start) + 1
        code = text.splitlines()[line - 1].strip()
        change = f"{_shown(text[edit.start : edit.end])} -> {_shown(edit.put)}"
        mutated = text[: edit.start] + edit.put + text[edit.end :]
        mutants.append(Mutant(file, line, code, edit.family, change, seen[code, change], mutated))
        seen[code, change] += 1
    return mutants


def _shown(text: str) -> str:
    return " ".join(text.split()) or "nothing"


# ---- What may be mutated

_HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?!define)(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
_MEANINGLESS = re.compile(r"\b(?:__launch_bounds__|__align__|alignas|static_assert)\s*(?=\()")


def _visible(text: str) -> str:
    """The text with blanks for all that must stay; places stay the same."""
    text = _HIDDEN.sub(_blank, text)
    text = _DIRECTIVE.sub(_blank, _without_device_branches(text))
    for match in reversed(list(_MEANINGLESS.finditer(text))):
        end = _closing(text, match.end())
        text = text[: match.start()] + _blanked(text[match.start() : end]) + text[end:]
    return text


def _blank(match: re.Match[str]) -> str:
    return _blanked(match[0])


def _blanked(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _without_device_branches(text: str) -> str:
    lines = text.splitlines(keepends=True)
    openings: list[str] = []
    for_device: list[bool] = []
    for number, line in enumerate(lines):
        directive = line.strip()
        if directive.startswith("#if"):
            openings.append(directive)
            for_device.append(directive == "#if defined(__CUDACC__)")
        elif directive.startswith("#el"):
            other = openings[-1] == "#if !defined(__CUDACC__)"
            for_device[-1] = other and directive == "#else"
        elif directive.startswith("#endif"):
            openings.pop()
            for_device.pop()
        elif any(for_device):
            lines[number] = _blanked(line)
    return "".join(lines)


def _closing(text: str, opening: int) -> int:
    """Position after the bracket that closes the one at a position."""
    close = {"(": ")", "[": "]"}[text[opening]]
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] == text[opening]) - (text[position] == close)
        if depth == 0:
            return position + 1
    raise ValueError(f"unbalanced: {text[opening : opening + 40]!r}")


# ---- Faults


@dataclass(frozen=True, order=True)
class _Edit:
    start: int
    end: int
    put: str
    family: str


Finder = Callable[[str], Iterator[_Edit]]

_SWAPS = {
    "bound": [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > ")],
    "equality": [(" == ", " != "), (" != ", " == ")],
    "logic": [(" && ", " || "), (" || ", " && ")],
    "arithmetic": [
        (" + ", " - "),
        (" - ", " + "),
        (" * ", " + "),
        (" / ", " % "),
        (" / ", " * "),
        (" % ", " / "),
        (" += ", " -= "),
        (" -= ", " += "),
        (" *= ", " += "),
    ],
    "shift": [(" << ", " >> "), (" >> ", " << ")],
    "barrier": [("__syncthreads();", "")],
    "flag": [("true", "false"), ("false", "true")],
    "extreme": [
        ("cg_min", "cg_max"),
        ("cg_max", "cg_min"),
        ("CgMin", "CgMax"),
        ("CgMax", "CgMin"),
        ("::lowest(", "::highest("),
        ("::highest(", "::lowest("),
        ("atomicMax", "atomicMin"),
        ("atomicMin", "atomicMax"),
    ],
    "axis": [
        *((f"{name}.x", f"{name}.y") for name in ("threadIdx", "blockIdx", "blockDim")),
        *((f"{name}.y", f"{name}.x") for name in ("threadIdx", "blockIdx", "blockDim")),
        *((f"row{rest}", f"column{rest}") for rest in ("", "s", "0", "_tiles")),
        *((f"column{rest}", f"row{rest}") for rest in ("", "s", "0", "_tiles")),
    ],
}

_PATTERNS = {
    "barrier": [
        (r"__syncwarp\([^()]*\);", ""),
        (r"\bcg_cp_async_(?:commit|wait|wait_all)(?:<[^<>]*>)?\(\);", ""),
    ],
    "mask": [(r"\b0xffffffffu\b", "0x0000ffffu")],
    "sign": [(r"(?:(?<=[(\[])|(?<=[,=?:(] )|(?<=return ))-(?=[\w(])", "")],
    "axis": [(r"\[(\w+)\]\[(\w+)\]", r"[\2][\1]")],
}

_DECLARED = re.compile(
    r"(?:^|[;{(,])\s*(?:(?:const|__shared__|typedef|static|constexpr|struct)\s+)*"
    r"(?!return\b|else\b)[A-Za-z_][\w:]*(?:<[^;{}]*>)?[*&]*\s+[*&]?\w+(?:\[[^\]]*\])*$"
)
_NUMBER = re.compile(r"(?<![\w.])(?<![eE][-+])(\d+)(?=[uUlL]*(?![\w.]))")


def _swapped(visible: str) -> Iterator[_Edit]:
    for family, pairs in _SWAPS.items():
        for old, new in pairs:
            word = rf"\b{old}\b" if old.isidentifier() else re.escape(old)
            for match in re.finditer(word, visible):
                yield _Edit(match.start(), match.end(), new, family)


def _replaced(visible: str) -> Iterator[_Edit]:
    for family, rules in _PATTERNS.items():
        for pattern, put in rules:
            for match in re.finditer(pattern, visible):
                new = match.expand(put)
                if new != match[0] and not _is_declared(visible, match.start()):
                    yield _Edit(match.start(), match.end(), new, family)


def _renumbered(visible: str) -> Iterator[_Edit]:
    """A number becomes one more; in the size of an array, where more is no fault, one less."""
    for match in _NUMBER.finditer(visible):
        opening = visible.rfind("[", 0, match.start())
        sizes = opening >= 0 and _closing(visible, opening) > match.end()
        less = sizes and _is_declared(visible, opening)
        yield _Edit(*match.span(), str(int(match[1]) + (-1 if less else 1)), "number")


def _conditions(visible: str) -> Iterator[_Edit]:
    for match in re.finditer(r"\bif \(", visible):
        opening = match.end() - 1
        end = _closing(visible, opening)
        condition = visible[opening:end]
        yield _Edit(opening, end, f"(!{condition})", "negation")
        leaves = re.compile(r"\s*(?:return[^;]*|continue);").match(visible, end)
        if leaves:
            newlines = "\n" * visible.count("\n", match.start(), leaves.end())
            yield _Edit(match.start(), leaves.end(), newlines, "guard")
        else:
            yield _Edit(opening, end, "(true)" + "\n" * condition.count("\n"), "guard")


def _subscripts(visible: str) -> Iterator[_Edit]:
    for match in re.finditer(r"(?<=[\w\])])\[", visible):
        end = _closing(visible, match.start())
        inner = visible[match.end() : end - 1]
        if not inner.strip().isdigit() and not _is_declared(visible, match.start()):
            yield _Edit(match.end(), end - 1, f"{inner} + 1", "subscript")


def _is_declared(visible: str, opening: int) -> bool:
    """Whether a bracket belongs to the declaration of an array."""
    return _DECLARED.search(visible[:opening].rpartition("\n")[2]) is not None


_FINDERS: tuple[Finder, ...] = (_swapped, _replaced, _renumbered, _conditions, _subscripts)
FAMILIES = sorted({*_SWAPS, *_PATTERNS, "number", "negation", "guard", "subscript"})
