"""Mutants are small, are found again, and leave alone what the CPU device does not compile."""

from __future__ import annotations

from collections import Counter

from tests.mutation.mutants import FAMILIES, all_mutants, mutants_of, text_of

KERNEL = """\
// a < b + 1
#include "a < b.cuh"
#if defined(__CUDACC__)
int only_on_a_gpu = 1 + 2;
#else
__shared__ __align__(16) float tile[4][SIZE + 2];
#endif
#define HALF(x) (x / 2)
extern "C" __global__ void __launch_bounds__(128 * 2) run(float* y, const float* x, int n) {
  const int i = blockIdx.x;
  if (i >= n) return;
  __syncthreads();
  y[i] = -x[i] * 0.5f; /* 1 + 1 */
}
"""


def test_each_fault_that_the_text_can_have() -> None:
    found = [(mutant.line, mutant.family, mutant.change) for mutant in mutants_of("a.cu", KERNEL)]
    assert found == [
        (6, "number", "4 -> 3"),
        (6, "arithmetic", "+ -> -"),
        (6, "number", "2 -> 1"),
        (8, "arithmetic", "/ -> %"),
        (8, "arithmetic", "/ -> *"),
        (8, "number", "2 -> 3"),
        (10, "axis", "blockIdx.x -> blockIdx.y"),
        (11, "guard", "if (i >= n) return; -> nothing"),
        (11, "negation", "(i >= n) -> (!(i >= n))"),
        (11, "bound", ">= -> >"),
        (12, "barrier", "__syncthreads(); -> nothing"),
        (13, "subscript", "i -> i + 1"),
        (13, "sign", "- -> nothing"),
        (13, "subscript", "i -> i + 1"),
        (13, "arithmetic", "* -> +"),
    ]


def test_a_mutant_keeps_its_name_when_lines_move() -> None:
    before = {mutant.key: mutant.line for mutant in mutants_of("a.cu", KERNEL)}
    after = {mutant.key: mutant.line for mutant in mutants_of("a.cu", f"\n\n{KERNEL}")}
    assert after == {key: line + 2 for key, line in before.items()}


def test_mutants_of_the_kernels_change_one_place_and_no_line_number() -> None:
    mutants = all_mutants()
    assert len(mutants) > 2000
    assert max(Counter(mutant.key for mutant in mutants).values()) == 1
    assert {mutant.family for mutant in mutants} == set(FAMILIES)
    for mutant in mutants:
        pairs = zip(text_of(mutant.file).splitlines(), mutant.text.splitlines(), strict=True)
        changed = [number for number, (old, new) in enumerate(pairs, 1) if old != new]
        assert changed[0] == mutant.line
        assert len(changed) <= 3  # a condition may run over three lines
