"""Every wrapper with two sides is found, hashed, tested on a GPU, and compiles for all of them."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

from cugraphmodel.executors.cuda.compiler import nvrtc_options
from cugraphmodel.kernels.source import load_source
from tests.host.support import random
from tests.kernels.gate import ARCHITECTURES
from tests.kernels.launching import Array, launch
from tests.kernels.resources import usage_of
from tests.kernels.twins import HOST_HEADER, Twin, find_twins, twins_of, unconfirmed

ROOT = Path(__file__).parents[2]
HEADERS_OF_WRAPPERS = ("lanes", "async_copy", "tensor_core")
LANES = Path(__file__).with_name("lanes.cu")

HEADER = """
#define HELPER(x) (x + 1)
#if defined(__CUDACC__)
CG_DEV float cg_two_functions(float x) { return gpu(x); }
#else
CG_DEV float cg_two_functions(float x) { return in_host_header(x); }
#endif  // a comment
template <int kCount>
CG_DEV int cg_two_bodies(
    int x) {
#if defined(__CUDACC__)
  return HELPER(x);
#else
  return x;
#endif
}
CG_DEV float cg_common(float x) { return cg_two_functions(x); }
CG_MATH(cg_math, math)
#if !defined(__CUDACC__)
namespace cuhost {
template <class T>
struct Held {
  T value;
};
inline int only_on_the_host(int x) { return x; }
}  // namespace cuhost
#endif
"""
HOST = """
namespace cuhost {
CUHOST_INLINE float in_host_header(float x) { return x; }
}
"""


def digests(header: str = HEADER, host: str = HOST) -> dict[str, str]:
    return {
        name: twin.digest for name, twin in twins_of({"a.cuh": header, HOST_HEADER: host}).items()
    }


def test_a_wrapper_with_two_sides_is_found() -> None:
    assert set(digests()) == {"cg_two_functions", "cg_two_bodies", "cg_math"}
    assert {twin.header for twin in twins_of({"a.cuh": HEADER, HOST_HEADER: HOST}).values()} == {
        "a.cuh"
    }


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return gpu(x)", "return gpu(-x)", {"cg_two_functions"}),
        ("in_host_header(x);", "in_host_header(-x);", {"cg_two_functions"}),
        ("  return x;\n#endif", "  return -x;\n#endif", {"cg_two_bodies"}),
        ("(x + 1)", "(x + 2)", {"cg_two_bodies"}),
        ("CG_MATH(cg_math, math)", "CG_MATH(cg_math, other)", {"cg_math"}),
        ("return cg_two_functions(x)", "return cg_two_functions(-x)", set()),
        ("T value;", "T other;", set()),
        ("// a comment", "// another", set()),
        ("cg_two_bodies(\n    int x)", "cg_two_bodies(int x)", set()),
    ],
)
def test_the_digest_follows_both_sides_and_what_they_use(
    old: str, new: str, changed: set[str]
) -> None:
    assert HEADER.count(old) == 1
    before, after = digests(), digests(HEADER.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == changed


def test_the_digest_follows_the_host_header() -> None:
    before, after = digests(), digests(host=HOST.replace("return x", "return -x"))
    assert {name for name in before if before[name] != after[name]} == {"cg_two_functions"}


def test_the_digest_follows_what_a_header_includes_and_no_other() -> None:
    user = '#include "a.cuh"\nCG_DEV int cg_user(int x) {\n#if defined(__CUDACC__)\n#endif\n' + (
        "  return HELPER(x) + row(x);\n}\n"
    )
    texts = {"a.cuh": HEADER, "b.cuh": user, "c.cuh": "int row(int x) { return x; }\n"}
    texts[HOST_HEADER] = HOST
    before = twins_of(texts)["cg_user"].digest
    assert twins_of({**texts, "c.cuh": ""})["cg_user"].digest == before
    changed = HEADER.replace("(x + 1)", "(x + 2)")
    assert twins_of({**texts, "a.cuh": changed})["cg_user"].digest != before


def test_the_headers_have_the_twins_that_they_are_known_to_have() -> None:
    found = find_twins(ROOT)
    assert found["cg_half_bits_to_float"].header == "cugraphmodel/kernels/device.cuh"
    assert found["cg_mma_m16n8k8_tf32"].header == "cugraphmodel/kernels/tensor_core.cuh"
    known = {"cg_exp", "cg_pow", "cg_fma", "cg_block_reduce", "fma_lanes", "cg_cp_async_wait"}
    assert known <= set(found)
    assert not {"cg_warp_sum", "cg_abs", "cg_load4", "Lanes", "cg_cast"} & set(found)
    assert len({twin.digest for twin in found.values()}) == len(found)


def test_what_no_gpu_confirmed_is_listed() -> None:
    twins = {name: Twin("a.cuh", "now") for name in ("same", "changed", "missing")}
    recorded = {"twins": {"same": "now", "changed": "then"}, "sources": {"a.cuh": "1"}}
    before = {"sources": {"a.cuh": "1"}}
    assert list(unconfirmed(twins, {"cuda12": recorded})) == [
        "twin changed since a GPU confirmed it: changed",
        "twin never confirmed on a GPU: missing",
    ]
    assert list(unconfirmed(twins, {"cuda12": recorded, "cuda13": before})) == [
        "twin changed since a GPU confirmed it: changed",
        "twins not recorded whether a GPU confirmed them: missing",
    ]
    twins["new"] = Twin("b.cuh", "now")
    assert list(unconfirmed(twins, {"cuda13": before})) == [
        "twin never confirmed on a GPU: new",
        "twins not recorded whether a GPU confirmed them: changed, missing, same",
    ]
    both = {"cuda12": recorded, "cuda13": {"twins": dict.fromkeys(twins, "now"), "sources": {}}}
    assert list(unconfirmed(twins, both)) == []


MARKED = """
import pytest
import tests.conftest
tests.conftest.cuda_available = lambda: True

