"""Barriers, warp operations, shared memory and atomics mean what they mean in CUDA."""

from __future__ import annotations

import numpy as np
import pytest

from tests.host.support import ORDERS, Array, kernel, random

pytestmark = pytest.mark.parametrize("order", ORDERS, ids=str)
Order = tuple[str, int]

SHUFFLES = """
extern "C" __global__ void test(const int* x, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned all = 0xffffffffu;
  int* out = y + i * 8;
  out[0] = __shfl_sync(all, x[i], 5);
  out[1] = __shfl_xor_sync(all, x[i], 9);
  out[2] = __shfl_down_sync(all, x[i], 3);
  out[3] = __shfl_up_sync(all, x[i], 3);
  out[4] = __shfl_xor_sync(all, x[i], 5, 8);
  out[5] = __shfl_down_sync(all, x[i], 3, 16);
  out[6] = __shfl_up_sync(all, x[i], 3, 16);
  out[7] = __shfl_sync(all, x[i], 13, 8);
}
"""


@pytest.mark.parametrize("num_workers", [1, 3])
def test_a_barrier_makes_all_writes_visible(order: Order, num_workers: int) -> None:
    run = kernel(
        """
        extern "C" __global__ void test(const float* x, float* y) {
          __shared__ float tile[2][96];
          const int i = threadIdx.x, last = blockDim.x - 1;
          x += blockIdx.x * blockDim.x;
          y += blockIdx.x * blockDim.x;
          tile[0][i] = x[i];
          __syncthreads();
          for (int step = 0; step < 5; ++step) {
            tile[(step + 1) % 2][i] = tile[step % 2][i] + tile[step % 2][last - i];
            __syncthreads();
          }
          y[i] = tile[1][(i + 7) % blockDim.x];
        }
        """
    )
    x = random(0, 50, 96)
    y = np.empty_like(x)
    run((50, 1, 1), (96, 1, 1), [x, y], order=order, num_workers=num_workers)
    expected = x
    for _ in range(5):
        expected = expected + expected[:, ::-1]
    np.testing.assert_array_equal(y, np.roll(expected, -7, axis=1))


def test_threads_know_where_they_are(order: Order) -> None:
    run = kernel(
        """
        extern "C" __global__ void test(unsigned* y) {
          __syncthreads();
          const unsigned thread =
              threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
          const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
          const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
          y[block * threads + thread] = block * 1000 + thread;
        }
        """
    )
    y = np.zeros((2 * 3 * 4, 5 * 3 * 2), np.uint32)
    run((2, 3, 4), (5, 3, 2), [y], order=order)
    np.testing.assert_array_equal(y, np.arange(24)[:, None] * 1000 + np.arange(30))


def test_flat_threads_know_where_they_are(order: Order) -> None:
    run = kernel(
        """
        extern "C" __global__ void test(unsigned* y) {
          const unsigned thread =
              threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
          const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
          y[block * (blockDim.x * blockDim.y * blockDim.z) + thread] += block * 1000 + thread;
        }
        """
    )
    assert run.is_flat
    y = np.zeros((20 * 30 * 40, 5 * 3 * 2), np.uint32)
    run((20, 30, 40), (5, 3, 2), [y], order=order, num_workers=3)
    np.testing.assert_array_equal(y, np.arange(24000)[:, None] * 1000 + np.arange(30))


def test_the_order_of_the_threads_is_the_one_asked_for(order: Order) -> None:
    run = kernel(
        """
        extern "C" __global__ void test(int* next, int* turn) {
          __syncthreads();
          turn[threadIdx.x] = atomicAdd(next, 1);
        }
        """
    )
    turn = np.zeros(64, np.int32)
    run((1, 1, 1), (64, 1, 1), [np.zeros(1, np.int32), turn], order=order)
    assert sorted(turn) == list(range(64))
    # The last thread to arrive at the barrier goes on at once; the others follow in their order.
    forward = list(range(64))
    if order[0] == "forward":
        assert list(turn) == [*forward[1:], 0]
    elif order[0] == "reverse":
        assert list(turn) == [0, *forward[:0:-1]]
    else:
        assert list(turn) not in ([*forward[1:], 0], [0, *forward[:0:-1]])


