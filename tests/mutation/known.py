"""Mutants that no case can notice, and why."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutation.mutants import Mutant

__all__ = ["KNOWN", "Known"]


@dataclass(frozen=True)
class Known:
    """Mutants of which it is known why the suite does not notice them.

    Attributes:
        file: relative to the package.
        code: a part of the line, so that the entry stays good when lines move.
        changes: as :class:`Mutant` has them.
        reason: why.
        is_equivalent: nothing can notice them, for they compute the same. False: what would notice
            them is not worth its time, or is not there on a CPU.
    """

    file: str
    code: str
    changes: tuple[str, ...]
    reason: str
    is_equivalent: bool = True

    def matches(self, mutant: Mutant) -> bool:
        """Whether this is about a mutant."""
        return (
            mutant.file == self.file and self.code in mutant.code and mutant.change in self.changes
        )


AT_THE_SEAM = "both branches give the same where the comparison changes sides"

KNOWN = (
    Known("kernels/activations.cuh", "x < T(0) ?", ("< -> <=",), AT_THE_SEAM),
    Known(
        "ops/matmul/gemv.cu",
        "const int groups = (columns - 1) / kWarpsPerBlock + 1;",
        ("- -> +",),
        "there is one batch, or one column: a matrix that is read by columns has no batch axes",
    ),
)
