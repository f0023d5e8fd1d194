"""Loading: what is taken, what is refused, and in which words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data

import cugraphmodel
from cugraphmodel.errors import (
    DeviceUnavailableError,
    ModelLoadError,
    ShapeError,
    UnsupportedModelError,
)
from tests.api.builders import affine, affine_steps, build, normal, relu


def test_a_path_a_string_bytes_and_a_proto_give_the_same(tmp_path: Path, device: str) -> None:
    proto = affine()
    path = tmp_path / "affine.onnx"
    onnx.save(proto, str(path))
    x = normal(3, 2, 4)
    results = []
    for source in (path, str(path), path.read_bytes(), proto):
        with cugraphmodel.load(source, device=device).capture_graph(2) as graph:
            results.append(graph.run([x])[0])
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    np.testing.assert_allclose(results[0], affine_steps(x)[2], rtol=1e-5, atol=1e-6)


def test_loading_leaves_the_proto_as_it_was() -> None:
    proto = affine()
    before = proto.SerializeToString()
    cugraphmodel.load(proto, device="cpu").capture_graph(1).close()
    assert proto.SerializeToString() == before


def test_a_missing_file_is_the_error_python_has_for_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.onnx"):
        cugraphmodel.load(tmp_path / "nothing.onnx", device="cpu")


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match="cannot be read"):
        cugraphmodel.load(tmp_path, device="cpu")


@pytest.mark.parametrize("path", ["a\0b", "/", ""])
def test_a_path_that_no_file_can_have_is_named(path: str) -> None:
    with pytest.raises(ModelLoadError) as caught:
        cugraphmodel.load(path, device="cpu")
    assert f"{path or '.'!r} cannot be read" in str(caught.value)


@pytest.mark.parametrize("source", [None, 7, [b""]])
def test_other_things_are_type_errors(source: object) -> None:
    with pytest.raises(TypeError, match=r"path, bytes or an onnx\.ModelProto"):
        cugraphmodel.load(source, device="cpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"", b"\x00", b"not a model", b"PK\x03\x04" + bytes(100)])
def test_other_bytes_are_no_model(data: bytes) -> None:
    with pytest.raises(ModelLoadError):
        cugraphmodel.load(data, device="cpu")


def test_weights_in_another_file_are_found_beside_the_model(tmp_path: Path, device: str) -> None:
    path = save_with_external_weights(tmp_path)
    x = normal(3, 2, 4)
    with cugraphmodel.load(path, device=device).capture_graph(2) as graph:
        np.testing.assert_allclose(graph.run([x])[0], affine_steps(x)[2], rtol=1e-5, atol=1e-6)


def test_bytes_whose_weights_lie_in_another_file_are_refused(tmp_path: Path) -> None:
    data = save_with_external_weights(tmp_path).read_bytes()
    with pytest.raises(ModelLoadError, match=r"another file.*from its path"):
        cugraphmodel.load(data, device="cpu")


def test_a_missing_weights_file_is_a_load_error(tmp_path: Path) -> None:
    path = save_with_external_weights(tmp_path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelLoadError, match="another file"):
        cugraphmodel.load(path, device="cpu")


def test_a_short_weights_file_is_a_load_error(tmp_path: Path) -> None:
    path = save_with_external_weights(tmp_path)
    weights = tmp_path / "weights.bin"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ModelLoadError):
        cugraphmodel.load(path, device="cpu")


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/hostname"])
def test_weights_outside_the_folder_are_not_read(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    path = save_with_external_weights(folder)
    (folder / "weights.bin").replace(tmp_path / "weights.bin")
    proto = onnx.load(str(path), load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(ModelLoadError):
        cugraphmodel.load(path, device="cpu")


def save_with_external_weights(folder: Path) -> Path:
    proto = affine()
    convert_model_to_external_data(proto, location="weights.bin", size_threshold=0)
    path = folder / "affine.onnx"
    onnx.save(proto, str(path))
    assert (folder / "weights.bin").stat().st_size == (12 + 3) * 4
    return path


def test_every_unsupported_node_is_listed_in_one_error() -> None:
    proto = build(
        "(float[N,4] x) => (float[N,4] y)",
        "a = Relu(x) b = custom.Whirl(a) c = Relu(b) y = custom.Twirl(c)",
    )
    proto.opset_import.append(onnx.helper.make_opsetid("custom", 3))
    proto.graph.node[1].name = "middle"
    with pytest.raises(UnsupportedModelError) as caught:
        cugraphmodel.load(proto, device="cpu").capture_graph(1)
    text = str(caught.value)
    assert "node 1 'middle' (custom.Whirl, opset 3)" in text
    assert "node 3 (custom.Twirl, opset 3)" in text
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("signature", "body", "words"),
    [
        ("(string[N] x) => (string[N] y)", "y = Identity(x)", "input x: string[N]"),
        ("(complex64[N] x) => (complex64[N] y)", "y = Identity(x)", "input x: complex64[N]"),
        ("(float[N] x, seq(float[N]) s) => (float[N] y)", "y = Relu(x)", "input s: sequence"),
        ("(optional(float[N]) x) => (bool y)", "y = OptionalHasElement(x)", "input x: optional"),
        (
            "(float[N] x) => (seq(float[N]) y)",
            "y = SequenceConstruct(x)",
            "output 'y' is a sequence",
        ),
    ],
)
def test_types_that_are_no_supported_tensors_are_named(
    signature: str, body: str, words: str
) -> None:
    model = cugraphmodel.load(build(signature, body), device="cpu")
    with pytest.raises(UnsupportedModelError) as caught:
        model.capture_graph()
    assert words in str(caught.value)
    assert "do not fit together" not in str(caught.value)


@pytest.mark.parametrize("opset", [29, 99, 2**31 - 1])
def test_an_opset_from_the_future_is_refused(opset: int) -> None:
    proto = relu()
    proto.opset_import[0].version = opset
    with pytest.raises(UnsupportedModelError, match=f"opset {opset}"):
        cugraphmodel.load(proto, device="cpu")


def test_an_operator_from_before_its_first_supported_opset_is_refused() -> None:
    proto = relu()
    proto.opset_import[0].version = 5
    with pytest.raises(UnsupportedModelError, match=r"Relu, opset 5.*from opset 6"):
        cugraphmodel.load(proto, device="cpu").capture_graph(1)


def test_a_model_without_an_opset_is_no_model() -> None:
    proto = relu()
    del proto.opset_import[:]
    with pytest.raises(ModelLoadError, match="opset_import"):
        cugraphmodel.load(proto, device="cpu")


def test_an_output_may_declare_no_shape(device: str) -> None:
    proto = relu()
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    before = proto.SerializeToString()
    with cugraphmodel.load(proto, device=device).capture_graph(2) as graph:
        assert graph.output_shapes == ((2, 4),)
    assert proto.SerializeToString() == before


def test_an_input_that_declares_no_shape_takes_one_from_input_shapes(device: str) -> None:
    proto = relu()
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    model = cugraphmodel.load(proto, device=device)
    with pytest.raises(ShapeError, match=r"'x' declares no shape.*input_shapes"):
        model.capture_graph(2)
    with model.capture_graph(input_shapes={"x": (3, 2)}) as graph:
        x = normal(1, 3, 2)
        np.testing.assert_array_equal(graph.run([x])[0], np.maximum(x, 0))


def test_local_functions_run_and_count_as_the_one_node_they_are(device: str) -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        outer (float[N,4] x) => (float[N,4] y) { a = Relu(x) b = local.thrice(a) y = Neg(b) }
        <domain: "local", opset_import: ["" : 17]>
        thrice (i) => (o) { a = Add(i, i) o = Add(a, i) }"""
    )
    model = cugraphmodel.load(proto, device=device)
    assert [node.op_type for node in model.nodes] == ["Relu", "thrice", "Neg"]
    x = normal(1, 2, 4)
    with model.capture_graph(2, [1, -1, "a"]) as graph:
        b, y, a = graph.run([x])
    np.testing.assert_array_equal(a, np.maximum(x, 0))
    np.testing.assert_allclose(b, 3 * a, rtol=1e-6)
    np.testing.assert_array_equal(y, -b)