def test_shuffles(order: Order) -> None:
    x = np.arange(3 * 32, dtype=np.int32) * 10
    y = np.zeros((3 * 32, 8), np.int32)
    kernel(SHUFFLES)((1, 1, 1), (96, 1, 1), [x, y], order=order)
    lane = np.arange(32)
    sources = [
        np.full(32, 5),
        lane ^ 9,
        np.where(lane + 3 < 32, lane + 3, lane),
        np.where(lane >= 3, lane - 3, lane),
        lane // 8 * 8 + (lane % 8 ^ 5),
        np.where(lane % 16 + 3 < 16, lane + 3, lane),
        np.where(lane % 16 >= 3, lane - 3, lane),
        lane // 8 * 8 + 13 % 8,
    ]
    expected = x.reshape(3, 1, 32)[:, 0][:, np.array(sources)].transpose(0, 2, 1)
    np.testing.assert_array_equal(y.reshape(3, 32, 8), expected)


def test_votes_and_partial_masks(order: Order) -> None:
    run = kernel(
        """
        extern "C" __global__ void test(const int* x, unsigned* y) {
          const int lane = threadIdx.x % 32;
          const unsigned all = 0xffffffffu;
          unsigned* out = y + threadIdx.x * 5;
          out[0] = __ballot_sync(all, x[threadIdx.x]);
          out[1] = __any_sync(all, x[threadIdx.x] > 90);
          out[2] = __all_sync(all, x[threadIdx.x] >= 0);
          const unsigned half_mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
          if (lane < 16) {
            out[3] = __ballot_sync(half_mask, x[threadIdx.x]);
          } else {
            out[3] = __ballot_sync(half_mask, !x[threadIdx.x]);
          }
          __syncwarp();
          __syncwarp(half_mask);
          out[4] = lane;
        }
        """
    )
    x = np.random.default_rng(3).integers(-1, 2, 64).astype(np.int32)
    x[40] = 100
    y = np.zeros((64, 5), np.uint32)
    run((1, 1, 1), (64, 1, 1), [x, y], order=order)
    bits = 1 << np.arange(32, dtype=np.uint64)
    for warp in range(2):
        mine = x[warp * 32 :][:32]
        rows = y[warp * 32 :][:32]
        assert set(rows[:, 0]) == {int(bits[mine != 0].sum())}
        assert set(rows[:, 1]) == {int((mine > 90).any())}
        assert set(rows[:, 2]) == {int((mine >= 0).all())}
        assert set(rows[:16, 3]) == {int(bits[:16][mine[:16] != 0].sum())}
        assert set(rows[16:, 3]) == {int(bits[16:][mine[16:] == 0].sum())}


REDUCTIONS = """
extern "C" __global__ void test(const SCALAR* x, SCALAR* y) {
  const int threads = blockDim.x * blockDim.y;
  const int i = blockIdx.x * threads + threadIdx.y * blockDim.x + threadIdx.x;
  SCALAR* out = y + i * 6;
  out[0] = cg_warp_sum(x[i]);
  out[1] = cg_warp_max(x[i]);
  out[2] = cg_warp_min(x[i]);
  out[3] = cg_block_sum(x[i]);
  out[4] = cg_block_max(x[i]);
  out[5] = cg_block_min(x[i]);
}
"""

NUMPY_NAMES = {"float": "f4", "double": "f8", "int": "i4", "unsigned": "u4", "long long": "i8"}


def tree_sum(values: np.ndarray) -> np.ndarray:
    """The xor tree over the last axis (32 values), in the values' own precision."""
    for offset in (16, 8, 4, 2, 1):
        values = values + values[..., np.arange(32) ^ offset]
    return values


