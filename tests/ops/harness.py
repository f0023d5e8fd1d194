"""Runs one :class:`OpCase` on a device, and says what the right answer is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, shape_inference
from onnx.reference import ReferenceEvaluator

from cugraphmodel.dtypes import kind_of
from cugraphmodel.executors.base import Device, Executable
from cugraphmodel.ir import Constant, Graph, Node, Parameters, TensorType, Value, constant_of
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.spec import find
from cugraphmodel.plan import build_plan

Array = npt.NDArray[Any]


def graph_of(case: OpCase) -> Graph:
    """The graph that holds the case's node alone."""
    spec = find(case.domain, case.op_type, case.opset)
    assert spec is not None, f"{case.op_type} is not registered for opset {case.opset}"
    inputs = [
        None if array is None else Value(array.dtype, array.shape, f"in{position}")
        for position, array in enumerate(case.inputs)
    ]
    node = Node(
        op_type=case.op_type,
        inputs=tuple("" if value is None else value.name for value in inputs),
        outputs=tuple(f"out{position}" for position in range(case.num_outputs)),
        domain=case.domain,
        version=case.opset,
        attributes=case.attributes,
        host_values={
            position: array
            for position, array in enumerate(case.inputs)
            if position in spec.host_inputs and array is not None
        },
        name="tested",
        index=0,
    )
    constants = _constants(case, {*case.constant_inputs, *spec.host_inputs})
    for number, table in enumerate(spec.tables(node) if spec.tables else ()):
        inputs.append(Value(table.dtype, table.shape, f"table{number}"))
        constants[f"table{number}"] = constant_of(table, f"{case} table {number}")
    node = replace(node, inputs=tuple("" if value is None else value.name for value in inputs))
    types = spec.infer(node, inputs)
    outputs = [
        Value(inferred.dtype, inferred.shape, name)
        for name, inferred in zip(node.outputs, types, strict=True)
    ]
    present = [value for value in inputs if value is not None]
    return Graph(
        nodes=(node,),
        values={value.name: value for value in (*present, *outputs)},
        inputs=tuple(value.name for value in present if value.name not in constants),
        outputs=node.outputs,
        constants=constants,
    )


def _constants(case: OpCase, positions: set[int]) -> dict[str, Constant]:
    return {
        f"in{position}": constant_of(array, f"{case} input {position}")
        for position, array in enumerate(case.inputs)
        if position in positions and array is not None
    }


@contextmanager
def prepared(case: OpCase, device: Device) -> Iterator[Executable]:
    """The case's node, captured on a device; closed at the end. Its inputs are not yet written."""
    executable = device.prepare(
        build_plan(graph_of(case)), device.weight_store(), Parameters({}), capture=True
    )
    try:
        yield executable
    finally:
        executable.close()


def write_inputs(case: OpCase, executable: Executable, inputs: Sequence[Array | None]) -> None:
    """Copy data of the case's shapes into the executable's input views."""
    graph = graph_of(case)
    by_name = {f"in{position}": array for position, array in enumerate(inputs)}
    for name, view in zip(graph.inputs, executable.inputs, strict=True):
        view[...] = by_name[name]


def replay(executable: Executable) -> list[Array]:
    """Replay once; copies of the outputs."""
    executable.replay()
    return [output.copy() for output in executable.outputs]


def run(case: OpCase, device: Device) -> list[Array]:
    """Outputs of the case's node on a device."""
    with prepared(case, device) as executable:
        write_inputs(case, executable, case.inputs)
        return replay(executable)


def other_inputs(case: OpCase) -> list[Array | None]:
    """Other data that is valid wherever the case's is: zeros for integers, floats reversed."""
    return [
        None
        if array is None
        else np.flip(array).copy()
        if kind_of(array.dtype) == "f"
        else np.zeros_like(array)
        for array in case.inputs
    ]


