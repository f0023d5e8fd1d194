"""Equations of Einsum: which dimension of which operand is which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cugraphmodel.ops.spec import Unsupported

__all__ = ["Equation", "read_equation"]


@dataclass(frozen=True)
class Equation:
    """An equation with every ellipsis written out.

    A label is a letter, or ``".0"``, ``".1"``, ... for the dimensions of an ellipsis, the last one
    of which is ``".0"``.

    Attributes:
        operands: the labels of each operand's dimensions; one may stand twice (a diagonal).
        output: the labels of the output's dimensions, each once.
        sizes: label -> size.
    """

    operands: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    sizes: dict[str, int]


def read_equation(text: str, shapes: Sequence[tuple[int, ...]]) -> Equation:
    """What ``text`` means for operands of these shapes.

    Dimensions of one label have one size, or 1, which repeats. Ellipses of different length are
    aligned at their ends; one that the output
    lacks is summed over.

    Raises:
        Unsupported: it is no equation, or does not fit the shapes.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise Unsupported(f"The equation {text!r} has {len(terms)} operands; got {len(shapes)}.")
    operands = [_labels(text, term, len(shape)) for term, shape in zip(terms, shapes, strict=True)]
    sizes = _sizes(text, operands, shapes)
    dots = sorted((label for label in sizes if label[0] == "."), key=lambda dot: -int(dot[1:]))
    if arrow:
        num_dots = len(dots) if "..." in right else 0
        output = _labels(text, right, len(right.replace("...", "")) + num_dots)
    else:
        times = Counter(left.replace("...", "").replace(",", ""))
        output = (*dots, *sorted(letter for letter, count in times.items() if count == 1))
    if len(set(output)) != len(output) or not set(output) <= set(sizes):
        raise Unsupported(f"The output of the equation {text!r} has a label twice, or a new one.")
    return Equation(tuple(operands), output, {label: sizes[label] for label in sizes})


def _labels(text: str, term: str, rank: int) -> tuple[str, ...]:
    """The label of each of ``rank`` dimensions."""
    before, dots, after = term.partition("...")
    letters = before + after
    num_dots = rank - len(letters)
    if not all(letter.isascii() and letter.isalpha() for letter in letters):
        raise Unsupported(f"The equation {text!r} holds more than letters, commas and ellipses.")
    if num_dots < 0 or (num_dots and not dots):
        raise Unsupported(f"{term!r} in the equation {text!r} does not fit {rank} dimensions.")
    return (*before, *(f".{dot}" for dot in reversed(range(num_dots))), *after)


def _sizes(
    text: str, operands: Sequence[tuple[str, ...]], shapes: Sequence[tuple[int, ...]]
) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, shape in zip(operands, shapes, strict=True):
        for label, size in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, size)
            if known != size and 1 not in (known, size):
                raise Unsupported(f"In {text!r}, {label!r} stands for sizes {known} and {size}.")
            sizes[label] = size if known == 1 else known
    return sizes
