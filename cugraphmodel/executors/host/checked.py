"""The check mode's view of a plan: each value on its own, and which bytes something has written."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.arena import ALIGNMENT, Slot, align
from cugraphmodel.errors import KernelCheckError
from cugraphmodel.executors.host.module import Parameter
from cugraphmodel.executors.host.runtime import TensorRecord
from cugraphmodel.ir import Value
from cugraphmodel.plan import Plan, Step

__all__ = ["Marks", "Tensor", "spaced", "tensor_records"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Tensor:
    """Memory that a launch's argument points to.

    Attributes:
        address, num_bytes: the exact range.
        element_bytes: of an element; None: as the kernel's parameter has it.
        marks: address of its bytes' marks in a :class:`Marks`; None: all of it is initialised.
        name: what a finding calls it.
    """

    address: int
    num_bytes: int
    element_bytes: int | None
    marks: int | None
    name: str


def tensor_records(
    tensors: Iterable[tuple[Parameter, Tensor]],
) -> ctypes.Array[TensorRecord]:
    """The tensors of a launch for the runtime; one that is passed twice comes once.

    Args:
        tensors: each with the parameter it is passed for.
    """
    records: dict[tuple[int, int], TensorRecord] = {}
    for parameter, tensor in tensors:
        element_bytes = min(parameter.element_bytes, tensor.element_bytes or 8)
        key = (tensor.address, tensor.num_bytes)
        record = records.setdefault(
            key,
            TensorRecord(
                tensor.address, tensor.num_bytes, tensor.marks, tensor.name.encode(), 8, True
            ),
        )
        record.element_bytes = min(record.element_bytes, element_bytes)
        record.is_const = bool(record.is_const and parameter.is_const)
    return (TensorRecord * len(records))(*records.values())


def spaced(plan: Plan) -> Plan:
    """The plan with no memory used twice and a gap behind every value.

    An index just outside a value then hits no other value, and what a launch left in memory is
    never taken for the data of a later one.
    """
    moved: dict[int, Slot] = {}
    end = 0

    def move(slot: Slot) -> Slot:
        nonlocal end
        if id(slot) not in moved:  # values that share their bytes share the slot object
            moved[id(slot)] = Slot(end, slot.num_bytes)
            end += align(slot.num_bytes) + ALIGNMENT
        return moved[id(slot)]

    slots = {name: move(slot) for name, slot in plan.slots.items()}
    steps = tuple(
        dataclasses.replace(
            step, workspaces={key: move(slot) for key, slot in step.workspaces.items()}
        )
        for step in plan.steps
    )
    return dataclasses.replace(plan, slots=slots, steps=steps, arena_bytes=end)


class Marks:
    """For each byte of a spaced plan's arena whether something in this replay has written it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._marks = np.zeros(plan.arena_bytes, np.uint8)

    def address(self, slot: Slot) -> int:
        """Address of the marks of a slot's bytes."""
        return int(self._marks.ctypes.data) + slot.offset

    def restart(self) -> None:
        """Only the inputs and the state are written."""
        self._marks[:] = 0
        for value in (*self._plan.inputs, *self._plan.state.values()):
            slot = self._plan.slots[value.name]
            self._marks[slot.offset : slot.end] = 1

    def clear_unwritten(self, step: Step, arena: Array) -> None:
        """Take what a step has left unwritten in the arena for zeros that it wrote."""
        slots = [
            self._plan.slots[argument.name]
            for argument in step.launch.args
            if isinstance(argument, Value) and argument.name in self._plan.slots
        ]
        for slot in [*slots, *step.workspaces.values()]:
            marks = self._marks[slot.offset : slot.end]
            arena[slot.offset : slot.end][marks == 0] = 0
            marks[:] = 1

    def unwritten_output(self) -> KernelCheckError | None:
        """A finding for the first output that is not written in full."""
        for value in self._plan.outputs:
            slot = self._plan.slots.get(value.name)
            if slot is None:
                continue
            missing = np.flatnonzero(self._marks[slot.offset : slot.end] == 0)
            if missing.size:
                return _unwritten(value, missing)
        return None


def _unwritten(value: Value, missing: npt.NDArray[np.intp]) -> KernelCheckError:
    return KernelCheckError(
        f"output {value}: initcheck: nobody wrote {missing.size} of its {value.num_bytes} bytes, "
        f"first byte {missing[0]}",
        kind="initcheck",
        kernel=None,
        block=None,
        thread=None,
        memory=value.name,
        file=None,
        line=None,
    )
