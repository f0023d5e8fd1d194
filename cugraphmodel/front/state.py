"""State: values that a graph keeps from one run to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from cugraphmodel.errors import ArgumentError, DtypeError, ShapeError
from cugraphmodel.front.bind import resolve_name
from cugraphmodel.front.source import SourceModel
from cugraphmodel.ir import Graph

__all__ = ["bind_state", "check_state", "outputs_beside"]

Array = npt.NDArray[Any]


def bind_state(
    source: SourceModel, given: object, constant_inputs: Mapping[str, Array]
) -> dict[str, str]:
    """Name of each state -> name of the value that takes its place after a run.

    Args:
        source: the model.
        given: input or parameter -> value name or node name, as ``capture_graph`` takes it.
        constant_inputs: the inputs whose value is fixed.

    Raises:
        ArgumentError: a name that the model lacks, or an input that is fixed as well.
        TypeError: not a dict of strings.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"state takes a dict, not {type(given).__name__}.")
    known = [*(info.name for info in source.inputs), *source.parameters]
    found: dict[str, str] = {}
    for name, output in given.items():
        if not isinstance(name, str) or not isinstance(output, str):
            raise TypeError(
                f"state takes names of inputs and of outputs, not {name!r}: {output!r}."
            )
        if name not in known:
            raise ArgumentError(
                f"state names {name!r}, but the inputs are {[info.name for info in source.inputs]}."
            )
        if name in constant_inputs:
            raise ArgumentError(f"input {name!r} is in state and in constant_inputs; choose one.")
        found[name] = resolve_name(source, output)
    return found


def check_state(graph: Graph) -> None:
    """See that each state can take what is to follow it.

    Raises:
        ShapeError, DtypeError: they differ.
    """
    for name, output in graph.state.items():
        state, follower = graph.values[name], graph.values[output]
        both = f"state {state} cannot become output {follower}"
        if state.dtype != follower.dtype:
            raise DtypeError(
                f"{both}: their dtypes differ. Cast the output in the model, or feed it by hand."
            )
        if state.shape != follower.shape:
            raise ShapeError(
                f"{both}: their shapes differ. Give the input that shape with batch_size, dims or "
                "input_shapes, or feed it by hand."
            )


def outputs_beside(outputs: Sequence[str], state: Mapping[str, str]) -> tuple[str, ...]:
    """The model's outputs without those that only feed its state.

    Raises:
        ArgumentError: none is left.
    """
    followers = set(state.values())
    beside = tuple(name for name in outputs if name not in followers)
    if not beside:
        raise ArgumentError(
            f"All outputs {list(outputs)} are state, so nothing is given back; name those to read "
            "in output_node_indices."
        )
    return beside
