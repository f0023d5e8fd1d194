"""A copy is made when its thread waits for it, so that a missing wait shows in the results."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from cugraphmodel.errors import KernelError
from cugraphmodel.executors.host.module import HostKernel, HostModule
from cugraphmodel.kernels.source import load_source
from tests.host.support import ORDERS

WAITS = """
#include "async_copy.cuh"
// Three groups of one copy each; y[s][i]: what thread 63 - i has in stage s after the wait.
extern "C" __global__ void test(const int* x, int* y) {
  __shared__ int stages[3][64];
  for (int s = 0; s < 3; ++s) stages[s][threadIdx.x] = -1;
  __syncthreads();
  for (int s = 0; s < 3; ++s) {
    cg_cp_async<4>(&stages[s][threadIdx.x], x + s * 64 + threadIdx.x);
    if (s < NUM_COMMITS) cg_cp_async_commit();
  }
  WAIT;
  __syncthreads();
  y += blockIdx.x * 3 * 64;
  for (int s = 0; s < 3; ++s) y[s * 64 + threadIdx.x] = stages[s][63 - threadIdx.x];
}
extern "C" __global__ void ends_without_a_wait(const int* x, int* y) {
  __shared__ int held[64];
  held[threadIdx.x] = y[threadIdx.x];
  cg_cp_async<4>(held + threadIdx.x, x + threadIdx.x);
  cg_cp_async_commit();
  if (threadIdx.x % 2) return;
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void far_too_many(const int* x, int* y) {
  __shared__ int held[64];
  for (int i = 0; i < 200; ++i) cg_cp_async<4>(held + threadIdx.x, x + i % 64);
  __syncthreads();
  cg_cp_async_wait_all();
  y[threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void many_one_after_another(const int* x, int* y) {
  __shared__ int held[64];
  for (int i = 0; i < 2000; ++i) {
    cg_cp_async<4>(held + threadIdx.x, x + i % 64);
    cg_cp_async_commit();
    if (i % 3 == 0) cg_cp_async_wait<1>();
    if (i % 50 == 0) cg_cp_async_wait_all();
  }
  cg_cp_async_wait<0>();
  y[threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void too_many_valid_bytes(const int* x, int* y) {
  __shared__ int held[64];
  cg_cp_async<4>(held + threadIdx.x, x, threadIdx.x == 7 ? 8 : 4);
  cg_cp_async_wait_all();
  y[threadIdx.x] = held[threadIdx.x];
}
"""


@functools.cache
def kernel(folder: Path, entry: str, wait: str = "", num_commits: int = 3) -> HostKernel:
    file = folder / "waits.cu"
    file.write_text(f'#include "device.cuh"{WAITS}', encoding="utf-8")
    macros = (("WAIT", wait), ("NUM_COMMITS", str(num_commits)))
    return HostModule(load_source(str(file)), macros).get_function(entry)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("async_copy")


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize(
    ("wait", "num_commits", "num_there"),
    [
        ("", 3, 0),
        ("cg_cp_async_wait<3>()", 3, 0),
        ("cg_cp_async_wait<2>()", 3, 1),
        ("cg_cp_async_wait<1>()", 3, 2),
        ("cg_cp_async_wait<0>()", 3, 3),
        ("cg_cp_async_wait<0>()", 2, 2),
        ("cg_cp_async_wait<1>()", 2, 1),
        ("cg_cp_async_wait<0>()", 0, 0),
        ("cg_cp_async_wait_all()", 0, 3),
        ("cg_cp_async_wait_all()", 2, 3),
    ],
)
def test_what_was_not_waited_for_is_not_there(
    folder: Path, wait: str, num_commits: int, num_there: int, order: tuple[str, int]
) -> None:
    x = np.arange(1, 3 * 64 + 1, dtype=np.int32).reshape(3, 64)
    y = np.zeros((20, 3, 64), np.int32)
    run = kernel(folder, "test", wait, num_commits)
    assert not run.is_flat
    run((20, 1, 1), (64, 1, 1), [x, y], order=order, num_workers=2)
    expected = np.where(np.arange(3)[:, None] < num_there, x[:, ::-1], -1)
    np.testing.assert_array_equal(y, np.broadcast_to(expected, y.shape))


def test_copies_that_nobody_waited_for_do_not_reach_the_next_block(folder: Path) -> None:
    x, y = np.full(64, 7, np.int32), np.full(50 * 64, -2, np.int32)
    kernel(folder, "ends_without_a_wait")((50, 1, 1), (64, 1, 1), [x, y])
    np.testing.assert_array_equal(y, -2)
    args = [np.arange(192, dtype=np.int32), np.zeros(192, np.int32)]
    kernel(folder, "test", "cg_cp_async_wait<0>()")((1, 1, 1), (64, 1, 1), args)
    np.testing.assert_array_equal(args[1].reshape(3, 64), args[0].reshape(3, 64)[:, ::-1])


def test_finished_copies_take_no_room(folder: Path) -> None:
    x, y = np.arange(64, dtype=np.int32), np.zeros(1024, np.int32)
    kernel(folder, "many_one_after_another")((1, 1, 1), (64, 1, 1), [x, y])
    np.testing.assert_array_equal(y[:64], 1999 % 64)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("far_too_many", "more than 12288 async copies of a block are in flight"),
        ("too_many_valid_bytes", r"thread \(7,0,0\): an async copy of 4 bytes has 8 valid ones"),
    ],
)
def test_what_cannot_be_is_an_error(folder: Path, entry: str, text: str) -> None:
    x, y = np.arange(192, dtype=np.int32), np.zeros(192, np.int32)
    with pytest.raises(KernelError, match=text):
        kernel(folder, entry)((1, 1, 1), (64, 1, 1), [x, y])
    kernel(folder, "test", "cg_cp_async_wait<0>()")((1, 1, 1), (64, 1, 1), [x, y])
    np.testing.assert_array_equal(y.reshape(3, 64), x.reshape(3, 64)[:, ::-1])
