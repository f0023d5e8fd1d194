"""DynamicQuantizeLSTM of ONNX Runtime: an LSTM whose products are of 8-bit integers.

The input as a whole, and at each step the state before it as a whole, are quantised to uint8 by
their own range, as DynamicQuantizeLinear does it, and multiplied with quantised weights; gates and
state are float32. A row that has ended still counts for the range, with its last state. A step is
three launches: quantise the state, multiply, make the gates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, optional, required
from cugraphmodel.ops.launch import Argument, Launch, Workspace, ceil_div
from cugraphmodel.ops.matmul.product import Product
from cugraphmodel.ops.matmul.quantized_product import BYTES, Outcome, Quantized, launch_quantized
from cugraphmodel.ops.quantize.dynamic import dynamic_quantize_launches
from cugraphmodel.ops.recurrent.cell import CELLS, Layer
from cugraphmodel.ops.recurrent.recurrent import Recurrence
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
FLOAT32, UINT8 = np.dtype("float32"), np.dtype("uint8")
GATES = CELLS["LSTM"].gates
THREADS = 128


def _weights(inputs: Values, position: int, parameters: int) -> Quantized:
    """Weights [1, depth, 4 * hidden] with scales and zero points for all or for each column."""
    value = required(inputs, position)
    scale, zero_point = required(inputs, parameters), required(inputs, parameters + 1)
    check_dtype(value, BYTES)
    check_dtype(scale, (FLOAT32,))
    if len(value.shape) != 3:
        raise Unsupported(f"W and R have 3 dimensions; got {value.shape}.")
    check_dtype(zero_point, (value.dtype,))
    for parameter in (scale, zero_point):
        if parameter.size not in (1, value.shape[2]):
            raise Unsupported(f"{parameter} is neither one number nor one for each column.")
    return Quantized(value, value.dtype, zero_point, scale, zero_point.size, scale.size)


def _layer(node: Node, inputs: Values) -> Layer:
    """The layer as an LSTM with weights of float32; only their shapes mean something."""
    x, w, r = required(inputs), required(inputs, 1), required(inputs, 2)
    check_dtype(x, (FLOAT32,))
    if node.attributes.get("direction", "forward") == "bidirectional":
        raise Unsupported("A bidirectional one has no kernels; split it into its two directions.")
    _weights(inputs, 1, 8)
    _weights(inputs, 2, 10)
    floats = [
        Value(FLOAT32, (value.shape[0], value.shape[2], value.shape[1]), value.name)
        for value in (w, r)
    ]
    others = [optional(inputs, position) for position in range(3, 8)]
    return Layer.of(replace(node, op_type="LSTM"), [x, *floats, *others])


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    """Y, Y_h and Y_c."""
    layer = _layer(node, inputs)
    if layer.num_steps == 0:
        raise Unsupported("Its sequences are empty.")
    shapes = [layer.y_shape, layer.state_shape, layer.state_shape]
    return [TensorType(FLOAT32, shape) for shape in shapes][: len(node.outputs)]


@dataclass(frozen=True)
class _Matrix:
    """float32 rows that lie in a tensor or in memory of the node's own."""

    place: Value | Workspace
    rows: int
    depth: int

    def times(self, weights: Quantized, columns: int, y: Workspace) -> Iterator[Launch]:
        """Quantise all rows together, and write their product with the weights, as float32."""
        size = self.rows * self.depth
        x, result = (Value(FLOAT32, (size,), name) for name in ("rows", "product"))
        quantized, scale, zero_point = Workspace(max(size, 1)), Workspace(4), Workspace(1)
        left = Quantized(quantized, UINT8, zero_point, scale)
        product = Product(self.rows, columns, self.depth)
        for launch in (
            *dynamic_quantize_launches(x, quantized, scale, zero_point),
            launch_quantized(product, left, weights, result, Outcome()),
        ):
            places: dict[int, Argument] = {id(x): self.place, id(result): y}
            yield replace(launch, args=tuple(places.get(id(arg), arg) for arg in launch.args))


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    layer = _layer(node, inputs)
    columns = GATES * layer.hidden
    rows = layer.num_steps * layer.batch
    projected = Workspace(4 * rows * columns)
    given = tuple(optional(outputs, position) for position in range(3))
    recurrence = Recurrence(layer, (given[0], given[1], given[2]), projected)
    matrix = _Matrix(required(inputs), rows, layer.x.shape[2])
    launches = [*matrix.times(_weights(inputs, 1, 8), columns, projected)]
    states = Workspace(4 * layer.batch * layer.hidden), Workspace(4 * layer.batch * layer.hidden)
    cell, product = Workspace(states[0].num_bytes), Workspace(4 * layer.batch * columns)
    for step in range(layer.num_steps):
        before, cell_before = (states[1 - step % 2], cell) if step else (None, None)
        h = before or layer.initial_h
        if h is not None:
            state = _Matrix(h, layer.batch, layer.hidden)
            launches += state.times(_weights(inputs, 2, 10), columns, product)
        memory = (h, cell_before or layer.initial_c, states[step % 2], cell, None)
        launches.append(_gates(recurrence, step, (*memory, None if h is None else product)))
    return launches


def _gates(recurrence: Recurrence, step: int, memory: tuple[Argument, ...]) -> Launch:
    layer = recurrence.layer
    projected, _, *tensors = recurrence.tensors
    return Launch(
        "ops/recurrent/step.cu",
        "recurrent_step",
        (ceil_div(layer.hidden, THREADS), layer.batch, 1),
        (THREADS, 1, 1),
        (
            *(projected, None, *tensors),
            *memory,
            *recurrence.outputs,
            *(recurrence.geometry(0), recurrence.functions()),
            *(np.int64(layer.batch * layer.hidden), np.int64(layer.hidden), np.int32(step)),
            *recurrence.error,
        ),
        (*recurrence.macros(0, rows=1, lanes=1), ("PREVIOUS", "float"), ("PHASE", "3")),
    )


register(OpSpec("DynamicQuantizeLSTM", 1, _infer, _lower, domain="com.microsoft"))
