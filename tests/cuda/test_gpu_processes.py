"""On a GPU: the first graph of a fresh process, and processes that fork."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).resolve().parents[2]

HEAD = """
import multiprocessing, os, sys
import numpy as np
import cugraphmodel
from cugraphmodel.errors import DeviceUnavailableError
from tests.api.builders import affine, affine_steps, normal

X = normal(3, 2, 4)

def assert_right(graph):
    np.testing.assert_allclose(graph.run([X])[0], affine_steps(X)[2], rtol=1e-6, atol=1e-6)

def in_child(work):
    process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(process, 0)[1] == 0, "the child failed"

def refused(use):
    try:
        use()
    except DeviceUnavailableError as error:
        assert "fork" in str(error), error
    else:
        raise AssertionError("not refused")
"""


def run_python(body: str, cache: Path) -> None:
    """Run a script in a process of its own, with an empty kernel cache."""
    environment = {**os.environ, "CUGRAPHMODEL_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + body],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr


def test_the_first_graph_of_a_process_is_right(tmp_path: Path) -> None:
    body = """
with cugraphmodel.load(affine(), device="cuda").capture_graph(2) as graph:
    assert_right(graph)
"""
    run_python(body, tmp_path / "cache")
    kernels = sorted(path.name for path in (tmp_path / "cache").glob("*.cubin"))
    assert kernels, "compiled kernels are kept"
    run_python(body, tmp_path / "cache")
    assert sorted(path.name for path in (tmp_path / "cache").glob("*.cubin")) == kernels


def test_a_process_that_never_closes_ends_cleanly(tmp_path: Path) -> None:
    body = """
graph = cugraphmodel.load(affine(), device="cuda").capture_graph(2)
assert_right(graph)
view = graph.output_slice(0)
"""
    run_python(body, tmp_path)


def test_a_forked_process_is_told_so(tmp_path: Path) -> None:
    body = """
model = cugraphmodel.load(affine(), device="cuda")
graph = model.capture_graph(2)
def child():
    refused(lambda: graph.run([X]))
    refused(lambda: graph.run_timed([X]))
    refused(lambda: model.capture_graph(2))
    refused(lambda: model.load_param("w", normal(1, 4, 3)))
    refused(lambda: cugraphmodel.load(affine(), device="cuda").capture_graph(2))
    graph.close()
in_child(child)
assert_right(graph)
"""
    run_python(body, tmp_path)


def test_a_process_forked_after_the_driver_started_is_told_so(tmp_path: Path) -> None:
    body = """
from cugraphmodel.executors.cuda import cuda_available
assert cuda_available()
in_child(lambda: refused(lambda: cugraphmodel.load(affine(), device="cuda")))
assert_right(cugraphmodel.load(affine(), device="cuda").capture_graph(2))
"""
    run_python(body, tmp_path)


def test_a_process_forked_before_any_use_may_use_the_gpu(tmp_path: Path) -> None:
    body = """
in_child(lambda: assert_right(cugraphmodel.load(affine(), device="cuda").capture_graph(2)))
assert_right(cugraphmodel.load(affine(), device="cuda").capture_graph(2))
"""
    run_python(body, tmp_path)
