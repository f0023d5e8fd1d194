"""What an operator is to this library: a shape rule, a way to launch it, and how it is looked up.

An op family registers its :class:`OpSpec` objects at the bottom of its module. Two versions of an
operator are two specs; the newest one that is not newer than the model's opset is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.launch import Launch

__all__ = ["OpSpec", "Unsupported", "find", "register", "registered"]


class Unsupported(Exception):
    """Raised by a shape rule or a lowering: this node cannot run.

    Its text says why in a full sentence, without the node's name; the caller collects these and
    reports all nodes at once.
    """


@dataclass(frozen=True)
class OpSpec:
    """One operator from one opset version on.

    Attributes:
        op_type, domain, since_version: as in the ONNX operator list.
        infer: ``(node, inputs) -> outputs``: dtype and shape of each output. ``inputs`` holds None
            where an optional input is left out. Raises :class:`Unsupported` for what the
            operator's kernels do not cover.
        lower: ``(node, inputs, outputs) -> launches``, in order. A pure function of its
            arguments. For a view it makes the outputs after the first, which is None.
        host_inputs: positions of inputs whose values must be known at capture time; they come in
            ``node.host_values`` and are not device arguments.
        is_view: the first output has the bytes of the first input, so nothing runs.
        tables: ``node -> arrays`` that the kernels read, made of attributes: a tree, say. They come
            as inputs after the node's own. Raises :class:`Unsupported` for what makes no table.
        alternatives: ``(node, inputs) -> attributes``: sets of attributes with each of which
            ``lower`` gives other launches for the same result, the first being what it gives
            without any. Measuring chooses among them.
    """

    op_type: str
    since_version: int
    infer: Callable[[Node, Sequence[Value | None]], Sequence[TensorType]]
    lower: Callable[[Node, Sequence[Value | None], Sequence[Value | None]], Sequence[Launch]]
    host_inputs: tuple[int, ...] = ()
    is_view: bool = False
    domain: str = ""
    tables: Callable[[Node], Sequence[npt.NDArray[Any]]] | None = None
    alternatives: Callable[[Node, Sequence[Value | None]], Sequence[Mapping[str, Any]]] | None = (
        None
    )


_SPECS: dict[tuple[str, str], dict[int, OpSpec]] = {}


def register(*specs: OpSpec) -> None:
    """Make operators known. The same operator and version twice is an error."""
    for spec in specs:
        versions = _SPECS.setdefault((spec.domain, spec.op_type), {})
        if spec.since_version in versions:
            raise ValueError(f"{spec.op_type} {spec.since_version} is registered twice")
        versions[spec.since_version] = spec


def find(domain: str, op_type: str, version: int) -> OpSpec | None:
    """The newest spec that is not newer than ``version``, or None."""
    versions = _SPECS.get((domain, op_type), {})
    fitting = [since for since in versions if since <= version]
    return versions[max(fitting)] if fitting else None


def registered() -> tuple[OpSpec, ...]:
    """All specs, ordered by domain, name and version."""
    return tuple(
        spec for _, versions in sorted(_SPECS.items()) for _, spec in sorted(versions.items())
    )
