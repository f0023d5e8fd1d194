"""The table keeps what is still true, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cugraphmodel.kernels.source import Source
from tests.kernels import digests, gate, resources
from tests.kernels.allowances import excess
from tests.kernels.gate import Table
from tests.kernels.resources import Compiled, Instance, Usage

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

KERNEL = 'extern "C" __global__ void set(SCALAR* y, int n) { y[n] = SCALAR(n); }\n'
INSTANCES = [Instance("a.cu", (("SCALAR", name),)) for name in ("float", "double")]


class Files:
    """Stands in for the package's files."""

    def __init__(self) -> None:
        self.texts = {"a.cu": KERNEL}

    def load(self, name: str) -> Source:
        return Source(name, self.texts[name])

    def edit(self, name: str, text: str) -> None:
        self.texts[name] = text
        digests.digest.cache_clear()


class Pool:
    """One process, that counts the jobs. Offers what the gate uses of an executor."""

    num_jobs = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(
        self, function: object, jobs: list[resources.Job], chunksize: int
    ) -> Iterator[Compiled | str]:
        assert function is resources.compile_job
        assert chunksize > 0
        Pool.num_jobs += len(jobs)
        return map(resources.compile_job, jobs)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    files = Files()
    for module in (digests, resources):
        monkeypatch.setattr(module, "load_source", files.load)
    monkeypatch.setattr(gate, "forget_files", digests.digest.cache_clear)
    monkeypatch.setattr(gate, "worker_pool", Pool)
    monkeypatch.setattr(Pool, "num_jobs", 0)
    digests.digest.cache_clear()
    yield files
    digests.digest.cache_clear()


def test_only_what_changed_is_compiled(files: Files) -> None:
    first, problems = gate.updated(INSTANCES[:1], Table(""))
    assert (problems, Pool.num_jobs) == ([], len(gate.ARCHITECTURES))
    assert all(first.is_current(one) for one in INSTANCES[:1])
    assert not first.is_current(INSTANCES[1])
    second, _ = gate.updated(INSTANCES, first)
    assert Pool.num_jobs == 2 * len(gate.ARCHITECTURES)
    assert second.rows[INSTANCES[0]] == first.rows[INSTANCES[0]]
    assert gate.updated(INSTANCES[:1], second)[0] == first
    assert Pool.num_jobs == 2 * len(gate.ARCHITECTURES)
    files.edit("a.cu", KERNEL.replace("[n]", "[n + 1]"))
    assert not second.is_current(INSTANCES[0])
    gate.updated(INSTANCES, second)
    assert Pool.num_jobs == 4 * len(gate.ARCHITECTURES)


def test_another_compiler_makes_all_rows_old(files: Files) -> None:
    del files
    table, _ = gate.updated(INSTANCES, Table(""))
    table.nvrtc = "11.0"
    gate.updated(INSTANCES, table)
    assert Pool.num_jobs == 4 * len(gate.ARCHITECTURES)


def test_what_is_written_is_what_is_read(
    files: Files, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del files
    table, _ = gate.updated(INSTANCES, Table(""))
    path = tmp_path / "resources.json"
    path.write_text(gate.table_text(table), encoding="utf-8")
    monkeypatch.setattr(gate, "TABLE", path)
    assert gate.read_table() == table
    assert json.loads(path.read_text())["kernel_fields"][:2] == ["registers", "spill_bytes"]
    assert "| a.cu | set | 2 |" in gate.summary_text(table)


def test_a_fault_on_one_architecture_stops_the_update(files: Files) -> None:
    files.edit("a.cu", f"#if __CUDA_ARCH__ == 1200\nint f() {{ return oops; }}\n#endif\n{KERNEL}")
    _, problems = gate.updated(INSTANCES, Table(""))
    assert len(problems) == len(INSTANCES)
    for problem in problems:
        assert 'a.cu(2): error: identifier "oops" is undefined' in problem
        assert "--gpu-architecture=sm_120" in problem


def test_a_new_spill_is_told() -> None:
    usage = Usage(registers=64, spill_bytes=16, local_bytes=8, shared_bytes=0, max_threads=256)
    [problem] = excess(INSTANCES[0], "sm_90", Compiled(0, {"set": usage}))
    assert "set of a.cu SCALAR='float' for sm_90 spills 16 bytes" in problem
    fine = Usage(registers=64, spill_bytes=0, local_bytes=0, shared_bytes=0, max_threads=256)
    assert list(excess(INSTANCES[0], "sm_90", Compiled(0, {"set": fine}))) == []
