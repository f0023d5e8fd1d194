"""Movement operators on random shapes, on bad index data, and on nodes they cannot run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cugraphmodel.errors import DataIndexError
from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.movement.reverse_sequence_cases import reverse_sequence
from cugraphmodel.ops.movement.strided_copy import Copy
from cugraphmodel.ops.spec import Unsupported
from cugraphmodel.ops.strides import contiguous_strides
from cugraphmodel.plan import build_plan
from tests.ops import harness

# The device outlives the examples, which share nothing else of the fixture's.
many_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
dtypes = st.sampled_from(["uint8", "int16", "float32", "int64"])


def counted(shape: tuple[int, ...], dtype: str = "float32") -> harness.Array:
    return np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)


def ints(*values: int) -> harness.Array:
    return np.array(values, np.int64)


@many_examples
@given(data=st.data(), dtype=dtypes)
def test_transpose_moves_every_element(
    opened_device: Device, data: st.DataObject, dtype: str
) -> None:
    size = st.sampled_from([1, 2, 3, 8, 16, 33])
    shape = tuple(data.draw(st.lists(size, min_size=1, max_size=5)))
    permutation = data.draw(st.permutations(range(len(shape))))
    array = counted(shape, dtype)
    case = OpCase("random", "Transpose", [array], {"perm": list(permutation)})
    (output,) = harness.run(case, opened_device)
    np.testing.assert_array_equal(output, np.transpose(array, permutation))


@many_examples
@given(data=st.data(), dtype=dtypes)
def test_slice_takes_what_a_python_slice_takes(
    opened_device: Device, data: st.DataObject, dtype: str
) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    slices = [_draw_slice(data, size) for size in shape]
    array = counted(shape, dtype)
    bounds = [
        ints(*numbers)
        for numbers in zip(
            *((s.start, s.stop, axis, s.step) for axis, s in enumerate(slices)), strict=True
        )
    ]
    case = OpCase("random", "Slice", [array, *bounds])
    (output,) = harness.run(case, opened_device)
    np.testing.assert_array_equal(output, array[tuple(slices)])


def _draw_slice(data: st.DataObject, size: int) -> slice:
    """Starts inside the dimension, where ONNX and Python agree; ends anywhere."""
    step = data.draw(st.sampled_from([-3, -2, -1, 1, 2, 3]))
    start = data.draw(st.integers(-size, size - 1))
    return slice(start, data.draw(st.integers(-2 * size - 1, 2 * size)), step)


@many_examples
@given(data=st.data(), mode=st.sampled_from(["constant", "edge", "reflect", "wrap"]))
def test_pad_agrees_with_numpy(opened_device: Device, data: st.DataObject, mode: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    amounts = st.tuples(st.integers(0, 7), st.integers(0, 7))
    pads = [data.draw(amounts) for _ in shape]
    array = counted(shape)
    flat = ints(*(begin for begin, _ in pads), *(end for _, end in pads))
    case = OpCase("random", "Pad", [array, flat], {"mode": mode}, opset=19)
    (output,) = harness.run(case, opened_device)
    np.testing.assert_array_equal(output, np.pad(array, pads, mode=mode))


@many_examples
@given(data=st.data())
def test_concat_undoes_split(opened_device: Device, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    axis = data.draw(st.integers(0, len(shape) - 1))
    cuts = sorted(data.draw(st.lists(st.integers(0, shape[axis]), max_size=3)))
    sizes = np.diff([0, *cuts, shape[axis]])
    array = counted(shape)
    split = OpCase("random", "Split", [array, sizes], {"axis": axis}, num_outputs=len(sizes))
    parts = harness.run(split, opened_device)
    for part, right in zip(parts, np.split(array, cuts, axis), strict=True):
        np.testing.assert_array_equal(part, right)
    (output,) = harness.run(OpCase("random", "Concat", parts, {"axis": axis}), opened_device)
    np.testing.assert_array_equal(output, array)


@given(data=st.data(), itemsize=st.sampled_from([1, 2, 4, 8]))
def test_collapsed_and_widened_copies_move_the_same_bytes(
    data: st.DataObject, itemsize: int
) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 8), max_size=5)))
    permutation = data.draw(st.permutations(range(len(shape))))
    strides = contiguous_strides(shape)
    copy = Copy(
        tuple(shape[axis] for axis in permutation),
        tuple(strides[axis] for axis in permutation),
        contiguous_strides([shape[axis] for axis in permutation]),
        source_offset=data.draw(st.integers(0, 16)),
        target_offset=data.draw(st.integers(0, 16)),
    )
    wide, word_bytes = copy.collapsed().widened(itemsize)
    assert word_bytes <= 16
    assert len(wide.shape) <= len(copy.shape)
    assert _moved_bytes(wide, word_bytes) == _moved_bytes(copy, itemsize)


def _moved_bytes(copy: Copy, word_bytes: int) -> set[tuple[int, int]]:
    """(source byte, target byte) of all that a copy moves."""
    return {
        (
            (copy.source_offset + np.dot(place, copy.source_strides)) * word_bytes + byte,
            (copy.target_offset + np.dot(place, copy.target_strides)) * word_bytes + byte,
        )
        for place in np.ndindex(copy.shape)
        for byte in range(word_bytes)
    }


BAD_INDEX_CASES = [
    OpCase("rows", "Gather", [counted((5, 4)), ints(0, 1)]),
    OpCase("inner", "GatherElements", [counted((5, 1)), ints(0, 1).reshape(2, 1)]),
    OpCase("tuples", "GatherND", [counted((5, 4)), ints(0, 1).reshape(2, 1)]),
    OpCase("rows", "ScatterElements", [counted((5, 4)), ints(0, 1).reshape(2, 1), counted((2, 1))]),
    OpCase(
        "add",
        "ScatterElements",
        [counted((5, 4)), ints(0, 1).reshape(2, 1), counted((2, 1))],
        {"reduction": "add"},
        opset=18,
    ),
    OpCase("slices", "ScatterND", [counted((5, 4)), ints(0, 1).reshape(2, 1), counted((2, 4))]),
    OpCase(
        "add",
        "ScatterND",
        [counted((5, 4)), ints(0, 1).reshape(2, 1), counted((2, 4))],
        {"reduction": "add"},
        opset=18,
    ),
]


@pytest.mark.parametrize("start", [-1, 6, 2**62, -(2**63)])
def test_entries_that_would_leave_the_cache_raise(opened_device: Device, start: int) -> None:
    cache, new = counted((2, 7, 3)), counted((2, 2, 3))
    case = OpCase("start", "TensorScatter", [cache, new, ints(5, start)], opset=24)
    with pytest.raises(DataIndexError):
        harness.run(case, opened_device)


@many_examples
@given(data=st.data(), dtype=dtypes)
def test_tensor_scatter_replaces_a_run_of_entries(
    opened_device: Device, data: st.DataObject, dtype: str
) -> None:
    size = st.integers(1, 5)
    batch, outer, entries, inner = (data.draw(size) for _ in range(4))
    length = data.draw(st.integers(0, entries))
    start = st.integers(0, entries - length)
    starts = data.draw(st.lists(start, min_size=batch, max_size=batch))
    cache = counted((batch, outer, entries, inner), dtype)
    new = -counted((batch, outer, length, inner), dtype)
    (output,) = harness.run(
        OpCase("random", "TensorScatter", [cache, new, ints(*starts)], opset=24), opened_device
    )
    for sample, start_of_run in enumerate(starts):
        cache[sample, :, start_of_run : start_of_run + length] = new[sample]
    np.testing.assert_array_equal(output, cache)


@many_examples
@given(data=st.data(), dtype=dtypes)
def test_compress_takes_what_numpy_takes(
    opened_device: Device, data: st.DataObject, dtype: str
) -> None:
    array = counted(tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))), dtype)
    axis = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1))
    size = array.size if axis is None else array.shape[axis]
    condition = np.array(data.draw(st.lists(st.booleans(), min_size=1, max_size=size)))
    attributes = {} if axis is None else {"axis": axis}
    (output,) = harness.run(
        OpCase("random", "Compress", [array, condition], attributes), opened_device
    )
    np.testing.assert_array_equal(output, np.compress(condition, array, axis))


@many_examples
@given(data=st.data(), flags=st.tuples(st.booleans(), st.booleans()))
def test_cumulative_sums_and_products_agree_with_numpy(
    opened_device: Device, data: st.DataObject, flags: tuple[bool, bool]
) -> None:
    exclusive, reverse = flags
    size = st.sampled_from([1, 2, 3, 7, 130, 300])
    array = counted(tuple(data.draw(st.lists(size, min_size=1, max_size=2))), "int64") % 9 - 4
    axis = data.draw(st.integers(0, array.ndim - 1))
    lines = np.flip(array, axis) if reverse else array
    for op_type, accumulate, first in (("CumSum", np.cumsum, 0), ("CumProd", np.cumprod, 1)):
        right = accumulate(lines, axis, dtype=np.int64)
        if exclusive:
            start = np.full_like(right.take([0], axis), first)
            kept = right.take(range(array.shape[axis] - 1), axis)
            right = np.concatenate([start, kept], axis)
        attributes = {"exclusive": int(exclusive), "reverse": int(reverse)}
        case = OpCase("random", op_type, [array, np.array(axis)], attributes, 26)
        (output,) = harness.run(case, opened_device)
        np.testing.assert_array_equal(output, np.flip(right, axis) if reverse else right)


@many_examples
@given(data=st.data())
def test_center_crop_pad_crops_and_pads_about_the_center(
    opened_device: Device, data: st.DataObject
) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    wanted = tuple(data.draw(st.integers(0, 9)) for _ in shape)
    right = counted(shape)
    for axis, size in enumerate(wanted):
        change = size - shape[axis]
        if change < 0:
            right = right.take(range(-change // 2, -change // 2 + size), axis)
        else:
            before = (change // 2, change - change // 2)
            right = np.pad(right, [before if d == axis else (0, 0) for d in range(len(shape))])
    case = OpCase("random", "CenterCropPad", [counted(shape), ints(*wanted)], opset=18)
    (output,) = harness.run(case, opened_device)
    np.testing.assert_array_equal(output, right)


@pytest.mark.parametrize("case", BAD_INDEX_CASES, ids=str)
@pytest.mark.parametrize("bad", [5, -6, 2**40, -(2**63)])
def test_bad_index_raises_and_leaves_the_graph_usable(
    opened_device: Device, case: OpCase, bad: int
) -> None:
    data, indices, *rest = case.inputs
    assert indices is not None
    wrong = indices.copy()
    wrong.flat[1] = bad
    with harness.prepared(case, opened_device) as executable:
        harness.write_inputs(case, executable, [data, wrong, *rest])
        with pytest.raises(DataIndexError, match=f"node 0 'tested' \\({case.op_type}\\)"):
            executable.replay()
        harness.write_inputs(case, executable, case.inputs)
        (output,) = harness.replay(executable)
    harness.assert_close(case, output, harness.expected_outputs(case)[0])


@many_examples
@given(data=st.data(), dtype=dtypes, time_axis=st.integers(0, 1))
def test_reverse_sequence_turns_each_entry_within_its_length(
    opened_device: Device, data: st.DataObject, dtype: str, time_axis: int
) -> None:
    size = st.sampled_from([1, 2, 3, 8, 17])
    shape = tuple(data.draw(st.lists(size, min_size=2, max_size=4)))
    batch, steps = shape[1 - time_axis], shape[time_axis]
    lengths = data.draw(st.lists(st.integers(0, steps), min_size=batch, max_size=batch))
    array = counted(shape, dtype)
    attributes = {"batch_axis": 1 - time_axis, "time_axis": time_axis}
    case = OpCase("random", "ReverseSequence", [array, ints(*lengths)], attributes)
    (output,) = harness.run(case, opened_device)
    np.testing.assert_array_equal(output, reverse_sequence(array, ints(*lengths), time_axis))


@pytest.mark.parametrize("length", [-1, 4, 2**40])
def test_a_length_beyond_the_sequence_raises(opened_device: Device, length: int) -> None:
    case = OpCase("bad", "ReverseSequence", [counted((3, 2)), ints(3, length)])
    with harness.prepared(case, opened_device) as executable:
        harness.write_inputs(case, executable, case.inputs)
        with pytest.raises(DataIndexError, match="ReverseSequence"):
            executable.replay()


@pytest.mark.parametrize(
    ("lengths", "attributes", "reason"),
    [
        (ints(1, 1), {"batch_axis": 1, "time_axis": 1}, "batch_axis=1, time_axis=1"),
        (ints(1, 1), {"batch_axis": 2, "time_axis": 0}, "batch_axis=2, time_axis=0"),
        (ints(1, 1, 1), {}, "does not hold a length for each entry of axis 1"),
    ],
)
def test_reverse_sequence_says_why_it_cannot_run(
    lengths: harness.Array, attributes: dict[str, Any], reason: str
) -> None:
    case = OpCase("refused", "ReverseSequence", [counted((3, 2, 4)), lengths], attributes)
    with pytest.raises(Unsupported, match=reason):
        harness.graph_of(case)


def test_gather_from_an_empty_axis_raises(opened_device: Device) -> None:
    case = OpCase("empty_axis", "Gather", [np.zeros((0, 2), np.float32), ints(0)])
    with pytest.raises(DataIndexError):
        harness.run(case, opened_device)


X = counted((2, 3))

REJECTED = [
    (OpCase("size", "Reshape", [X, ints(4, 2)]), "cannot be reshaped to [4, 2]"),
    (OpCase("two", "Reshape", [X, ints(-1, -1)]), "Shape [-1, -1] is not a shape"),
    (OpCase("copy", "Reshape", [X, ints(2, 3, 0)]), "copies dimension 2"),
    (OpCase("axis", "Flatten", [X], {"axis": 3}), "Axis 3 is outside a tensor of rank 2"),
    (OpCase("size", "Squeeze", [X, ints(0)]), "are not all of size 1"),
    (OpCase("twice", "Unsqueeze", [X, ints(0, -4)]), "name a dimension twice"),
    (OpCase("width", "BitCast", [X], {"to": 11}, 26), "cannot be those of ONNX type 11"),
    (OpCase("long", "Compress", [X, np.ones(3, bool)], {"axis": 0}), "at most 2 decisions"),
    (OpCase("sizes", "CenterCropPad", [X, ints(1)], opset=18), "a size for each of the axes"),
    (OpCase("run", "TensorScatter", [X, counted((2, 4))], {"axis": 1}, 24), "is no run of"),
    (OpCase("batch", "TensorScatter", [X, X], opset=24), "Axis 0 is that of the samples"),
    (
        OpCase("training", "Dropout", [X, np.array(0.5, np.float32), np.array(True)]),
        "training_mode",
    ),
    (OpCase("perm", "Transpose", [X], {"perm": [0, 0]}), "is not a permutation of 2 dimensions"),
    (OpCase("shapes", "Concat", [X, X.T], {"axis": 0}), "cannot be joined"),
    (OpCase("sizes", "Split", [X, ints(1, 3)], {"axis": 1}, num_outputs=2), "Split sizes [1, 3]"),
    (OpCase("equal", "Split", [X], {"axis": 1}, num_outputs=2), "3 does not split into 2"),
    (OpCase("step", "Slice", [X, ints(0), ints(1), ints(0), ints(0)]), "A step of Slice is 0"),
    (OpCase("shape", "Expand", [X, ints(2, 4)]), "[2, 3] and [2, 4] do not broadcast"),
    (OpCase("repeats", "Tile", [X, ints(2)]), "does not give a count for every dimension"),
    (OpCase("mode", "Pad", [X, ints(0, 0, 0, 0)], {"mode": "mirror"}), "mode 'mirror' is none"),
    (OpCase("nothing", "Pad", [X, ints(-2, 0, -1, 0)]), "leave nothing of a dimension of 2"),
    (OpCase("axis", "Gather", [X, ints(0)], {"axis": 2}), "Axis 2 is outside"),
    (OpCase("depth", "GatherND", [X, ints(0, 0, 0)]), "holds 3 indices"),
    (
        OpCase("bool", "ScatterND", [X > 1, ints(0)[None], X[:1] > 1], {"reduction": "add"}, 18),
        "reduction 'add' of bool",
    ),
    (OpCase("delta", "Range", [ints(n).reshape(()) for n in (0, 5, 0)]), "delta of Range is 0"),
    (OpCase("vector", "EyeLike", [X[0]]), "is not a matrix"),
    (OpCase("vector", "Trilu", [X[0]]), "is not a stack of matrices"),
    (OpCase("depth", "OneHot", [ints(1), ints(-1), counted((2,))]), "depth -1"),
    (OpCase("k", "TopK", [X, ints(4)]), "k is 4, but the axis has 3 elements"),
    (OpCase("neither", "Resize", [X]), "Exactly one of scales and sizes"),
    (OpCase("scale", "Resize", [X, None, np.array([1, 0], np.float32)]), "a positive scale"),
    (OpCase("sizes", "Resize", [X, None, None, ints(4)]), "sizes [4] do not fit"),
    (
        OpCase("mode", "Resize", [X, None, None, ints(4, 4)], {"mode": "area"}),
        "mode 'area' is none of nearest, linear and cubic",
    ),
    (
        OpCase(
            "coordinates",
            "Resize",
            [X, None, None, ints(4, 4)],
            {"coordinate_transformation_mode": "corners"},
        ),
        "coordinate_transformation_mode 'corners' is unknown",
    ),
]


@pytest.mark.parametrize(("case", "reason"), REJECTED, ids=lambda value: str(value))
def test_node_that_cannot_run_says_why(case: OpCase, reason: str) -> None:
    with pytest.raises(Unsupported) as caught:
        harness.graph_of(case)
    assert reason in str(caught.value)


BIG = np.broadcast_to(np.float32(0), (2**16, 2**15 + 1))
"""2**31 + 2**16 elements that take no memory; plans read shapes alone."""

BEYOND_31_BITS = [
    OpCase("odd_rows", "Slice", [BIG, ints(1), ints(2**62), ints(0), ints(2)]),
    OpCase("swapped", "Transpose", [BIG.reshape(2**15, 2, -1)], {"perm": [1, 0, 2]}),
    OpCase("joined", "Concat", [BIG, BIG], {"axis": 1}),
    OpCase("halves", "Split", [BIG], {"axis": 0}, num_outputs=2),
    OpCase("border", "Pad", [BIG, ints(1, 1, 1, 1)]),
    OpCase("rows", "Gather", [BIG, np.broadcast_to(np.int64(0), 2**16)]),
    OpCase("repeated", "Expand", [BIG[:1], ints(2**16, 2**15 + 1)]),
    OpCase("repeated", "Tile", [BIG[:1], ints(2**16, 1)]),
    OpCase("doubled", "Resize", [BIG, None, np.array([1, 2], np.float32)]),
]


@pytest.mark.parametrize("case", BEYOND_31_BITS, ids=str)
def test_places_beyond_31_bits_are_computed_in_64(case: OpCase) -> None:
    for step in build_plan(harness.graph_of(case)).steps:
        num_threads = step.launch.grid[0] * step.launch.block[0]
        expected = "long long" if num_threads >= 2**31 else "unsigned"
        assert dict(step.launch.macros)["INDEX"] == expected
