"""What the nodes LSTM, GRU and RNN say: shapes, directions, activation functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, optional, required
from cugraphmodel.ops.spec import Unsupported

__all__ = ["ACTIVATIONS", "CELLS", "Activation", "Cell", "Layer"]


@dataclass(frozen=True)
class Cell:
    """A kind of recurrent layer.

    Attributes:
        gates: rows of the weights for each unit.
        activations: the functions f, g, h where the node names none.
    """

    gates: int
    activations: tuple[str, ...]


CELLS = {
    "LSTM": Cell(4, ("Sigmoid", "Tanh", "Tanh")),
    "GRU": Cell(3, ("Sigmoid", "Tanh")),
    "RNN": Cell(1, ("Tanh",)),
}


@dataclass(frozen=True)
class Activation:
    """An activation function with its parameters, in the kernels' order."""

    function: str
    a: float = 0.0
    b: float = 0.0


ACTIVATIONS: dict[str, tuple[str, float | None, float | None]] = {
    "relu": ("cg_act_relu", None, None),
    "tanh": ("cg_act_tanh", None, None),
    "sigmoid": ("cg_act_sigmoid", None, None),
    "affine": ("cg_act_affine", 1.0, 0.0),
    "leakyrelu": ("cg_act_leaky_relu", 0.01, None),
    "thresholdedrelu": ("cg_act_threshold", 1.0, None),
    "scaledtanh": ("cg_act_scaled_tanh", 1.0, 1.0),
    "hardsigmoid": ("cg_act_hard_sigmoid", 0.2, 0.5),
    "elu": ("cg_act_elu", 1.0, None),
    "softsign": ("cg_act_softsign", None, None),
    "softplus": ("cg_act_softplus", None, None),
}
"""Lower-case ONNX name -> kernel function, default alpha and beta (None: it has none)."""