@pytest.mark.parametrize("block", [(32, 1, 1), (64, 3, 1), (1024, 1, 1)], ids=str)
@pytest.mark.parametrize("scalar", NUMPY_NAMES)
def test_reductions(order: Order, scalar: str, block: tuple[int, int, int]) -> None:
    dtype = np.dtype(NUMPY_NAMES[scalar])
    threads = block[0] * block[1]
    x = (np.random.default_rng(5).standard_normal((2, threads)) * 1000).astype(dtype)
    y = np.zeros((2, threads, 6), dtype)
    kernel(REDUCTIONS, macros=(("SCALAR", scalar),))((2, 1, 1), block, [x, y], order=order)
    warps = x.reshape(2, -1, 32)
    partial = np.zeros((2, 32), dtype)
    partial[:, : threads // 32] = tree_sum(warps)[..., 0]
    np.testing.assert_array_equal(y[..., 0].reshape(warps.shape), tree_sum(warps))
    np.testing.assert_array_equal(
        y[..., 1].reshape(warps.shape), np.broadcast_to(warps.max(-1)[..., None], warps.shape)
    )
    np.testing.assert_array_equal(
        y[..., 2].reshape(warps.shape), np.broadcast_to(warps.min(-1)[..., None], warps.shape)
    )
    for column, expected in enumerate((tree_sum(partial)[:, :1], x.max(1), x.min(1)), 3):
        np.testing.assert_array_equal(
            y[..., column], np.broadcast_to(expected.reshape(2, 1), x.shape)
        )


@pytest.mark.parametrize("position", [0, 31, 32, 95])
def test_nan_wins_in_reductions(order: Order, position: int) -> None:
    x = random(1, 96)
    x[position] = np.nan
    y = np.zeros((96, 6), np.float32)
    kernel(REDUCTIONS, macros=(("SCALAR", "float"),))((1, 1, 1), (96, 1, 1), [x, y], order=order)
    assert np.isnan(y[:, 3:]).all()
    warp_has_nan = np.arange(96) // 32 == position // 32
    np.testing.assert_array_equal(np.isnan(y[:, :3]), np.stack([warp_has_nan] * 3, 1))


def test_dynamic_and_static_shared_memory_lie_apart(order: Order) -> None:
    run = kernel(
        """
        template <int kLength>
        CG_DEV int fill(int value) {
          __shared__ int own[kLength];
          own[threadIdx.x % kLength] = value;
          __syncthreads();
          return own[(threadIdx.x + 1) % kLength];
        }
        extern "C" __global__ void test(int* y) {
          CG_DYN_SHARED(int, dynamic);
          __shared__ __align__(16) double fixed[4][16];
          dynamic[threadIdx.x] = 1000 + threadIdx.x;
          fixed[threadIdx.x / 16][threadIdx.x % 16] = threadIdx.x;
          const int a = fill<64>(threadIdx.x), b = fill<32>(threadIdx.x % 32);
          __syncthreads();
          int* out = y + threadIdx.x * 4;
          out[0] = dynamic[63 - threadIdx.x];
          out[1] = int(fixed[3 - threadIdx.x / 16][threadIdx.x % 16]);
          out[2] = a;
          out[3] = b;
        }
        """
    )
    y = np.zeros((64, 4), np.int32)
    run((1, 1, 1), (64, 1, 1), [y], shared_bytes=256, order=order)
    i = np.arange(64)
    expected = [1063 - i, (3 - i // 16) * 16 + i % 16, (i + 1) % 64, (i + 1) % 32]
    np.testing.assert_array_equal(y, np.stack(expected, 1))


def test_atomics_of_many_workers_lose_nothing(order: Order) -> None:
    run = kernel(
        """
        extern "C" __global__ void test(const int* x, int* ints, float* sum, long long* wide,
                                        unsigned* swaps) {
          const int i = blockIdx.x * blockDim.x + threadIdx.x;
          atomicAdd(&ints[0], x[i]);
          atomicMin(&ints[1], x[i]);
          atomicMax(&ints[2], x[i]);
          atomicAdd(sum, 0.25f);
          atomicMax(wide, (long long)x[i] << 32);
          atomicCAS(&swaps[0], 7u, 9u);
          if (i == 1000) atomicExch(&swaps[1], 5u);
        }
        """
    )
    x = np.random.default_rng(2).integers(-1000, 1000, 64 * 256).astype(np.int32)
    ints = np.zeros(3, np.int32)
    total = np.zeros(1, np.float32)
    wide = np.full(1, -(2**62), np.int64)
    swaps = np.array([7, 0], np.uint32)
    arguments: list[Array] = [x, ints, total, wide, swaps]
    run((64, 1, 1), (256, 1, 1), arguments, order=order, num_workers=3)
    assert list(ints) == [x.sum(), x.min(), x.max()]
    assert total[0] == 0.25 * x.size
    assert wide[0] == int(x.max()) << 32
    assert list(swaps) == [9, 5]


def test_threads_that_end_early_are_not_waited_for(order: Order) -> None:
    run = kernel(
        """
        extern "C" __global__ void test(int* y) {
          if (threadIdx.x % 3 == 0) return;
          __syncthreads();
          y[threadIdx.x] = 1;
        }
        """
    )
    y = np.zeros(100, np.int32)
    run((1, 1, 1), (100, 1, 1), [y], order=order)
    np.testing.assert_array_equal(y, np.arange(100) % 3 != 0)
