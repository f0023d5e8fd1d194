"""Operators that move elements without computing with them, and those that make index patterns."""

from cugraphmodel.ops.movement import copies as copies