def test_a_device_of_no_known_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'tpu' is none of 'cpu', 'cpu:check'"):
        cugraphmodel.load(relu(), device="tpu")


@pytest.mark.parametrize("device", ["cuda:99", "cuda:-1", "cuda:x", "cpu:0", "CUDA", ""])
def test_a_device_that_is_not_there_is_refused(device: str) -> None:
    with pytest.raises((DeviceUnavailableError, ValueError), match=r"cuda|cpu"):
        cugraphmodel.load(relu(), device=device)


CHOOSE_TWICE = """
import logging, sys
import onnx.parser
import cugraphmodel
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s: %(message)s")
proto = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
)
first, second = cugraphmodel.load(proto), cugraphmodel.load(proto)
print("device", first.device, second.device)
"""


def test_the_device_that_was_chosen_is_told_once() -> None:
    command = [sys.executable, "-c", CHOOSE_TWICE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    *told, devices = done.stdout.splitlines()
    _, first, second = devices.split()
    assert first == second
    assert first == "cpu" or first.startswith("cuda:")
    assert sum(line.startswith("cugraphmodel") and first in line for line in told) == 1, told


def test_a_loaded_model_tells_what_it_holds() -> None:
    model = cugraphmodel.load(affine(), device="cpu")
    assert [node.op_type for node in model.nodes] == ["MatMul", "Add", "Relu"]
    assert [info.name for info in model.inputs] == ["x"]
    assert [info.name for info in model.outputs] == ["y"]
    assert {info.name: (info.shape, info.dtype) for info in model.params} == {
        "w": ((4, 3), np.dtype(np.float32)),
        "b": ((3,), np.dtype(np.float32)),
    }


def test_initializers_listed_as_inputs_are_parameters(device: str) -> None:
    proto = build(
        "(float[N,4] x, float[4,3] w, float[3] b) => (float[N,3] y)",
        "p = MatMul(x, w) s = Add(p, b) y = Relu(s)",
        ir_version=3,
        w=normal(1, 4, 3),
        b=normal(2, 3),
    )
    model = cugraphmodel.load(proto, device=device)
    assert [info.name for info in model.inputs] == ["x"]
    assert sorted(info.name for info in model.params) == ["b", "w"]
    x = normal(3, 2, 4)
    with model.capture_graph(2) as graph:
        assert tuple(graph.input_names) == ("x",)
        np.testing.assert_allclose(graph.run([x])[0], affine_steps(x)[2], rtol=1e-5, atol=1e-6)