@dataclass(frozen=True)
class Layer:
    """A node with its inputs, checked to fit together.

    Attributes:
        x: [num_steps, batch, input_size], or [batch, num_steps, input_size] if ``batch_first``.
        weights: [num_directions, gates * hidden, input_size].
        recurrence: [num_directions, gates * hidden, hidden].
        bias: [num_directions, 2 * gates * hidden], or None.
        lengths: int32 [batch], or None.
        initial_h, initial_c: [num_directions, batch, hidden], or [batch, num_directions, hidden]
            if ``batch_first``, or None.
        peepholes: [num_directions, 3 * hidden], or None.
        functions: f, g, h of each direction.
    """

    cell: Cell
    node: Node
    x: Value
    weights: Value
    recurrence: Value
    bias: Value | None
    lengths: Value | None
    initial_h: Value | None
    initial_c: Value | None
    peepholes: Value | None
    functions: tuple[tuple[Activation, ...], ...]

    @staticmethod
    def of(node: Node, inputs: Sequence[Value | None]) -> Layer:
        """The layer of a node.

        Raises:
            Unsupported: its inputs do not fit together, or an attribute has no meaning.
        """
        cell = CELLS[node.op_type]
        is_lstm = node.op_type == "LSTM"
        layer = Layer(
            cell,
            node,
            *(required(inputs), required(inputs, 1), required(inputs, 2)),
            *(optional(inputs, 3), optional(inputs, 4), optional(inputs, 5)),
            optional(inputs, 6) if is_lstm else None,
            optional(inputs, 7) if is_lstm else None,
            _functions(node, cell),
        )
        layer._check()
        return layer

    @property
    def batch_first(self) -> bool:
        """Whether the batch is the first axis of X, Y and the states (``layout`` 1)."""
        return bool(self.node.attributes.get("layout", 0) == 1)

    @property
    def num_steps(self) -> int:
        """Length of the padded sequences."""
        return self.x.shape[1 if self.batch_first else 0]

    @property
    def batch(self) -> int:
        """Sequences."""
        return self.x.shape[0 if self.batch_first else 1]

    @property
    def hidden(self) -> int:
        """Units of one direction."""
        return self.recurrence.shape[-1]

    @property
    def num_directions(self) -> int:
        """2 for a bidirectional layer, else 1."""
        return len(self.functions)

    @property
    def reversed_direction(self) -> int:
        """The direction that runs backwards in time, or -1."""
        return {"forward": -1, "reverse": 0, "bidirectional": 1}[_direction(self.node)]

    @property
    def y_shape(self) -> tuple[int, ...]:
        """Shape of the state of all steps."""
        if self.batch_first:
            return (self.batch, self.num_steps, self.num_directions, self.hidden)
        return (self.num_steps, self.num_directions, self.batch, self.hidden)

    @property
    def state_shape(self) -> tuple[int, ...]:
        """Shape of the initial and of the final state."""
        if self.batch_first:
            return (self.batch, self.num_directions, self.hidden)
        return (self.num_directions, self.batch, self.hidden)

    def _check(self) -> None:
        check_dtype(self.x, FLOATS)
        if len(self.x.shape) != 3 or len(self.recurrence.shape) != 3:
            raise Unsupported(
                f"X and R have 3 dimensions; got {self.x.shape} and {self.recurrence.shape}."
            )
        directions, rows = self.num_directions, self.cell.gates * self.hidden
        expected = {
            "W": (self.weights, (directions, rows, self.x.shape[2])),
            "R": (self.recurrence, (directions, rows, self.hidden)),
            "B": (self.bias, (directions, 2 * rows)),
            "initial_h": (self.initial_h, self.state_shape),
            "initial_c": (self.initial_c, self.state_shape),
            "P": (self.peepholes, (directions, 3 * self.hidden)),
        }
        for name, (value, shape) in expected.items():
            if value is not None:
                check_dtype(value, (self.x.dtype,))
                if value.shape != shape:
                    raise Unsupported(f"{name} has shape {value.shape}, expected {shape}.")
        if self.node.attributes.get("hidden_size", self.hidden) != self.hidden:
            raise Unsupported(
                f"hidden_size={self.node.attributes['hidden_size']}, but R has {self.hidden} units."
            )
        if self.node.attributes.get("clip", 0.0) < 0:
            raise Unsupported(f"clip={self.node.attributes['clip']}; a threshold is not negative.")
        if self.lengths is not None:
            check_dtype(self.lengths, (np.dtype(np.int32),))
            if self.lengths.shape != (self.batch,):
                raise Unsupported(
                    f"sequence_lens has shape {self.lengths.shape}, expected {(self.batch,)}."
                )


def _direction(node: Node) -> str:
    direction = node.attributes.get("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        raise Unsupported(
            f"direction={direction!r}; it is 'forward', 'reverse' or 'bidirectional'."
        )
    return str(direction)


def _functions(node: Node, cell: Cell) -> tuple[tuple[Activation, ...], ...]:
    """f, g, h of each direction.

    ``activation_alpha`` and ``activation_beta`` hold numbers for those functions alone that take
    some, in the order of the functions; where they end, the defaults begin.
    """
    num_directions = 2 if _direction(node) == "bidirectional" else 1
    count = len(cell.activations)
    names = list(node.attributes.get("activations", cell.activations * num_directions))
    if len(names) != count * num_directions:
        raise Unsupported(
            f"activations has {len(names)} entries; {node.op_type} takes {count} a direction."
        )
    alphas = iter(node.attributes.get("activation_alpha", ()))
    betas = iter(node.attributes.get("activation_beta", ()))
    functions = []
    for name in names:
        entry = ACTIVATIONS.get(str(name).lower())
        if entry is None:
            raise Unsupported(f"Activation {name!r} is not one that the operator defines.")
        function, alpha, beta = entry
        a = 0.0 if alpha is None else next(alphas, alpha)
        b = 0.0 if beta is None else next(betas, beta)
        functions.append(Activation(function, float(a), float(b)))
    return tuple(
        tuple(functions[first : first + count]) for first in range(0, len(functions), count)
    )