@pytest.mark.twins("cg_passes", "cg_fails_once")
@pytest.mark.gpu
def test_passes(): pass

@pytest.mark.twins("cg_fails_once")
@pytest.mark.gpu
@pytest.mark.parametrize("x", [0, 1])
def test_fails_once(x): assert x

@pytest.fixture
def broken(): raise OSError

@pytest.mark.twins("cg_set_up_fails")
@pytest.mark.gpu
def test_set_up(broken): pass

@pytest.mark.twins("cg_skipped")
@pytest.mark.gpu
def test_skips(): pytest.skip("no")

@pytest.mark.twins("cg_on_the_cpu")
def test_without_gpu(): pass

@pytest.mark.twins("cg_of_the_fixture")
def test_device(device): assert device in ("cpu", "cuda")
"""


def test_only_what_passed_on_a_gpu_is_confirmed(tmp_path: Path) -> None:
    file, out = tmp_path / "test_marked.py", tmp_path / "twins.json"
    file.write_text(MARKED, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-c", "/dev/null"]
    command += [f"--rootdir={tmp_path}", f"--twins-file={out}", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert json.loads(out.read_text()) == ["cg_of_the_fixture", "cg_passes"]


def gpu_marks(module: ModuleType) -> Iterator[pytest.Mark]:
    """Marks of a module's tests that run on a GPU, also those of single parameters."""
    of_module = getattr(module, "pytestmark", [])
    whole = [of_module] if not isinstance(of_module, list) else of_module
    for function in vars(module).values():
        if not isinstance(function, FunctionType) or not function.__name__.startswith("test_"):
            continue
        marks = list(getattr(function, "pytestmark", []))
        names = {mark.name for mark in [*marks, *whole]}
        if "gpu" in names or "device" in inspect.signature(function).parameters:
            yield from marks
            for mark in marks:
                if mark.name == "parametrize":
                    for values in mark.args[1]:
                        yield from getattr(values, "marks", ())


def test_every_twin_is_named_by_a_test_on_a_gpu() -> None:
    """So that none is forgotten: ``@pytest.mark.twins("cg_...")``."""
    named: set[str] = set()
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        if "mark.twins(" in file.read_text(encoding="utf-8") and file != Path(__file__):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            module = importlib.import_module(name)
            named |= {twin for m in gpu_marks(module) if m.name == "twins" for twin in m.args}
    here = importlib.import_module(__name__)
    named |= {twin for m in gpu_marks(here) if m.name == "twins" for twin in m.args}
    assert sorted(set(find_twins(ROOT)) - named) == []


@pytest.mark.twins("load_lanes", "fma_lanes", "spread_lanes")
@pytest.mark.parametrize(
    ("c_type", "dtype"), [("float", "float32"), ("double", "float64"), ("int", "int32")]
)
def test_lanes_compute_as_scalars_do(c_type: str, dtype: str, device: str) -> None:
    x, z = ((random(seed, 2048) * 100).astype(dtype) for seed in (1, 2))
    y = np.zeros((2048, 3), dtype)
    args: list[Array | np.generic] = [x, z, y]
    num_lanes = 16 // x.itemsize
    grid, block = (2048 // num_lanes // 64, 1, 1), (64, 1, 1)
    launch(device, LANES, "lanes", grid, block, args, (("SCALAR", c_type),))
    first = np.repeat(x[::num_lanes], num_lanes)
    np.testing.assert_array_equal(y[:, 0], first)
    np.testing.assert_array_equal(y[:, 1], y[:, 2])
    wide = np.int64 if x.dtype.kind == "i" else np.longdouble
    exact = first.astype(wide) * x.astype(wide) + z.astype(wide)
    np.testing.assert_allclose(y[:, 1], exact.astype(dtype), rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_wrappers_compile_for_every_gpu(architecture: str) -> None:
    pytest.importorskip("cupy", reason="NVRTC is called through CuPy")
    source = load_source(str(Path(__file__).with_name("wrappers.cu")))
    [usage] = usage_of(source, nvrtc_options(architecture, ())).kernels.values()
    assert (usage.spill_bytes, usage.local_bytes) == (0, 0)


def test_the_source_that_is_compiled_for_every_gpu_names_every_wrapper() -> None:
    text = Path(__file__).with_name("wrappers.cu").read_text(encoding="utf-8")
    twins = find_twins(ROOT).items()
    named = {name for name, twin in twins if Path(twin.header).stem in HEADERS_OF_WRAPPERS}
    assert sorted(name for name in named if not re.search(rf"\b{name}\b", text)) == []
