"""What the commands have in common when they tell of a graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cugraphmodel.executors import open_device
from cugraphmodel.graph_model import CudaGraphModel

__all__ = ["graph_facts", "graph_text", "in_units", "memory_text", "print_or_write"]


def in_units(num_bytes: int) -> str:
    """Bytes for people: ``"150.6 KiB"``."""
    size = float(num_bytes)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"


def graph_facts(graph: CudaGraphModel) -> dict[str, Any]:
    """Device, kernels and bytes of a graph, ready for JSON."""
    return {
        "device": graph.device,
        "device_description": open_device(graph.device).description,
        "precision": graph.precision,
        "num_kernels": graph.num_kernels,
        **graph.memory,
    }


def memory_text(weight_bytes: int, arena_bytes: int, staging_bytes: int) -> str:
    """What a graph holds, for people."""
    return (
        f"weights {in_units(weight_bytes)}, arena {in_units(arena_bytes)}, "
        f"staging {in_units(staging_bytes)}"
    )


def graph_text(facts: dict[str, Any]) -> str:
    """The same for people."""
    memory = memory_text(facts["weight_bytes"], facts["arena_bytes"], facts["staging_bytes"])
    return (
        f"device    {facts['device']}: {facts['device_description']}\n"
        f"graph     {facts['num_kernels']} kernels in one launch, {facts['precision']}\n"
        f"memory    {memory}"
    )


def print_or_write(facts: Mapping[str, Any], text: str, file: str | None) -> None:
    """Print the text and write the facts to ``file`` as JSON; print them alone if it is ``"-"``."""
    if file == "-":
        print(json.dumps(facts))
        return
    if file is not None:
        Path(file).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(text)
