"""What a GPU would answer with a hang or with rubbish is an error here."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cugraphmodel.errors import KernelCompileError, KernelError
from cugraphmodel.executors.host.compiler import translate
from cugraphmodel.executors.host.module import HostModule
from cugraphmodel.kernels.source import Source
from tests.host.support import ORDERS, Array, kernel

FAULTS = """
extern "C" __global__ void half_of_a_warp(int* y) {
  if (threadIdx.x < 16) __syncwarp();
  else __syncthreads();
  y[threadIdx.x] = 1;
}
extern "C" __global__ void two_operations(int* y) {
  if (threadIdx.x % 2) y[0] = __shfl_sync(0xffffffffu, 1, 0);
  else y[0] = __ballot_sync(0xffffffffu, 1);
}
extern "C" __global__ void outside_its_mask(int* y) {
  __syncwarp(0x0000ffffu);
  y[0] = 1;
}
extern "C" __global__ void two_block_operations(int* y) {
  if (threadIdx.x < 32) y[0] = cg_block_sum(1);
  else y[0] = cg_block_max(1);
}
extern "C" __global__ void barrier_against_reduction(int* y) {
  if (threadIdx.x < 32) y[0] = cg_block_sum(1);
  else __syncthreads();
}
extern "C" __global__ void left_before_a_reduction(int* y) {
  if (threadIdx.x >= 32) return;
  y[0] = cg_block_sum(1);
}
extern "C" __global__ void partial_warp(int* y) { y[0] = cg_block_sum(1); }
extern "C" __global__ void trap(int* y) {
  if (threadIdx.x == 37) __trap();
  y[0] = 1;
}
extern "C" __global__ void much_shared(int* y) {
  __shared__ int first[8192];
  __shared__ int second[8192];
  first[0] = second[0] = 1;
  y[0] = first[threadIdx.x] + second[0];
}
extern "C" __global__ void fine(int* y) {
  __syncthreads();
  y[threadIdx.x] = 1;
}
"""


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize(
    ("entry", "threads", "text"),
    [
        ("half_of_a_warp", 32, "deadlock: 16 of 32 threads wait for ever at a warp operation"),
        ("two_operations", 32, "meet at different warp operations"),
        ("outside_its_mask", 32, "whose mask 0000ffff leaves it out"),
        ("two_block_operations", 64, "different block-wide operations"),
        ("barrier_against_reduction", 64, "different block-wide operations"),
        ("left_before_a_reduction", 64, "ended before a block-wide operation"),
        ("partial_warp", 48, "partial warp"),
        ("trap", 64, r"thread \(37,0,0\): __trap()"),
        ("much_shared", 32, "65536 bytes of shared memory, a block has 49152"),
    ],
)
def test_a_fault_is_an_error_and_the_process_goes_on(
    entry: str, threads: int, text: str, order: tuple[str, int]
) -> None:
    y = np.zeros(64, np.int32)
    with pytest.raises(KernelError, match=f"{entry}: block .*{text}"):
        kernel(FAULTS, entry)((3, 1, 1), (threads, 1, 1), [y], order=order, num_workers=2)
    kernel(FAULTS, "fine")((3, 1, 1), (64, 1, 1), [y], order=order)
    assert y.all()


SIGNATURE = """
struct Pair { int a; double b; };
extern "C" __global__ void test(const float* x, half* h, void* raw, int n, long long wide, float f,
                                double d, bool flag, Pair pair, Dims dims, long long* y) {
  y[0] = (x != nullptr) + 2 * (h != nullptr) + 4 * (raw != nullptr);
  y[1] = n;
  y[2] = wide;
  y[3] = (long long)(f * 2);
  y[4] = (long long)(d * 4);
  y[5] = flag;
  y[6] = pair.a;
  y[7] = (long long)(pair.b * 8);
  y[8] = dims.v[7];
}
extern "C" __global__ void __launch_bounds__(16 * (2 + 2), 2) bounded(unsigned* y) {
  y[threadIdx.x] = 1;
}
"""


def arguments() -> list[Array | np.generic | None]:
    pair = np.array([(3, 0.625)], np.dtype([("a", np.int32), ("b", np.float64)], align=True))
    return [
        np.zeros(1, np.float32),
        None,
        np.zeros(1, np.int16),
        np.int32(-5),
        np.int64(1 << 40),
        np.float32(1.5),
        np.float64(0.25),
        np.True_,
        pair,
        np.arange(8),
        np.zeros(9, np.int64),
    ]


def test_every_kind_of_argument_arrives() -> None:
    given = arguments()
    kernel(SIGNATURE)((1, 1, 1), (1, 1, 1), given)
    assert isinstance(given[-1], np.ndarray)
    assert given[-1].tolist() == [5, -5, 1 << 40, 3, 1, 1, 3, 5, 7]


@pytest.mark.parametrize(
    ("position", "wrong", "text"),
    [
        (0, np.zeros(1), "parameter 0 is const float32*, got a pointer to float64"),
        (0, np.float32(1), "parameter 0 is const float32*, got a scalar float32"),
        (1, np.zeros(1, np.uint16), "parameter 1 is float16*, got a pointer to uint16"),
        (3, np.int64(1), "parameter 3 is int32, got a scalar int64"),
        (3, 1, "parameter 3 is int32, got int"),
        (4, np.int32(1), "parameter 4 is int64, got a scalar int32"),
        (5, np.float64(1), "parameter 5 is float32, got a scalar float64"),
        (8, np.zeros(3, np.int32), "parameter 8 is struct of 16 bytes, got an array of 12 bytes"),
        (9, None, "parameter 9 is struct of 64 bytes, got NoneType"),
        (10, np.zeros(9, np.int32), "parameter 10 is int64*, got a pointer to int32"),
    ],
)
def test_arguments_are_checked_against_the_signature(
    position: int, wrong: object, text: str
) -> None:
    given: list[object] = list(arguments())
    given[position] = wrong
    with pytest.raises(KernelError, match=re.escape(text)):
        kernel(SIGNATURE)((1, 1, 1), (1, 1, 1), given)  # type: ignore[arg-type]


def test_the_number_of_arguments_is_checked() -> None:
    with pytest.raises(KernelError, match="takes 11 arguments, got 2"):
        kernel(SIGNATURE)((1, 1, 1), (1, 1, 1), [None, None])


def test_unsigned_words_stand_for_any_element() -> None:
    y = np.zeros(64, np.float32)
    kernel(SIGNATURE, "bounded")((1, 1, 1), (64, 1, 1), [y])
    np.testing.assert_array_equal(y.view(np.uint32), 1)


def test_launch_bounds_are_kept() -> None:
    run = kernel(SIGNATURE, "bounded")
    assert run.max_threads == 64
    with pytest.raises(KernelError, match="at most 64 threads a block"):
        run((1, 1, 1), (65, 1, 1), [np.zeros(65, np.uint32)])


def test_an_unknown_entry_point_is_named() -> None:
    with pytest.raises(KernelError, match="nowhere"):
        kernel(SIGNATURE, "nowhere")


def test_a_compile_error_shows_where_it_is() -> None:
    text = '#include "device.cuh"\n\nextern "C" __global__ void f(int* y) {\n  y[0] = wrong;\n}\n'
    with pytest.raises(KernelCompileError) as caught:
        HostModule(Source("folder/name.cu", text), (("SCALAR", "float"),))
    error = caught.value
    assert "folder/name.cu:4" in str(error)
    assert "wrong" in error.log  # type: ignore[attr-defined]
    assert "-DSCALAR=float" in error.options  # type: ignore[attr-defined]
    assert error.source == text  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "declaration",
    ["__shared__ int a[4], b[4];", "extern __shared__ int a[];", "__shared__ int* a = nullptr;"],
)
def test_shared_memory_that_cannot_be_translated_is_refused(declaration: str) -> None:
    with pytest.raises(KernelCompileError, match="line 3"):
        translate(Source("f.cu", f"\n\n{declaration}"), is_clang=False)


def test_a_frame_that_does_not_fit_its_stack_is_refused() -> None:
    text = """
    extern "C" __global__ void test(int* y) {
      int local[16384];
      for (int i = 0; i < 16384; ++i) local[i] = y[i];
      __syncthreads();
      y[0] = local[y[1]];
    }
    """
    with pytest.raises(KernelCompileError, match="frame"):
        kernel(text)
