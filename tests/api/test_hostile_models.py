"""Models that try to exhaust memory, time or the stack, and ones at the edge of the format."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import cugraphmodel
from cugraphmodel.errors import (
    ArgumentError,
    DeviceMemoryError,
    DtypeError,
    ModelLoadError,
    UnsupportedModelError,
)
from tests.api.builders import build

FLOAT = TensorProto.FLOAT


def model_of(
    nodes: list[onnx.NodeProto], shape: list[int], **parameters: np.ndarray
) -> onnx.ModelProto:
    """A model from ``x`` of that shape to ``y``, whose shape is left open."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in parameters.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def doubled(op_type: str, times: int, **attributes: Any) -> list[onnx.NodeProto]:
    """``c`` combined with itself, and the result with itself again, to ``v{times - 1}``."""
    names = ["c", *(f"v{i}" for i in range(times))]
    return [
        helper.make_node(op_type, [a, a], [b], **attributes) for a, b in itertools.pairwise(names)
    ]


def test_a_long_chain_of_constants_that_are_read_twice_is_folded_once_each(device: str) -> None:
    # 2^2000 paths lead through it, and 2000 calls would be deeper than Python's stack.
    nodes = [
        *doubled("Add", 2000),
        helper.make_node("Add", ["x", "v1999"], ["y"]),
        helper.make_node("Mul", ["v99", "x"], ["z"]),
    ]
    model = cugraphmodel.load(model_of(nodes, [2], c=np.zeros(2, np.float32)), device=device)
    x = np.array([1, 2], np.float32)
    with model.capture_graph(output_node_indices=["y", "z"]) as graph:
        np.testing.assert_array_equal(graph.run([x])[0], x)
        model.load_param("c", np.array([2.0**-100, 0], np.float32))
        y, z = graph.run([x])
    np.testing.assert_array_equal(y, [np.inf, 2])
    np.testing.assert_array_equal(z, [1, 0])


@pytest.mark.parametrize("num_bytes", [2**33, 2**45])
def test_constants_that_grow_without_bounds_are_not_folded(num_bytes: int) -> None:
    doublings = (num_bytes // 8).bit_length() - 1
    nodes = [
        *doubled("Concat", doublings, axis=0),
        helper.make_node("ReduceSum", [f"v{doublings - 1}"], ["shape"], keepdims=1),
        helper.make_node("Expand", ["x", "shape"], ["y"]),
    ]
    model = cugraphmodel.load(model_of(nodes, [1], c=np.ones(1, np.int64)), device="cpu")
    with pytest.raises(UnsupportedModelError, match=r"'shape'\) decides shapes|over 1 TiB"):
        model.capture_graph()


@pytest.mark.parametrize("size", [2**38, 2**39, 2**62])
def test_a_filled_shape_beyond_all_memory_is_refused(size: int) -> None:
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["c"]),
        helper.make_node("ReduceSum", ["c"], ["r"], keepdims=0),
        helper.make_node("Add", ["x", "r"], ["y"]),
    ]
    model = cugraphmodel.load(model_of(nodes, [1], s=np.array([size])), device="cpu")
    with pytest.raises((DeviceMemoryError, UnsupportedModelError), match=r"needs|over 1 TiB"):
        model.capture_graph()


@pytest.mark.parametrize("stop", [2**63 - 1, 2**40])
def test_a_range_over_all_integers_is_refused(stop: int) -> None:
    nodes = [
        helper.make_node("Range", ["a", "b", "c"], ["r"]),
        helper.make_node("Size", ["r"], ["n"]),
        helper.make_node("Cast", ["n"], ["f"], to=FLOAT),
        helper.make_node("Add", ["x", "f"], ["y"]),
    ]
    limits = {name: np.array(v) for name, v in zip("abc", (-(2**63), stop, 1), strict=True)}
    with pytest.raises(UnsupportedModelError, match="over 1 TiB"):
        cugraphmodel.load(model_of(nodes, [1], **limits), device="cpu").capture_graph()


def test_more_dimensions_than_numpy_has_are_refused() -> None:
    model = cugraphmodel.load(
        model_of([helper.make_node("Relu", ["x"], ["y"])], [1] * 65), device="cpu"
    )
    with pytest.raises(
        UnsupportedModelError, match=r"input x: .*not supported; .* up to \d+ dimensions"
    ):
        model.capture_graph()
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"])]
    model = cugraphmodel.load(model_of(nodes, [1], s=np.ones(65, np.int64)), device="cpu")
    with pytest.raises(UnsupportedModelError, match="65 dimensions"):
        model.capture_graph()


def test_a_model_without_outputs_is_asked_for_some(device: str) -> None:
    proto = build("(float[N,4] x) => (float[N,4] y)", "y = Relu(x)")
    del proto.graph.output[:]
    model = cugraphmodel.load(proto, device=device)
    with pytest.raises(ArgumentError, match="declares no outputs"):
        model.capture_graph()
    with model.capture_graph(output_node_indices=["y"]) as graph:
        assert graph.output_shapes == ((1, 4),)


