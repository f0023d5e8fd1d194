"""LSTM, GRU and RNN.

The products of all inputs with their weights do not depend on the state, so they are one matrix
product before the recurrence. For the recurrence itself there are two ways:

====================================  ==================================================
weights of the state, one direction   recurrence
====================================  ==================================================
up to 256 KiB, and 3 steps or more    one launch; a block runs all steps for some batch
                                      rows, reading the weights from its cache each time
more, or fewer steps                  a launch a step (two for a GRU whose hidden gate
                                      waits for the reset), over all units and rows
====================================  ==================================================

The first is bound by what one multiprocessor can read, the second by the start of a kernel, about
2 us inside a graph, in which a multiprocessor reads some 256 KiB.

Two things follow the operators' text where ONNX Runtime does not: ``clip`` bounds the argument of h
too, and a sequence of length 0 leaves the state as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Argument, Launch, Workspace, ceil_div
from cugraphmodel.ops.matmul.product import (
    WAVE_BLOCKS,
    Epilogue,
    Product,
    launch_product,
    vector_width,
)
from cugraphmodel.ops.recurrent.cell import Layer
from cugraphmodel.ops.spec import OpSpec, register

__all__ = ["Recurrence"]

Values = Sequence[Value | None]
MAX_SEQUENCE_WEIGHT_BYTES = 256 * 1024
MIN_SEQUENCE_STEPS = 3
SEQUENCE_LANES = 8
SEQUENCE_THREADS = {4: 512, 8: 256}  # by bytes of the accumulator, see sequence.cu
STEP_LANES = 32
STEP_THREADS = 128


def _accumulator_of(dtype: np.dtype) -> np.dtype:
    """What the kernels compute a float dtype in."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    """Y, Y_h and, for an LSTM, Y_c."""
    layer = Layer.of(node, inputs)
    states = 2 if node.op_type == "LSTM" else 1
    shapes = [layer.y_shape, *[layer.state_shape] * states]
    return [TensorType(layer.x.dtype, shape) for shape in shapes][: len(node.outputs)]


@dataclass(frozen=True)
class Recurrence:
    """The launches after the projection, all of which share most arguments."""

    layer: Layer
    outputs: tuple[Value | None, Value | None, Value | None]
    projected: Workspace

    @property
    def accumulator(self) -> np.dtype:
        """What sums and the state between steps are held in."""
        return _accumulator_of(self.layer.x.dtype)

    @property
    def tensors(self) -> tuple[Argument, ...]:
        """What the kernels take first."""
        layer = self.layer
        return (self.projected, layer.recurrence, layer.bias, layer.peepholes, layer.lengths)

    @property
    def error(self) -> tuple[Argument, ...]:
        """Only lengths can be wrong."""
        return (None if self.layer.lengths is None else ERROR_WORD, ERROR_CODE)

    @property
    def waits_for_reset(self) -> bool:
        """Whether a step has two phases."""
        node = self.layer.node
        return node.op_type == "GRU" and not node.attributes.get("linear_before_reset", 0)

    @property
    def is_sequence(self) -> bool:
        """Whether one launch makes all steps; see the table of this module."""
        layer = self.layer
        if layer.num_steps < MIN_SEQUENCE_STEPS:
            return layer.num_steps == 0  # the initial state is the final one
        weight_bytes = layer.recurrence.num_bytes // layer.num_directions
        return weight_bytes <= MAX_SEQUENCE_WEIGHT_BYTES

    def directions(self) -> Iterator[tuple[int, int]]:
        """First direction and their number, of each launch: both unless their functions differ."""
        functions = self.layer.functions
        names = [[activation.function for activation in each] for each in functions]
        if all(each == names[0] for each in names):
            yield 0, len(functions)
        else:
            yield from ((direction, 1) for direction in range(len(functions)))

    def geometry(self, first_direction: int) -> npt.NDArray[np.int64]:
        """``struct Geometry`` of ``cell.cuh``."""
        layer = self.layer
        steps, batch, hidden, directions = (
            *(layer.num_steps, layer.batch, layer.hidden, layer.num_directions),
        )
        if layer.batch_first:
            rows = (1, steps)
            y = (directions * hidden, hidden, steps * directions * hidden)
            state = (hidden, directions * hidden)
        else:
            rows = (batch, 1)
            y = (directions * batch * hidden, batch * hidden, hidden)
            state = (batch * hidden, hidden)
        coupled = int(layer.node.attributes.get("input_forget", 0) != 0)
        sizes = (steps, batch, hidden, directions)
        which = (first_direction, layer.reversed_direction, coupled)
        return np.array([*sizes, *which, *rows, *y, *state], np.int64)

    def functions(self) -> npt.NDArray[np.float32]:
        """``struct Functions`` of ``cell.cuh``."""
        a, b = np.zeros((2, 2, 3), np.float32)
        for direction, functions in enumerate(self.layer.functions):
            a[direction, : len(functions)] = [function.a for function in functions]
            b[direction, : len(functions)] = [function.b for function in functions]
        clip = self.layer.node.attributes.get("clip", np.inf)
        return np.array([*a.ravel(), *b.ravel(), clip], np.float32)

    def macros(self, direction: int, rows: int, lanes: int) -> tuple[tuple[str, str], ...]:
        """What specialises both kernels."""
        layer = self.layer
        names = [activation.function for activation in layer.functions[direction]]
        names += ["cg_act_none"] * (3 - len(names))
        cell = {"LSTM": "Lstm", "RNN": "Rnn", "GRU": "GruLinear"}[layer.node.op_type]
        return (
            ("SCALAR", c_type(layer.x.dtype)),
            ("CELL", "Gru" if self.waits_for_reset else cell),
            ("ROWS", str(rows)),
            ("LANES", str(lanes)),
            ("VECTOR", vector_width(layer.hidden)),
            *zip(("ACTIVATION_F", "ACTIVATION_G", "ACTIVATION_H"), names, strict=True),
        )

    def sequence(self) -> Iterator[Launch]:
        """All steps in one launch, for each kind of direction."""
        layer = self.layer
        choices = (1, 2, 4, 8)[: 4 if self.accumulator.itemsize == 4 else 3]
        filling = [
            rows
            for rows in choices
            if ceil_div(layer.batch, rows) * layer.num_directions <= WAVE_BLOCKS
        ]
        rows = filling[0] if filling else choices[-1]
        most = SEQUENCE_THREADS[self.accumulator.itemsize]
        threads = min(most, 32 * ceil_div(layer.hidden * SEQUENCE_LANES, 32))
        for first, count in self.directions():
            yield Launch(
                "ops/recurrent/sequence.cu",
                "recurrent_sequence",
                (ceil_div(layer.batch, rows), count, 1),
                (threads, 1, 1),
                (
                    *self.tensors,
                    *(layer.initial_h, layer.initial_c),
                    *self.outputs,
                    *(self.geometry(first), self.functions()),
                    *self.error,
                ),
                self.macros(first, rows, SEQUENCE_LANES),
                shared_bytes=3 * rows * layer.hidden * self.accumulator.itemsize,
            )

    def steps(self) -> Iterator[Launch]:
        """A launch, or two, a step."""
        layer = self.layer
        size = layer.num_directions * layer.batch * layer.hidden * self.accumulator.itemsize
        states = Workspace(size), Workspace(size)
        cell = Workspace(size) if layer.node.op_type == "LSTM" else None
        update, reset = (Workspace(size), Workspace(size)) if self.waits_for_reset else (None, None)
        own_strides = (layer.batch * layer.hidden, layer.hidden)
        given_strides = own_strides
        if layer.batch_first:
            given_strides = (layer.hidden, layer.num_directions * layer.hidden)
        for step in range(layer.num_steps):
            previous: tuple[Argument, ...] = (states[1 - step % 2], cell)
            scalar, strides = self.accumulator, own_strides
            if step == 0:
                previous = (layer.initial_h, layer.initial_c)
                scalar, strides = layer.x.dtype, given_strides
            own: tuple[Argument, ...] = (states[step % 2], cell, update, reset)
            for phase in (1, 2) if self.waits_for_reset else (0,):
                yield from self._step(step, phase, (*previous, *own), scalar, strides)

    def _step(
        self,
        step: int,
        phase: int,
        states: tuple[Argument, ...],
        scalar: np.dtype,
        strides: tuple[int, int],
    ) -> Iterator[Launch]:
        layer = self.layer
        widest = 8 if self.accumulator.itemsize == 4 else 4
        rows = min(widest, 1 << (layer.batch - 1).bit_length())
        for first, count in self.directions():
            yield Launch(
                "ops/recurrent/step.cu",
                "recurrent_step",
                (
                    ceil_div(layer.hidden, STEP_THREADS // STEP_LANES),
                    ceil_div(layer.batch, rows),
                    count,
                ),
                (STEP_THREADS, 1, 1),
                (
                    *self.tensors,
                    *states,
                    *self.outputs,
                    *(self.geometry(first), self.functions()),
                    *(np.int64(strides[0]), np.int64(strides[1]), np.int32(step)),
                    *self.error,
                ),
                (
                    *self.macros(first, rows, STEP_LANES),
                    ("PREVIOUS", c_type(scalar)),
                    ("PHASE", str(phase)),
                ),
            )


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    layer = Layer.of(node, inputs)
    given = tuple(outputs[position] if position < len(outputs) else None for position in range(3))
    rows, columns = layer.num_steps * layer.batch, layer.weights.shape[0] * layer.weights.shape[1]
    accumulator = _accumulator_of(layer.x.dtype)
    projected = Workspace(rows * columns * accumulator.itemsize)
    recurrence = Recurrence(layer, (given[0], given[1], given[2]), projected)
    launches = []
    if rows:
        product = Product(rows, columns, layer.x.shape[2], transpose_right=True)
        x, weights = layer.x, layer.weights
        launches = [launch_product(product, x, weights, projected, Epilogue(), accumulator)]
    return [*launches, *(recurrence.sequence() if recurrence.is_sequence else recurrence.steps())]


register(
    OpSpec("LSTM", 7, _infer, _lower),
    OpSpec("GRU", 7, _infer, _lower),
    OpSpec("RNN", 7, _infer, _lower),
)
