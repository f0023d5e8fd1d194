"""``cugraphmodel run``: arrays in, arrays out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from cugraphmodel.dtypes import DTYPES
from tests.cli.conftest import Command

LEFT = np.arange(6, dtype=np.float32).reshape(2, 3)
RIGHT = LEFT[::-1].copy()


@pytest.fixture
def array_files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "left.npy", tmp_path / "right.npy"
    np.save(paths[0], LEFT)
    np.save(paths[1], RIGHT)
    return paths


@pytest.mark.parametrize("named", [True, False], ids=["by_name", "by_position"])
def test_runs_on_files_and_writes_outputs(
    command: Command,
    device: str,
    weighted_sum: Path,
    array_files: tuple[Path, Path],
    tmp_path: Path,
    named: bool,
) -> None:
    left, right = array_files
    inputs = [f"right={right}", f"left={left}"] if named else [left, right]
    output = tmp_path / "out.npz"
    options = [option for path in inputs for option in ("--input", path)]
    answer = command("run", weighted_sum, *options, "--device", device, "--output", output)
    assert (answer.code, answer.err) == (0, "")
    assert "total: float32[2,3]" in answer.out
    with np.load(output) as archive:
        assert archive.files == ["total"]
        np.testing.assert_array_equal(archive["total"], LEFT + 2 * RIGHT)


def test_json_is_one_object(command: Command, device: str, weighted_sum: Path) -> None:
    answer = command("run", weighted_sum, "--random", 1, "--batch", 5, "--device", device, "--json")
    assert (answer.code, answer.err) == (0, "")
    facts = json.loads(answer.out)
    assert [(i["name"], i["dtype"], i["shape"]) for i in facts["inputs"]] == [
        ("left", "float32", [5, 3]),
        ("right", "float32", [5, 3]),
    ]
    assert facts["outputs"][0]["shape"] == [5, 3]
    assert facts["outputs"][0]["min"] < facts["outputs"][0]["max"]
    assert facts["device"].startswith(device)
    assert facts["num_kernels"] >= 1
    assert facts["kernels_ms"] > 0


def test_a_seed_decides_the_random_inputs(command: Command, weighted_sum: Path) -> None:
    def output_of(seed: int) -> str:
        answer = command("run", weighted_sum, "--random", seed, "--device", "cpu", "--json")
        return str(json.loads(answer.out)["outputs"])

    assert output_of(1) == output_of(1) != output_of(2)


def test_random_fills_what_files_leave(
    command: Command, weighted_sum: Path, array_files: tuple[Path, Path], tmp_path: Path
) -> None:
    output = tmp_path / "out.npz"
    answer = command(
        "run", weighted_sum, "--input", f"right={array_files[1]}", "--random", 3, "--batch", 2,
        "--device", "cpu", "--output", output, "--output-node", "left", "--output-node", 0,
    )  # fmt: skip
    assert (answer.code, answer.err) == (0, "")
    with np.load(output) as archive:
        assert archive["left"].std() > 0
        np.testing.assert_array_equal(archive["doubled"], 2 * RIGHT)


def test_values_may_have_any_name(
    command: Command, write_model: Callable[[str], Path], tmp_path: Path
) -> None:
    path = write_model("g (float[2] x) => (float[2] file) { file = Neg(x) }")
    output = tmp_path / "out.npz"
    answer = command("run", path, "--random", 0, "--device", "cpu", "--output", output)
    assert (answer.code, answer.err) == (0, "")
    with np.load(output) as archive:
        assert archive["file"].shape == (2,)


def test_results_that_json_has_no_number_for(
    command: Command, write_model: Callable[[str], Path]
) -> None:
    path = write_model("g (float[4] x) => (float[4] y) <float zero = {0}> { y = Div(x, zero) }")
    answer = command("run", path, "--random", 0, "--device", "cpu", "--json")
    output = json.loads(answer.out, parse_constant=lambda name: pytest.fail(name))["outputs"][0]
    assert (output["min"], output["max"]) == ("-inf", "inf")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "no array for ['left', 'right']; pass --input NAME=FILE.npy, or --random SEED"),
        (["--input", "middle={left}"], "no input is named 'middle'"),
        (["--input", "{left}"] * 3, "the model's inputs are ['left', 'right']"),
        (["--input", "left={left}"] * 2, "'left' has an array already"),
        (["--input", "left={folder}/absent.npy"], "absent.npy': No such file or directory."),
        (["--input", "left={model}"], "model.onnx' is not an array file as numpy.save writes it"),
        (["--random", "0", "--batch", "0"], "batch_size is 0"),
        (["--random", "0", "--dim", "time=3"], "'time'"),
        (["--random", "0", "--shape", "left=2,4"], "left: float32[batch, 3]"),
        (["--random", "0", "--output-node", "7"], "node index 7"),
        (["--random", "0", "--output-node", "sum"], "'sum'"),
        (["--random", "0", "--output", "{folder}/absent/out.npz"], "absent/out.npz"),
        (["--random", "0", "--output", ""], "Is a directory"),
    ],
)
def test_mistakes_are_one_line(
    command: Command,
    weighted_sum: Path,
    array_files: tuple[Path, Path],
    tmp_path: Path,
    options: list[str],
    complaint: str,
) -> None:
    filled = [
        option.format(left=array_files[0], folder=tmp_path, model=weighted_sum)
        for option in options
    ]
    answer = command("run", weighted_sum, "--device", "cpu", *filled)
    assert answer.code == 1
    assert answer.err.startswith("cugraphmodel: error: ")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


def test_array_of_another_dtype(command: Command, weighted_sum: Path, tmp_path: Path) -> None:
    path = tmp_path / "double.npy"
    np.save(path, LEFT.astype(np.float64))
    answer = command(
        "run", weighted_sum, "--input", f"left={path}", "--random", 0, "--device", "cpu"
    )
    assert answer.code == 1
    assert "x.astype(np.float32)" in answer.err


def _npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"PK\x03\x04" + bytes(40),
        _npy(b"garbage(((((["),
        _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}") + bytes(20),
        _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (10**15,)}"),
        _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000,)}"),
        _npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}") + bytes(48),
    ],
    ids=["empty", "magic", "zip", "garbage", "short", "formula", "huge", "objects"],
)
def test_damaged_array_files_are_one_line(
    command: Command, weighted_sum: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "damaged.npy"
    path.write_bytes(content)
    answer = command("run", weighted_sum, "--input", path, "--random", 0, "--device", "cpu")
    assert answer.code == 1
    assert answer.err.startswith(f"cugraphmodel: error: {str(path)!r} is not an array file")
    assert answer.err.count("\n") == 1


def test_open_dimensions_name_the_options(
    command: Command, write_model: Callable[[str], Path]
) -> None:
    path = write_model("g (float[batch, seq] x) => (float[batch, seq] y) { y = Neg(x) }")
    answer = command("run", path, "--random", 0, "--device", "cpu")
    assert answer.code == 1
    assert "'seq'" in answer.err
    assert "--dim NAME=SIZE" in answer.err
    bound = command("run", path, "--random", 0, "--device", "cpu", "--dim", "seq=4")
    assert (bound.code, bound.err) == (0, "")
    assert "y: float32[1,4]" in bound.out


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4", "float4_e2m1fn"])
@pytest.mark.parametrize("held", ["bytes", "numbers"])
def test_types_that_files_have_no_name_for(
    command: Command, tmp_path: Path, device: str, dtype: str, held: str
) -> None:
    code = {"bfloat16": 16, "float8_e4m3fn": 17, "int4": 22, "float4_e2m1fn": 23}[dtype]
    model = narrow_identity(tmp_path, code)
    x = np.array([1, 2, -1, 6]).astype(dtype)
    wide = x.astype("int8" if dtype == "int4" else "float32")
    np.save(tmp_path / "x.npy", x if held == "bytes" else wide)
    output = tmp_path / "out.npz"
    answer = command(
        "run", model, "--input", tmp_path / "x.npy", "--device", device, "--output", output
    )
    assert (answer.code, answer.err) == (0, "")
    assert f"y: {dtype}[4] from -1" in answer.out
    with np.load(output) as archive:
        assert archive["y"].dtype == wide.dtype
        np.testing.assert_array_equal(archive["y"], wide)


def test_a_file_is_not_rounded(command: Command, tmp_path: Path) -> None:
    model = narrow_identity(tmp_path, 16)
    np.save(tmp_path / "x.npy", np.array([0.1, 0.2, 0.3, 0.4], np.float32))
    answer = command("run", model, "--input", tmp_path / "x.npy", "--device", "cpu")
    assert answer.code == 1
    assert "'x' is bfloat16, which does not hold every number of the file" in answer.err


def test_random_numbers_of_every_type(command: Command, tmp_path: Path) -> None:
    for entry in DTYPES:
        model = narrow_identity(tmp_path, entry.onnx_code)
        answer = command("run", model, "--random", 0, "--device", "cpu", "--json")
        assert (answer.code, answer.err) == (0, "")
        [output] = json.loads(answer.out)["outputs"]
        assert output["dtype"] == entry.numpy.name
        assert output["max"] != "nan"


def narrow_identity(folder: Path, code: int) -> Path:
    """``y = Identity(x)`` over four numbers of an ONNX type."""
    x, y = (helper.make_tensor_value_info(name, code, [4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "narrow", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)])
    path = folder / "narrow.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("name", ["run", "inspect", "check"])
def test_an_output_of_unknown_size(
    command: Command, write_model: Callable[[str], Path], name: str
) -> None:
    path = write_model("nonzero (float[2, 3] x) => (int64[n, m] at) { at = NonZero(x) }")
    options = ["--random", "0", "--device", "cpu"] if name == "run" else []
    refused = command(name, path, *options)
    assert refused.code == 1
    assert "bounded_outputs=True" in refused.err
    assert command(name, path, *options, "--bounded-outputs").code == 0
