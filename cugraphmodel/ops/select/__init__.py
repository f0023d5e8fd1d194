"""Operators whose output has as many elements as the data decide: NonZero and its kin."""

from cugraphmodel.ops.select import select as select