def test_a_limit_on_the_process_is_a_memory_error(tmp_path: Path) -> None:
    path = tmp_path / "relu.onnx"
    onnx.save(build("(float[N,1048576] x) => (float[N,1048576] y)", "y = Relu(x)"), path)
    program = (
        "import resource, sys, cugraphmodel\n"
        "from cugraphmodel.errors import DeviceMemoryError\n"
        "model = cugraphmodel.load(sys.argv[1], device='cpu')\n"
        "model.capture_graph(1).close()\n"
        "hard_limit = resource.getrlimit(resource.RLIMIT_AS)[1]\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**32, hard_limit))\n"
        "try:\n"
        "    model.capture_graph(1024)\n"
        "except DeviceMemoryError as error:\n"
        "    print(error.need_bytes)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) >= 2**32


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("LRN", ["x"], ["y"], size=2**62),
        helper.make_node("Trilu", ["x"], ["y"], upper=2**31),
        helper.make_node("GlobalLpPool", ["x"], ["y"], p=2**31),
    ],
    ids=lambda node: node.op_type,
)
def test_an_attribute_beyond_what_kernels_count_with_names_the_node(node: onnx.NodeProto) -> None:
    model = cugraphmodel.load(model_of([node], [1, 3, 4, 5]), device="cpu")
    with pytest.raises(UnsupportedModelError, match=f"node 0 .*{node.op_type}"):
        model.capture_graph()


FUNCTION = '<domain: "f", opset_import: ["": 17, "f": 1]> '


def calling(call: str, *functions: str) -> onnx.ModelProto:
    head = '<ir_version: 9, opset_import: ["": 17, "f": 1]> m (float[4] x) => (float[4] y)'
    bodies = "\n".join(FUNCTION + function for function in functions)
    return onnx.parser.parse_model(f"{head} {{ {call} }}\n{bodies}")


@pytest.mark.parametrize("body", ["F (a) => (b) { q = Neg (a) }", "F (a) => (a) { q = Neg (a) }"])
def test_a_function_that_does_not_make_its_output_is_refused(body: str) -> None:
    loaded = cugraphmodel.load(calling("y = f.F (x)", body), device="cpu")
    with pytest.raises(UnsupportedModelError, match="no node gives output 'y'"):
        loaded.capture_graph()
    loaded = cugraphmodel.load(calling("z = f.F (x) y = Neg (z)", body), device="cpu")
    with pytest.raises(UnsupportedModelError, match="no node gives its input 'z'"):
        loaded.capture_graph()


@pytest.mark.parametrize("depth", [3, 40])
def test_functions_that_double_at_each_level_are_measured_before_they_are_inlined(
    depth: int,
) -> None:
    levels = [f"F{i} (a) => (b) {{ q = f.F{i + 1} (a) b = f.F{i + 1} (q) }}" for i in range(depth)]
    model = calling("y = f.F0 (x)", *levels, f"F{depth} (a) => (b) {{ b = Add (a, a) }}")
    if depth == 3:
        x = np.arange(4, dtype=np.float32)
        with cugraphmodel.load(model, device="cpu").capture_graph() as graph:
            np.testing.assert_array_equal(graph.run([x])[0], x * 256)
        return
    with pytest.raises(ModelLoadError, match="functions make more than 1,000,000 nodes"):
        cugraphmodel.load(model, device="cpu")


def test_a_function_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights.bin").write_bytes(np.ones(4, np.float32).tobytes())
    model = calling(
        "y = f.F (x)",
        "F (a) => (b) { k = Constant <value = float[4] {1, 1, 1, 1}> () b = Add (a, k) }",
    )
    tensor = model.functions[0].node[0].attribute[0].t
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    with pytest.raises(ModelLoadError, match="lie in another file"):
        cugraphmodel.load(model.SerializeToString(), device="cpu")


@pytest.mark.parametrize("value", ["3.5", '"3"'])
def test_a_constant_of_another_kind_than_its_attribute_is_refused(value: str) -> None:
    body = """F <k> (a) => (b) {
        i = Constant <value_int: int = @k> () j = Cast <to = 1> (i) b = Add (a, j) }"""
    loaded = cugraphmodel.load(calling(f"y = f.F <k = {value}> (x)", body), device="cpu")
    with pytest.raises(UnsupportedModelError, match="value_int is"):
        loaded.capture_graph()


def test_a_dtype_is_named_as_a_program_writes_it() -> None:
    code = TensorProto.FLOAT8E5M2
    x, y = (helper.make_tensor_value_info(name, code, [3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    captured = cugraphmodel.load(model, device="cpu").capture_graph()
    with pytest.raises(DtypeError, match=r"ml_dtypes\.float8_e5m2"):
        captured.run([np.zeros(3, np.float32)])
