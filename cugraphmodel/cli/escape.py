"""Text from a model's file on a terminal."""

from __future__ import annotations

__all__ = ["escaped"]


def escaped(line: str) -> str:
    """A line for a terminal: names from a model's file may hold what moves its cursor."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
