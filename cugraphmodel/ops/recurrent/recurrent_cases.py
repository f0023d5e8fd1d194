"""Cases of LSTM, GRU and RNN. The right answers come from the operators' equations in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES", "recurrent_layer"]

Array = npt.NDArray[Any]
Function = Callable[[Array], Array]
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _function(name: str, alphas: list[float], betas: list[float]) -> Function:
    """An activation by name; it takes the next of ``alphas`` and ``betas`` where it has some."""

    def alpha(default: float) -> float:
        return float(np.float32(alphas.pop(0) if alphas else default))

    def beta(default: float) -> float:
        return float(np.float32(betas.pop(0) if betas else default))

    if name == "Affine":
        a, b = alpha(1.0), beta(0.0)
        return lambda x: a * x + b
    if name == "LeakyRelu":
        a = alpha(0.01)
        return lambda x: np.where(x >= 0, x, a * x)
    if name == "ThresholdedRelu":
        a = alpha(1.0)
        return lambda x: np.where(x >= a, x, 0)
    if name == "ScaledTanh":
        a, b = alpha(1.0), beta(1.0)
        return lambda x: a * np.tanh(b * x)
    if name == "HardSigmoid":
        a, b = alpha(0.2), beta(0.5)
        return lambda x: np.clip(a * x + b, 0, 1)
    if name == "Elu":
        a = alpha(1.0)
        return lambda x: np.where(x >= 0, x, a * np.expm1(x))
    plain: dict[str, Function] = {
        "Relu": lambda x: np.maximum(x, 0),
        "Tanh": np.tanh,
        "Sigmoid": _sigmoid,
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "Softplus": lambda x: np.log1p(np.exp(x)),
    }
    return plain[name]


def _of_clipped(function: Function, bound: float) -> Function:
    return lambda x: function(np.clip(x, -bound, bound))


def _step(
    op_type: str,
    functions: list[Function],
    attributes: dict[str, Any],
    projected: Array,
    weights: tuple[Array, Array, Array],
    state: tuple[Array, Array],
) -> tuple[Array, Array]:
    """The state after one step, from W x + Wb of all gates, (R, Rb, P), and the state before."""
    (recurrence, bias, peepholes), (h, c) = weights, state
    hidden = len(h)
    bound = float(np.float32(attributes.get("clip", np.inf)))
    f, g, last = (_of_clipped(function, bound) for function in functions)
    x, r, b = (np.split(a, GATES[op_type]) for a in (projected, recurrence, bias))
    if op_type == "RNN":
        return f(x[0] + r[0] @ h + b[0]), c
    if op_type == "GRU":
        update, reset = f(x[0] + r[0] @ h + b[0]), f(x[1] + r[1] @ h + b[1])
        if attributes.get("linear_before_reset", 0):
            fresh = g(x[2] + reset * (r[2] @ h + b[2]))
        else:
            fresh = g(x[2] + r[2] @ (reset * h) + b[2])
        return (1 - update) * fresh + update * h, c
    p = peepholes.reshape(3, hidden)
    enter = f(x[0] + r[0] @ h + b[0] + p[0] * c)
    forget = f(x[2] + r[2] @ h + b[2] + p[2] * c)
    if attributes.get("input_forget", 0):
        forget = 1 - enter
    cell = forget * c + enter * g(x[3] + r[3] @ h + b[3])
    leave = f(x[1] + r[1] @ h + b[1] + p[1] * cell)
    return leave * last(cell), cell


def recurrent_layer(
    op_type: str, attributes: dict[str, Any], inputs: Sequence[Array | None]
) -> list[Array]:
    """Y, Y_h and Y_c in float64, one unit vector at a time."""
    given = [None if a is None else a.astype(np.float64) for a in (*inputs, *[None] * 8)]
    x, w, r, bias, lengths, h0, c0, peepholes = given[:8]
    assert x is not None
    assert w is not None
    assert r is not None
    if attributes.get("layout", 0):
        x = x.swapaxes(0, 1)
        h0, c0 = (None if a is None else a.swapaxes(0, 1) for a in (h0, c0))
    directions, rows, hidden = r.shape
    steps, batch = x.shape[:2]
    bias = np.zeros((directions, 2 * rows)) if bias is None else bias
    peepholes = np.zeros((directions, 3 * hidden)) if peepholes is None else peepholes
    y = np.zeros((steps, directions, batch, hidden))
    last_h, last_c = (
        np.zeros((directions, batch, hidden)) if a is None else a.copy() for a in (h0, c0)
    )
    alphas = list(attributes.get("activation_alpha", []))
    betas = list(attributes.get("activation_beta", []))
    default = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
    names = attributes.get("activations", default[op_type] * directions)
    functions = [_function(name, alphas, betas) for name in names]
    per_direction = len(default[op_type])
    for d in range(directions):
        mine = functions[d * per_direction : (d + 1) * per_direction]
        mine += [np.tanh] * (3 - len(mine))
        backwards = attributes.get("direction", "forward") == "reverse" or d == 1
        weights = r[d], bias[d, rows:], peepholes[d]
        for b in range(batch):
            length = steps if lengths is None else int(lengths[b])
            state = last_h[d, b], last_c[d, b]
            for t in range(length)[:: -1 if backwards else 1]:
                projected = w[d] @ x[t, b] + bias[d, :rows]
                state = _step(op_type, mine, attributes, projected, weights, state)
                y[t, d, b] = state[0]
            last_h[d, b], last_c[d, b] = state
    if attributes.get("layout", 0):
        y, last_h, last_c = y.transpose(2, 0, 1, 3), last_h.swapaxes(0, 1), last_c.swapaxes(0, 1)
    return [y, last_h, last_c]


def _case(
    name: str,
    op_type: str,
    steps: int,
    batch: int,
    size: int,
    hidden: int,
    dtype: str = "float32",
    *,
    bias: bool = True,
    lengths: Sequence[int] | None = None,
    initial: bool = False,
    peepholes: bool = False,
    opset: int = 14,
    num_outputs: int | None = None,
    **attributes: Any,
) -> OpCase:
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[op_type] * hidden
    state = (directions, batch, hidden)
    batch_first = bool(attributes.get("layout"))

    def data(seed: int, *shape: int, scale: float = 1.0) -> Array:
        return (OpCase.random(seed, *shape) * scale).astype(dtype)

    start = [data(4, *state), data(5, *state)] if initial else [None, None]
    inputs: list[Array | None] = [
        data(0, steps, batch, size),
        data(1, directions, rows, size, scale=max(size, 1) ** -0.5),
        data(2, directions, rows, hidden, scale=hidden**-0.5),
        data(3, directions, 2 * rows, scale=0.5) if bias else None,
        None if lengths is None else np.array(lengths, np.int32),
        *start,
        data(6, directions, 3 * hidden) if peepholes else None,
    ]
    if batch_first:
        inputs[0], inputs[5], inputs[6] = (
            None if a is None else np.ascontiguousarray(a.swapaxes(0, 1))
            for a in (inputs[0], inputs[5], inputs[6])
        )
    if op_type != "LSTM":
        inputs = inputs[:6]
    while inputs[-1] is None:
        inputs.pop()
    count = num_outputs or (3 if op_type == "LSTM" else 2)
    return OpCase(
        name,
        op_type,
        inputs,
        {"hidden_size": hidden, **attributes},
        opset,
        num_outputs=count,
        expected=lambda *given: recurrent_layer(op_type, attributes, given)[:count],
    )


LSTM = [
    _case("one_unit", "LSTM", 4, 1, 1, 1, bias=False),
    _case("one_step", "LSTM", 1, 1, 5, 6, initial=True),
    _case("two_steps_many_rows", "LSTM", 2, 11, 5, 7, initial=True, peepholes=True),
    _case("five_rows", "LSTM", 5, 5, 3, 8, initial=True),
    _case("opset_7", "LSTM", 3, 2, 4, 5, opset=7, peepholes=True),
    _case("opset_22", "LSTM", 3, 2, 4, 4, opset=22, direction="reverse", initial=True),
    _case("no_steps", "LSTM", 0, 2, 4, 4, initial=True),
    _case("no_input", "LSTM", 3, 2, 0, 4),
    _case("y_alone", "LSTM", 3, 1, 4, 4, num_outputs=1),
    _case(
        "bidirectional_lengths",
        "LSTM",
        *(6, 9, 3, 12),
        direction="bidirectional",
        lengths=[6, 0, 3, 1, 5, 6, 2, 4, 6],
        initial=True,
        peepholes=True,
    ),
    _case(
        "batch_first",
        "LSTM",
        *(4, 3, 5, 6),
        direction="bidirectional",
        lengths=[2, 4, 0],
        initial=True,
        layout=1,
    ),
    _case("two_steps_batch_first", "LSTM", 2, 3, 5, 8, initial=True, layout=1, lengths=[2, 0, 1]),
    _case("clip", "LSTM", 4, 2, 5, 6, clip=0.3, initial=True, peepholes=True),
    _case("coupled", "LSTM", 4, 2, 5, 6, input_forget=1, initial=True, peepholes=True),
    _case(
        "functions_of_each_direction",
        "LSTM",
        *(4, 2, 5, 6),
        direction="bidirectional",
        activations=["HardSigmoid", "ScaledTanh", "Elu", "Sigmoid", "Softsign", "LeakyRelu"],
        activation_alpha=[0.3, 0.9, 0.7],
        activation_beta=[0.4, 1.2],
    ),
    _case("large", "LSTM", 4, 3, 10, 132, lengths=[4, 2, 3]),
    _case("float16", "LSTM", 5, 3, 6, 8, "float16", initial=True),
    _case("float16_two_steps", "LSTM", 2, 3, 6, 8, "float16", initial=True, lengths=[2, 1, 0]),
    _case("bfloat16", "LSTM", 3, 2, 6, 8, "bfloat16", opset=22, initial=True),
    _case("bfloat16_two_steps", "LSTM", 2, 2, 6, 5, "bfloat16", opset=22, initial=True),
    _case("float64", "LSTM", 5, 9, 6, 9, "float64", initial=True, peepholes=True),
    _case("float64_two_steps", "LSTM", 2, 9, 6, 8, "float64", initial=True),
]

GRU = [
    _case("one_unit", "GRU", 4, 1, 1, 1, bias=False),
    _case("one_step", "GRU", 1, 3, 5, 6, initial=True),
    _case("linear_before_reset", "GRU", 5, 3, 5, 8, initial=True, linear_before_reset=1),
    _case("linear_one_step", "GRU", 1, 3, 5, 8, opset=7, linear_before_reset=1),
    _case("no_steps", "GRU", 0, 2, 4, 4, initial=True),
    _case(
        "bidirectional_lengths",
        "GRU",
        *(6, 10, 3, 12),
        direction="bidirectional",
        lengths=[6, 0, 3, 1, 5, 6, 2, 4, 6, 3],
        initial=True,
        opset=22,
    ),
    _case("two_steps_lengths", "GRU", 2, 3, 4, 5, lengths=[0, 2, 1], initial=True, layout=1),
    _case(
        "functions",
        "GRU",
        *(2, 2, 5, 6),
        direction="bidirectional",
        activations=["HardSigmoid", "Affine", "Sigmoid", "Softplus"],
        activation_alpha=[0.3, 0.9],
        activation_beta=[0.4, -0.2],
        clip=1.5,
    ),
    _case("float16", "GRU", 5, 3, 6, 8, "float16", initial=True),
    _case("bfloat16", "GRU", 3, 2, 6, 8, "bfloat16", opset=22, initial=True),
    _case("float64", "GRU", 2, 3, 6, 8, "float64", initial=True),
]

RNN = [
    _case("one_unit", "RNN", 4, 1, 1, 1, bias=False),
    _case("many_rows", "RNN", 3, 140, 2, 3, lengths=[i % 4 for i in range(140)]),
    _case("one_step", "RNN", 1, 2, 5, 6, opset=7, initial=True),
    _case("no_steps_large", "RNN", 0, 2, 4, 260, initial=True),
    _case("reverse", "RNN", 4, 2, 5, 8, direction="reverse", opset=22, initial=True),
    _case(
        "functions",
        "RNN",
        *(3, 2, 5, 6),
        direction="bidirectional",
        activations=["ThresholdedRelu", "Relu"],
        activation_alpha=[0.25],
    ),
    _case("float64", "RNN", 3, 9, 6, 8, "float64", initial=True),
]

CASES = [*LSTM, *GRU, *RNN]
