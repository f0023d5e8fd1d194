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
        ordinal: as :class:`Mutant` has it; None: any.
    """

    file: str
    code: str
    changes: tuple[str, ...]
    reason: str
    is_equivalent: bool = True
    ordinal: int | None = None

    def matches(self, mutant: Mutant) -> bool:
        """Whether this is about a mutant."""
        return (
            mutant.file == self.file
            and self.code in mutant.code
            and mutant.change in self.changes
            and self.ordinal in (None, mutant.ordinal)
        )


AT_THE_SEAM = "both branches give the same where the comparison changes sides"
ANY_THREAD = "a reduction gives its result to all threads, so that any of them may write it"
LAUNCH_BOUNDS = "a bound for the GPU's compiler; the quotient by ROW_THREADS stays the same"
NO_ZERO_POINT = "the zero point is 0 where sums are not kept for it"

KNOWN = (
    Known("kernels/activations.cuh", "x < T(0) ?", ("< -> <=",), AT_THE_SEAM),
    Known(
        "kernels/quantized_tile.cuh",
        "if (LEFT_SUMS) sum",
        ("(LEFT_SUMS) -> (true)",),
        NO_ZERO_POINT,
    ),
    Known(
        "kernels/quantized_tile.cuh",
        "if (RIGHT_SUMS) sum",
        ("(RIGHT_SUMS) -> (true)",),
        NO_ZERO_POINT,
    ),
    Known(
        "ops/conv/conv.cu",
        "if (FIRST_AXIS < ",
        ("< -> <=",),
        "the window has size 1 along axes before FIRST_AXIS",
        ordinal=0,
    ),
    Known(
        "ops/elementwise/elementwise.cu",
        "if (VECTOR == 4 && count == 4) {",
        ("4 -> 5",),
        "takes the same elements, one by one",
    ),
    Known(
        "kernels/device.cuh",
        "const uint64_t magnitude = x < T(0) ? 0 - uint64_t(x)",
        ("< -> <=",),
        AT_THE_SEAM,
    ),
    Known(
        "kernels/lanes.cuh",
        "constexpr int kLaneBytes = ",
        ("16 -> 17", "32 -> 33"),
        "no more elements fit into one byte more",
    ),
    Known(
        "kernels/lanes.cuh",
        "if constexpr (is_double && sizeof a == 16)",
        ("16 -> 17", "== -> !="),
        "rounds twice where once is right, in vectors that only the check mode has",
        is_equivalent=False,
    ),
    Known(
        "kernels/narrow.cuh",
        "shift = wanted < 25 ? wanted : 25;",
        ("25 -> 26", "< -> <="),
        "a significand of 24 bits that is shifted by 25 or more leaves nothing",
    ),
    Known(
        "ops/matmul/gemv.cu",
        "const int groups = (columns - 1) / kWarpsPerBlock + 1;",
        ("- -> +",),
        "there is one batch, or one column: a matrix that is read by columns has no batch axes",
    ),
    *(
        Known(file, "#define BLOCK_THREADS", ("128 -> 129",), LAUNCH_BOUNDS)
        for file in (
            "ops/norm/row_norm.cu",
            "ops/reduce/arg_reduce.cu",
            "ops/reduce/reduce.cu",
            "ops/softmax/softmax.cu",
        )
    ),
    Known(
        "ops/elementwise/scalar_functions.cuh",
        "if (remainder == T(0)) return y < T(0) ?",
        ("0 -> 1",),
        "changes the sign of a zero alone, and cases take 0 and -0 for equal",
        is_equivalent=False,
        ordinal=1,
    ),
    Known(
        "kernels/reduction.cuh",
        "for (int k = 0; k < kItems; ++k) {",
        ("< -> <=",),
        "a row has no elements beyond kItems * kThreads",
        ordinal=1,
    ),
    Known(
        "kernels/quantization.cuh",
        "value > lowest ? value < highest ? value : highest : lowest",
        ("> -> >=", "< -> <="),
        AT_THE_SEAM,
    ),
    Known(
        "ops/quantize/quantize_linear.cu",
        "const float value = cg_round_to_odd(quotient + Float(",
        ("+ -> -",),
        "ONNX wants a zero point of 0 for these types",
    ),
    Known("ops/pool/quantized_global_pool.cu", "if (threadIdx.x == 0) {", ("0 -> 1",), ANY_THREAD),
    Known(
        "ops/quantize/dynamic_quantize.cu",
        "if (threadIdx.x == 0) ranges[blockIdx.x] = range;",
        ("0 -> 1",),
        ANY_THREAD,
    ),
    Known(
        "ops/movement/carry.cu",
        ") copy_part(source",
        ("< -> <=",),
        "where a part ends there is nothing left to copy",
    ),
    Known(
        "ops/quantize/scales.cuh",
        "if (Index(size) - first >= kVector) {",
        (">= -> >",),
        "takes the same elements, one by one",
    ),
    Known(
        "kernels/reduction.cuh",
        "held[k] = index(k) < size ? cg_cast<A>(row[index(k)]) : A(0);",
        ("0 -> 1",),
        "what lies beyond the row is not used",
    ),
    Known(
        "kernels/lanes.cuh",
        "result.v = value - typename Lanes<T, N>::Vector{};",
        ("- -> +",),
        "changes the sign of a zero alone, and cases take 0 and -0 for equal",
        is_equivalent=False,
    ),
    Known(
        "ops/pool/max_pool.cu",
        "if (column_major && best_at >= 0) {",
        (">= -> >",),
        "position 0 is 0 in both orders",
    ),
    *(
        Known(
            "ops/matmul/quantized_gemm.cu",
            f"const int {side}_index0 = depth > 0 ?",
            ("0 -> 1",),
            "where the depth is 0 no zero point counts",
            ordinal=1,
        )
        for side in ("left", "right")
    ),
    Known(
        "ops/movement/tensor_scatter.cu",
        "if (circular) offset =",
        ("(circular) -> (true)",),
        "without `circular` no offset is one that comes round",
    ),
    Known(
        "ops/elementwise/elementwise.cu",
        "for (int k = 0; k < VECTOR; ++k) {",
        ("< -> <=",),
        "`k < count` in the loop says the same, for count is at most VECTOR",
    ),
    Known(
        "ops/elementwise/scalar_functions.cuh",
        "return (remainder < T(0)) != (y < T(0)) ?",
        ("< -> <=",),
        "neither is 0 here, or the remainder is NaN and stays so",
    ),
    Known(
        "ops/sampling/roi.cu",
        "whole + (x < 0 ? -1 : 1);",
        ("< -> <=",),
        "0 takes the branch before",
        ordinal=1,
    ),
    *(
        Known(
            "ops/topk/topk.cu",
            f"if ({output}) {output}[position] =",
            (f"({output}) -> (true)",),
            "a case cannot leave out an output that it declares",
            is_equivalent=False,
        )
        for output in ("values", "indices")
    ),
    Known(
        "ops/topk/entry.cuh",
        "return a.key > b.key || (a.key == b.key && a.index < b.index);",
        ("< -> <=",),
        "only entries beyond the line have one index, and these are all alike",
    ),
    Known(
        "ops/reduce/arg_reduce.cu",
        "return equal ? index : LAST ? -1 :",
        ("1 -> 2",),
        "any negative number is less than an index that some thread has",
    ),
    Known(
        "ops/reduce/arg_reduce.cu",
        "long long index = -1;",
        ("1 -> 2",),
        "any negative number means that there is no element yet",
    ),
)
