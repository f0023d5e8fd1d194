"""Where the tensors of an attention lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cugraphmodel.ir import TensorType, Value
from cugraphmodel.ops.arguments import optional
from cugraphmodel.ops.launch import dims
from cugraphmodel.ops.spec import Unsupported

__all__ = ["MAX_HEAD_SIZE", "MAX_LEAD_AXES", "AttentionLayout", "Place"]

MAX_HEAD_SIZE = 256
MAX_LEAD_AXES = 4


@dataclass(frozen=True)
class Place:
    """Where [*lead, rows, columns] lies in a tensor's memory, in elements.

    Attributes:
        lead: strides of the leading axes; 0 where the tensor is broadcast.
        row, column: strides of the last two axes.
        offset: of the first element.
    """

    lead: tuple[int, ...]
    row: int
    column: int
    offset: int = 0

    def struct(self) -> npt.NDArray[np.int64]:
        """The kernel's argument."""
        lead = (*[0] * (MAX_LEAD_AXES - len(self.lead)), *self.lead)
        return dims(*lead, self.row, self.column, self.offset)

    def fits(self, sizes: Sequence[int], num_elements: int) -> bool:
        """Whether [*sizes] lies within so many elements."""
        strides = (*self.lead, self.row, self.column)
        reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        return min(self.offset, *strides) >= 0 and self.offset + reach < num_elements


@dataclass(frozen=True)
class AttentionLayout:
    """Sizes of an attention, and where its tensors lie: ``layout`` of a FusedAttention.

    Attributes:
        lead: sizes of the leading axes (batch, head ...), at most ``MAX_LEAD_AXES``.
        num_rows, num_keys: queries, and keys, of one head.
        depth, width: elements of a query or key, and of a value; at most ``MAX_HEAD_SIZE``.
        query, key, value, output: places.
        keep: place, or None.
        biases: places of at most two.
    """

    lead: tuple[int, ...]
    num_rows: int
    num_keys: int
    depth: int
    width: int
    query: Place
    key: Place
    value: Place
    output: Place
    keep: Place | None = None
    biases: tuple[Place, ...] = ()

    @property
    def num_lines(self) -> int:
        """Rows of all heads."""
        return math.prod(self.lead) * self.num_rows

    def lead_struct(self) -> npt.NDArray[np.int64]:
        """The kernel's argument."""
        return dims(*[1] * (MAX_LEAD_AXES - len(self.lead)), *self.lead)

    def check(self, inputs: Sequence[Value | None], output: TensorType) -> None:
        """Compare with the tensors.

        Raises:
            Unsupported: it has a size that the kernel does not take, or leaves a tensor.
        """
        sizes = (self.num_rows, self.num_keys, self.depth, self.width)
        if min(*sizes, *self.lead, 1) < 1 or max(sizes) >= 2**31 or math.prod(self.lead) >= 2**31:
            raise Unsupported(f"The sizes {sizes} are outside the kernel's.")
        if max(self.depth, self.width) > MAX_HEAD_SIZE or len(self.lead) > MAX_LEAD_AXES:
            raise Unsupported(f"Heads of {self.depth} and {self.width} elements are too large.")
        rows, keys = (*self.lead, self.num_rows), (*self.lead, self.num_keys)
        scores = (*rows, self.num_keys)
        placed = [
            (self.query, (*rows, self.depth), optional(inputs, 0)),
            (self.key, (*keys, self.depth), optional(inputs, 1)),
            (self.value, (*keys, self.width), optional(inputs, 2)),
            (self.output, (*rows, self.width), output),
        ]
        masks = enumerate((self.keep, *self.biases), 4)
        placed += [
            (place, scores, optional(inputs, position))
            for position, place in masks
            if place is not None
        ]
        for place, shape, tensor in placed:
            if tensor is None or not place.fits(shape, tensor.size):
                raise Unsupported(f"{place} of {shape} is not within {tensor}.")
