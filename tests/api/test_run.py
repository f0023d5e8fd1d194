"""The four ways to run, the staging arrays, and every wrong input in its own words."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel import CudaGraphModel
from cugraphmodel.errors import ArgumentError, DtypeError, PositionError, ShapeError
from tests.api.builders import affine, affine_steps, build, convolution, normal, relu, two_inputs

X = normal(3, 2, 4)
OTHER = normal(4, 2, 4)
SPARE = np.zeros(2, np.float32)


def captured(device: str) -> CudaGraphModel:
    return cugraphmodel.load(affine(), device=device).capture_graph(2)


def test_the_four_ways_to_run_agree_bit_for_bit(device: str) -> None:
    with captured(device) as graph:
        right = graph.run([X])[0]
        np.testing.assert_allclose(right, affine_steps(X)[2], rtol=1e-5, atol=1e-6)
        timed, elapsed_ms = graph.run_timed([X])
        assert isinstance(elapsed_ms, float)
        assert elapsed_ms >= 0
        np.testing.assert_array_equal(timed[0], right)
        for run_inplace in (graph.run_inplace, graph.run_timed_inplace):
            graph.run([OTHER])
            graph.input_slice_mut(0)[...] = X
            run_inplace()
            np.testing.assert_array_equal(graph.output_slice(0), right)


def test_run_inplace_returns_nothing_and_run_timed_inplace_milliseconds(device: str) -> None:
    with captured(device) as graph:
        graph.run_inplace()
        elapsed_ms = graph.run_timed_inplace()
        assert isinstance(elapsed_ms, float)
        assert 0 <= elapsed_ms < 60_000


def test_results_of_run_are_fresh_and_stay_as_they_are(device: str) -> None:
    with captured(device) as graph:
        results = [graph.run([X])[0] for _ in range(2)]
        kept = results[0].copy()
        graph.run([OTHER])
        graph.output_slice(0)
        assert not np.shares_memory(results[0], results[1])
        assert not np.shares_memory(results[0], graph.output_slice(0))
        assert results[0].flags.writeable
        np.testing.assert_array_equal(results[0], kept)
        np.testing.assert_array_equal(results[1], kept)


def test_run_takes_lists_tuples_and_dicts_in_any_order_and_returns_a_list(device: str) -> None:
    left, right = normal(1, 2, 3), normal(2, 2, 3)
    with cugraphmodel.load(two_inputs(), device=device).capture_graph(2) as graph:
        assert graph.input_names == ("left", "right", "spare")
        for inputs in (
            [left, right, SPARE],
            (left, right, SPARE),
            {"spare": SPARE, "right": right, "left": left},
        ):
            results = graph.run(inputs)
            assert type(results) is list
            np.testing.assert_array_equal(results[0], left - right)


def test_the_arrays_passed_in_are_left_alone(device: str) -> None:
    mine = X.copy()
    mine.flags.writeable = False
    with captured(device) as graph:
        graph.run([mine])
        graph.run([OTHER])
    np.testing.assert_array_equal(mine, X)


def test_any_strides_are_taken(device: str) -> None:
    wide = normal(9, 4, 8)
    with captured(device) as graph:
        for view in (wide[::2, ::2], wide[3:1:-1, :4], wide.T[:2, :], np.asfortranarray(X)):
            result = graph.run([view])[0]
            np.testing.assert_array_equal(result, graph.run([np.ascontiguousarray(view)])[0])
        constant = np.broadcast_to(np.float32(0.5), (2, 4))
        np.testing.assert_allclose(graph.run([constant])[0], affine_steps(constant)[2], rtol=1e-5)


def test_one_dimension_of_the_same_count_is_taken(device: str) -> None:
    with captured(device) as graph:
        np.testing.assert_array_equal(graph.run([X.reshape(-1)])[0], graph.run([X])[0])


def test_staging_arrays_may_be_passed_as_inputs(device: str) -> None:
    left, right = normal(1, 2, 3), normal(2, 2, 3)
    with cugraphmodel.load(two_inputs(), device=device).capture_graph(2) as graph:
        graph.run([left, right, SPARE])
        swapped = graph.run([graph.input_slice_mut(1), graph.input_slice_mut(0), SPARE])
        np.testing.assert_array_equal(swapped[0], right - left)
        fed_back = graph.run([graph.output_slice(1), graph.output_slice(0), SPARE])
        np.testing.assert_array_equal(fed_back[0], swapped[1] - swapped[0])
    with cugraphmodel.load(relu(), device=device).capture_graph(2) as graph:
        graph.run([X])
        turned = graph.run([graph.input_slice_mut(0)[::-1]])
        np.testing.assert_array_equal(turned[0], np.maximum(X[::-1], 0))


def test_a_scalar_input_takes_arrays_and_numpy_scalars(device: str) -> None:
    model = build("(float[3] x, float s) => (float[3] y)", "y = Mul(x, s)")
    x = normal(1, 3)
    with cugraphmodel.load(model, device=device).capture_graph() as graph:
        assert graph.input_shapes == ((3,), ())
        scalars: list[Any] = [np.float32(3), np.array(3, np.float32), np.array([3], np.float32)]
        for scalar in scalars:
            np.testing.assert_array_equal(graph.run([x, scalar])[0], x * np.float32(3))
        with pytest.raises(DtypeError, match=r"'s' is a float.*np.asarray\(x, np.float32\)"):
            graph.run([x, 3.0])  # type: ignore[list-item]


class OnGpu:
    """Looks like an array of another library in device memory."""

    __cuda_array_interface__: ClassVar[dict[str, Any]] = {}


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ([], ArgumentError, ["1 inputs", "got 0"]),
        ([X, X], ArgumentError, ["1 inputs", "got 2"]),
        ({}, ArgumentError, ["missing: ['x']"]),
        ({"z": X}, ArgumentError, ["missing: ['x']", "unknown: ['z']"]),
        ({"x": X, "z": X}, ArgumentError, ["unknown: ['z']"]),
        (X, TypeError, ["[x]", "ndarray"]),
        (None, TypeError, ["NoneType"]),
        ([X.tolist()], TypeError, ["'x'", "list", "float32"]),
        ([1.0], TypeError, ["'x'", "float"]),
        ([None], TypeError, ["'x'", "NoneType"]),
        ([OnGpu()], TypeError, ["'x'", "GPU", "cupy.asnumpy"]),
        ([X.astype(np.float64)], DtypeError, ["'x'", "float64", "float32", "astype"]),
        ([X.astype(np.int32)], DtypeError, ["int32", "float32"]),
        ([X.astype(">f4")], DtypeError, ["'>f4'", "'<f4'", "astype"]),
        ([X.astype(object)], DtypeError, ["object", "float32"]),
        ([np.ma.masked_array(X, mask=X > 0)], DtypeError, ["'x'", "masked", "filled"]),
        ([X[:1]], ShapeError, ["'x'", "(1, 4)", "(2, 4)", "capture"]),
        ([X.T.copy()], ShapeError, ["(4, 2)", "(2, 4)"]),
        ([X[None]], ShapeError, ["(1, 2, 4)", "(2, 4)"]),
        ([X.reshape(-1)[:7]], ShapeError, ["(7,)", "8 elements"]),
        ([np.float32(1)], ShapeError, ["()", "(2, 4)"]),
    ],
)
def test_a_wrong_input_is_refused_in_words_and_touches_nothing(
    inputs: Any, error: type[Exception], words: list[str], device: str
) -> None:
    with captured(device) as graph:
        right = graph.run([X])[0]
        for run in (graph.run, graph.run_timed):
            with pytest.raises(error) as caught:
                run(inputs)
            missing = [word for word in words if word not in str(caught.value)]
            assert not missing, str(caught.value)
        np.testing.assert_array_equal(graph.input_slice_mut(0), X)
        np.testing.assert_array_equal(graph.output_slice(0), right)


def test_a_wrong_second_input_leaves_the_first_untouched(device: str) -> None:
    left, right = normal(1, 2, 3), normal(2, 2, 3)
    with cugraphmodel.load(two_inputs(), device=device).capture_graph(2) as graph:
        graph.run([left, right, SPARE])
        with pytest.raises(ShapeError, match="'right'"):
            graph.run([right, left[:1], SPARE])
        np.testing.assert_array_equal(graph.input_slice_mut(0), left)


def test_an_unused_input_is_still_required_and_checked(device: str) -> None:
    left = normal(1, 2, 3)
    with cugraphmodel.load(two_inputs(), device=device).capture_graph(2) as graph:
        with pytest.raises(ArgumentError, match=r"missing: \['spare'\]"):
            graph.run({"left": left, "right": left})
        with pytest.raises(DtypeError, match="'spare'"):
            graph.run([left, left, np.zeros(2)])
        assert graph.input_slice_mut(2).shape == (2,)


def test_output_views_are_read_only_and_live(device: str) -> None:
    with captured(device) as graph:
        view = graph.output_slice(0)
        assert not view.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            view[0, 0] = 1
        np.testing.assert_array_equal(view, np.zeros((2, 3)))
        result = graph.run([X])[0]
        np.testing.assert_array_equal(view, result)
        graph.run([OTHER])
        assert not np.array_equal(view, result)
        assert np.shares_memory(view, graph.output_slice(0))


def test_input_views_are_writable_typed_and_show_what_run_copied(device: str) -> None:
    with captured(device) as graph:
        view = graph.input_slice_mut(0)
        assert view.shape == (2, 4)
        assert view.dtype == np.float32
        assert view.flags.writeable
        assert view.flags.c_contiguous
        graph.run([X])
        np.testing.assert_array_equal(view, X)
        assert not np.shares_memory(view, X)


@pytest.mark.parametrize("index", [1, -2, 10**20])
def test_a_view_index_outside_is_an_index_error(index: int, device: str) -> None:
    with captured(device) as graph:
        for kind, method in (("input", graph.input_slice_mut), ("output", graph.output_slice)):
            with pytest.raises(PositionError, match=rf"{kind} index {index} .*1 {kind}s"):
                method(index)


@pytest.mark.parametrize("index", ["x", 0.0, None, slice(1)])
def test_a_view_index_that_is_no_integer_is_a_type_error(index: Any, device: str) -> None:
    with captured(device) as graph:
        for method in (graph.input_slice_mut, graph.output_slice):
            with pytest.raises(TypeError, match="not an integer"):
                method(index)


@pytest.mark.parametrize(
    ("onnx_type", "dtype"),
    [
        ("float", "float32"),
        ("float16", "float16"),
        ("double", "float64"),
        ("int32", "int32"),
        ("int64", "int64"),
        ("bool", "bool"),
        ("uint8", "uint8"),
        ("int8", "int8"),
    ],
)
def test_dtypes_are_kept_from_end_to_end(onnx_type: str, dtype: str, device: str) -> None:
    model = build(
        f"({onnx_type}[N,4] x) => ({onnx_type}[N,4] same, {onnx_type}[4,N] turned)",
        "same = Identity(x) turned = Transpose<perm=[1,0]>(x)",
    )
    x = (normal(5, 3, 4) * 50).astype(dtype)
    with cugraphmodel.load(model, device=device).capture_graph(3) as graph:
        assert graph.input_dtypes == (np.dtype(dtype),)
        assert graph.output_dtypes == (np.dtype(dtype),) * 2
        same, turned = graph.run([x])
        assert graph.input_slice_mut(0).dtype == np.dtype(dtype)
    np.testing.assert_array_equal(same, x, strict=True)
    np.testing.assert_array_equal(turned, x.T, strict=True)


def test_extreme_values_pass_unchanged(device: str) -> None:
    bits = np.array([0, 0x80000000, 1, 0x7F800000, 0xFF800000, 0x7FC00001, 0x7F7FFFFF], np.uint32)
    x = bits.view(np.float32)
    model = build("(float[7] x) => (float[7] y)", "y = Identity(x)")
    with cugraphmodel.load(model, device=device).capture_graph() as graph:
        np.testing.assert_array_equal(graph.run([x])[0].view(np.uint32), bits)


def test_empty_tensors_run(device: str) -> None:
    model = build("(float[0,4] x) => (float[0,4] y)", "y = Relu(x)")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    with cugraphmodel.load(model, device=device).capture_graph(dims={"N": 0}) as graph:
        assert graph.run([np.empty((0, 4), np.float32)])[0].shape == (0, 4)


def test_a_thousand_replays_give_the_same_bits(device: str) -> None:
    x = normal(7, 3, 2, 5, 5)
    with cugraphmodel.load(convolution(), device=device).capture_graph(3) as graph:
        right = graph.run([x])[0].tobytes()
        for _ in range(1000):
            graph.run_inplace()
            assert graph.output_slice(0).tobytes() == right


def test_precision_is_chosen_at_capture_and_told(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    with model.capture_graph(2) as plain, model.capture_graph(2, precision="ieee") as ieee:
        assert plain.precision == "fp32"
        assert ieee.precision == "ieee"
        assert "ieee" in repr(ieee)
        np.testing.assert_allclose(ieee.run([X])[0], affine_steps(X)[2], rtol=1e-5, atol=1e-6)


def test_progress_is_told_kernel_by_kernel(device: str) -> None:
    told: list[tuple[str, int, int]] = []
    model = cugraphmodel.load(convolution(), device=device)
    model.capture_graph(1, progress=lambda *step: told.append(step)).close()
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == told[-1][2] >= 1
    assert all(what for what, _, _ in told)


def test_two_captures_of_one_model_give_the_same_bits(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    with model.capture_graph(2) as first, model.capture_graph(2) as second:
        np.testing.assert_array_equal(first.run([X])[0], second.run([X])[0])


def test_graphs_of_one_model_do_not_disturb_each_other(device: str) -> None:
    model = cugraphmodel.load(relu(), device=device)
    with model.capture_graph(1) as small, model.capture_graph(3) as large:
        large.run([normal(5, 3, 4)])
        kept = large.output_slice(0).copy()
        np.testing.assert_array_equal(small.run([X[:1]])[0], np.maximum(X[:1], 0))
        np.testing.assert_array_equal(large.output_slice(0), kept)


def test_every_byte_that_numpy_takes_for_true_is_true(device: str) -> None:
    body = "n = Not(a) x = Xor(a, p) i = Cast<to=7>(a)"
    mask = np.array([2, 255, 0, 1], np.uint8).view(np.bool_)
    model = build("(bool[4] a) => (bool[4] n, bool[4] x, int64[4] i)", body, p=mask)
    model.graph.initializer[0].raw_data = mask.tobytes()
    loaded = cugraphmodel.load(model, device=device)
    right = [[0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 1]]
    with loaded.capture_graph() as graph:
        loaded.load_param("p", mask)
        for results in (graph.run([mask]), loaded.forward([mask])):
            assert [
                result.view(np.uint8)[:: result.itemsize].tolist() for result in results
            ] == right
    with loaded.capture_graph(constant_inputs={"a": mask}) as graph:
        assert graph.run([])[2].tolist() == right[2]
