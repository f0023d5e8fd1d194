"""Compiling many kernels at once, in processes. Needs NVRTC, but neither GPU nor driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from cugraphmodel.executors.cuda import ahead
from cugraphmodel.executors.cuda.compiler import CompiledModule, is_compiled

pytest.importorskip("cupy", reason="NVRTC comes with an extra", exc_type=ImportError)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[CompiledModule]:
    """Five that compile, one that does not, none of them in the cache."""
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", str(tmp_path / "cache"))
    kernel = 'extern "C" __global__ void kernel(int* out) { *out = NUMBER; }'
    path = tmp_path / "kernel.cu"
    path.write_text(kernel, encoding="utf-8")
    return [(str(path), (("NUMBER", number),)) for number in ("1", "2", "3", "4", "5", "nothing")]


def test_brings_the_cache_up_to_date(modules: list[CompiledModule]) -> None:
    told: list[tuple[str, int, int]] = []
    ahead.compile_ahead(modules, "sm_90", lambda *step: told.append(step))
    assert [is_compiled(*module, "sm_90") for module in modules] == [True] * 5 + [False]
    assert told == [("kernels", done, 6) for done in range(1, 7)]
    assert not is_compiled(*modules[0], "sm_80")


def test_starts_no_process_for_what_is_there_or_for_little(
    modules: list[CompiledModule], monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead.compile_ahead(modules[:5], "sm_90", None)
    monkeypatch.setattr("subprocess.Popen", None)
    ahead.compile_ahead(modules, "sm_90", None)
    ahead.compile_ahead(modules[:3], "sm_80", None)
    assert not is_compiled(*modules[0], "sm_80")
