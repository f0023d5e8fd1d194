"""Cases of the optimizers; the right answers are the operators' pseudocode in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES", "OPTIMIZERS", "optimizer_case"]

Step = Callable[..., list[Array]]


def _stored(attributes: dict[str, Any]) -> dict[str, Any]:
    """As a model file holds them: in single precision."""
    return {k: float(np.float32(v)) if isinstance(v, float) else v for k, v in attributes.items()}


def _adagrad(
    rate: Array, updates: Array, x: Array, gradient: Array, squares: Array, *,
    decay_factor: float = 0, epsilon: float = float(np.float32(1e-6)), norm_coefficient: float = 0,
) -> list[Array]:  # fmt: skip
    slope = norm_coefficient * x + gradient
    square = squares + slope * slope
    step = rate / (1 + updates * decay_factor)
    return [x - step * slope / (np.sqrt(square) + epsilon), square]


def _adam(
    rate: Array, updates: Array, x: Array, gradient: Array, average: Array, squares: Array, *,
    alpha: float, beta: float, epsilon: float, norm_coefficient: float = 0,
    norm_coefficient_post: float = 0,
) -> list[Array]:  # fmt: skip
    slope = norm_coefficient * x + gradient
    mean = alpha * average + (1 - alpha) * slope
    square = beta * squares + (1 - beta) * slope * slope
    step = rate * np.sqrt(1 - beta**updates) / (1 - alpha**updates) if updates > 0 else rate
    moved = x - step * mean / (np.sqrt(square) + epsilon)
    return [(1 - norm_coefficient_post) * moved, mean, square]


def _momentum(
    rate: Array, updates: Array, x: Array, gradient: Array, velocity: Array, *,
    alpha: float, beta: float, norm_coefficient: float, mode: str,
) -> list[Array]:  # fmt: skip
    slope = norm_coefficient * x + gradient
    moving = alpha * velocity + (beta if updates > 0 else 1) * slope
    return [x - rate * (slope + alpha * moving if mode == "nesterov" else moving), moving]


def optimizer_case(
    name: str, step: Step, num_kinds: int, shapes: list[tuple[int, ...]], updates: int,
    dtype: str = "float32", rate_dtype: str = "float32", **attributes: Any,
) -> OpCase:  # fmt: skip
    """``num_kinds`` tensors for each of the shapes; what sums up squares is positive."""
    stored = _stored(attributes)
    tensors = []
    for kind in range(num_kinds):
        data = [OpCase.random(10 * kind + k, *shape, dtype=dtype) for k, shape in enumerate(shapes)]
        tensors += [np.abs(array) for array in data] if kind == num_kinds - 1 else data

    def expected(rate: Array, updates: Array, *given: Array) -> list[Array]:
        wide = [array.astype(np.float64) for array in given]
        count = len(shapes)
        results = [
            step(rate.astype(np.float64), updates, *wide[first::count], **stored)
            for first in range(count)
        ]
        return [result[kind] for kind in range(num_kinds - 1) for result in results]

    op_type = step.__name__.removeprefix("_").capitalize()
    inputs = [np.array(0.1, rate_dtype), np.array(updates), *tensors]
    num_outputs = (num_kinds - 1) * len(shapes)
    return OpCase(
        name, op_type, inputs, stored, 1, num_outputs=num_outputs, expected=expected,
        domain="ai.onnx.preview.training",
    )  # fmt: skip


OPTIMIZERS: dict[str, tuple[Step, int]] = {
    "Adagrad": (_adagrad, 3),
    "Adam": (_adam, 4),
    "Momentum": (_momentum, 3),
}
"""Name -> one step, and how many tensors come for each optimized one."""

CASES = [
    optimizer_case("first", _adagrad, 3, [(3, 5)], 0, norm_coefficient=0.01, epsilon=1e-4),
    optimizer_case("defaults", _adagrad, 3, [(70, 9)], 3),
    optimizer_case("two", _adagrad, 3, [(4,), (2, 3)], 7, decay_factor=0.1, dtype="float64"),
    optimizer_case("first", _adam, 4, [(3, 5)], 0, alpha=0.95, beta=0.1, epsilon=1e-2),
    optimizer_case(
        "later",
        _adam,
        4,
        [(300,)],
        5,
        alpha=0.9,
        beta=0.99,
        epsilon=1e-5,
        norm_coefficient=0.01,
        norm_coefficient_post=0.02,
    ),
    optimizer_case(
        "two", _adam, 4, [(2, 2), ()], 2, "float64", "float64", alpha=0.9, beta=0.9, epsilon=0.1
    ),
    optimizer_case(
        "standard",
        _momentum,
        3,
        [(2, 7)],
        0,
        alpha=0.95,
        beta=0.1,
        norm_coefficient=0.001,
        mode="standard",
    ),
    optimizer_case(
        "nesterov",
        _momentum,
        3,
        [(5,), (0, 2), (3,)],
        4,
        alpha=0.95,
        beta=0.85,
        norm_coefficient=0.01,
        mode="nesterov",
    ),
    optimizer_case(
        "mixed_types",
        _momentum,
        3,
        [(9,)],
        1,
        "float64",
        alpha=0.5,
        beta=0.5,
        norm_coefficient=0.0,
        mode="standard",
    ),
]
