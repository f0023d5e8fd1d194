"""Forking while other threads are inside the library: the child finds nothing locked."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from cugraphmodel import executors
from cugraphmodel.executors.host.memory import HostWeightStore

KERNEL = """
import os, sys, threading, time, warnings
import numpy as np
from cugraphmodel.executors.host.module import HostModule
from cugraphmodel.kernels.source import Source
text = '''#include "device.cuh"
extern "C" __global__ void f(float* y) {
  __syncthreads();
  y[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}'''
run = HostModule(Source("f.cu", text)).get_function("f")
def launch(times):
    y = np.zeros((2000, 64), np.float32)
    for _ in range(times):
        run((2000, 1, 1), (64, 1, 1), [y], num_workers=3)
    return bool((y == times).all())
warnings.simplefilter("ignore", DeprecationWarning)
"""

BETWEEN_LAUNCHES = """
thread = threading.Thread(target=launch, args=(100,))
thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        os._exit(0 if launch(3) else 1)
    assert os.waitpid(child, 0)[1] == 0
thread.join()
"""

AT_THE_FIRST_LAUNCH = """
for number in range(200):
    fresh = os.fork()
    if fresh == 0:
        thread = threading.Thread(target=launch, args=(3,))
        thread.start()
        time.sleep(number % 20 * 1e-5)
        child = os.fork()
        if child == 0:
            os._exit(0 if launch(1) else 1)
        status = os.waitpid(child, 0)[1]
        thread.join()
        os._exit(0 if status == 0 else 1)
    assert os.waitpid(fresh, 0)[1] == 0
"""


@pytest.mark.parametrize("script", [BETWEEN_LAUNCHES, AT_THE_FIRST_LAUNCH])
def test_a_forked_process_runs_kernels_too(script: str) -> None:
    subprocess.run([sys.executable, "-c", KERNEL + script], check=True, timeout=120)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_locks_that_another_thread_held_are_free_in_the_child() -> None:
    weights = HostWeightStore()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with executors._lock, weights._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        free = executors._lock.acquire(timeout=10) and weights._lock.acquire(timeout=10)
        os._exit(0 if free else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
