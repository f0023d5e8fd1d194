"""Kernel files are read with their includes put in, and errors in them point to the right line."""

from __future__ import annotations

from pathlib import Path

import pytest

import cugraphmodel
from cugraphmodel.kernels import source
from cugraphmodel.kernels.source import load_source

PACKAGE = Path(cugraphmodel.__file__).parent
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.cu"))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the package."""
    monkeypatch.setattr(source, "_PACKAGE", tmp_path)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "ops").mkdir()
    return tmp_path


def test_includes_are_put_in_once(package: Path) -> None:
    (package / "ops/f.cu").write_text(
        '#include "device.cuh"\n#include "near.cuh"\n#include "far.cuh"\nint f;\n'
    )
    (package / "ops/near.cuh").write_text('#pragma once\n#include "far.cuh"\nint near;\n')
    (package / "kernels/far.cuh").write_text("#pragma once\nint far;\n")
    text = source.load_source("ops/f.cu").text
    assert text == (
        '#line 1 "ops/f.cu"\n#include "device.cuh"\n'
        '#line 1 "ops/near.cuh"\n\n#line 1 "kernels/far.cuh"\n\nint far;\n\n'
        '#line 3 "ops/near.cuh"\nint near;\n\n#line 3 "ops/f.cu"\n\nint f;\n'
    )


def test_an_include_that_is_not_there_is_named(package: Path) -> None:
    (package / "ops/f.cu").write_text('#include "missing.cuh"\n')
    with pytest.raises(FileNotFoundError, match=r'ops/f.cu includes "missing.cuh"'):
        source.load_source("ops/f.cu")


@pytest.mark.parametrize("name", FILES)
def test_every_kernel_file_reads(name: str) -> None:
    text = load_source(name).text
    assert text.count("#include") == text.count('#include "device.cuh"')
    assert '#include "device.cuh"' in text
    assert "__global__" in text