def expected_outputs(case: OpCase) -> list[Array]:
    """The right outputs, in the dtypes that ONNX gives them.

    ``case.expected`` if there is one, else ``onnx.reference``, which computes in float64 where the
    operator admits that type.
    """
    declared = _declared_types(case)
    with np.errstate(all="ignore"):
        if case.expected is not None:
            exact = case.expected(*(None if a is None else a.copy() for a in case.inputs))
        else:
            exact = _reference(case)
        return [
            np.asarray(array).astype(inferred.dtype)
            for array, inferred in zip(exact, declared, strict=True)
        ]


def _declared_types(case: OpCase) -> list[TensorType]:
    """Dtypes and shapes of the outputs by ONNX's own inference; ours for operators of our own."""
    graph = graph_of(case)
    ours = [graph.values[name] for name in graph.outputs]
    if case.domain:
        return list(ours)
    inferred = shape_inference.infer_shapes(_model(case, case.inputs), data_prop=True)
    by_name = {info.name: info.type.tensor_type for info in inferred.graph.output}
    types: list[TensorType] = []
    for value in ours:
        found = by_name[value.name]
        dtype = value.dtype
        if found.elem_type:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(found.elem_type))
        types.append(TensorType(dtype, value.shape))
    return types


def _reference(case: OpCase) -> Sequence[Array]:
    inputs = case.inputs
    if _admits_float64(case):
        inputs = [
            array.astype(np.float64) if array is not None and kind_of(array.dtype) == "f" else array
            for array in inputs
        ]
    evaluator = ReferenceEvaluator(_model(case, inputs))
    feeds = {f"in{position}": array for position, array in enumerate(inputs) if array is not None}
    return list(evaluator.run(None, feeds))


def _admits_float64(case: OpCase) -> bool:
    schema = onnx.defs.get_schema(case.op_type, case.opset, case.domain)
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    formals = list(schema.inputs)
    for position, array in enumerate(case.inputs):
        if array is not None and kind_of(array.dtype) == "f":
            type_str = formals[min(position, len(formals) - 1)].type_str
            if "tensor(double)" not in allowed.get(type_str, {type_str}):
                return False
    return True


def _model(case: OpCase, inputs: Sequence[Array | None]) -> onnx.ModelProto:
    """A model of the case's node alone, all of whose inputs are graph inputs with known shapes.

    Inputs whose values decide the output's shape are initializers, so that inference sees them.
    """
    spec = find(case.domain, case.op_type, case.opset)
    assert spec is not None
    attributes = {
        name: onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in case.attributes.items()
    }
    outputs = [f"out{position}" for position in range(case.num_outputs)]
    node = helper.make_node(
        case.op_type,
        ["" if array is None else f"in{position}" for position, array in enumerate(inputs)],
        outputs,
        domain=case.domain,
        **attributes,
    )
    infos = [
        helper.make_tensor_value_info(
            f"in{position}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for position, array in enumerate(inputs)
        if array is not None
    ]
    graph = helper.make_graph(
        [node],
        "case",
        infos,
        [onnx.ValueInfoProto(name=name) for name in outputs],
        initializer=[
            onnx.numpy_helper.from_array(array, f"in{position}")
            for position, array in enumerate(inputs)
            if array is not None and position in spec.host_inputs
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(case.domain, case.opset)])


def assert_close(case: OpCase, got: Array, expected: Array) -> None:
    """Same dtype and shape; integers equal; floats within the case's bounds, NaN where expected.

    A 16-bit float is allowed one rounding to its own precision, unless the bound is 0.
    """
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if kind_of(got.dtype) != "f":
        np.testing.assert_array_equal(got, expected)
        return
    wide, right = got.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(right[np.isfinite(right)])
    scale = float(finite.max()) if finite.size else 0.0
    rtol, atol = (1e-13, 1e-14) if got.dtype == np.float64 else (1e-5, 1e-6)
    rtol = rtol if case.rtol is None else case.rtol
    atol = atol if case.atol is None else case.atol
    if got.dtype.itemsize == 2 and rtol != 0:
        rtol = max(rtol, float(ml_dtypes.finfo(got.dtype).eps))  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(wide, right, rtol=rtol, atol=atol * scale, equal_nan=True)
