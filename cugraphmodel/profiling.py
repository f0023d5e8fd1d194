"""Where the time of a captured graph goes, beside what each node must do at the least."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from cugraphmodel.cost import Rates, floor_us, node_bytes, node_flops
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.plan import Plan

__all__ = ["KernelTime", "NodeProfile", "Profile", "profile_of"]


@dataclass(frozen=True)
class KernelTime:
    """One launch of a graph.

    Attributes:
        kernel: name of its entry point.
        us: microseconds.
    """

    kernel: str
    us: float


@dataclass(frozen=True)
class NodeProfile:
    """One node of a graph after all fusions.

    Attributes:
        index: of the node in the file that it stands for, -1 for none.
        name: the node's name in the file, possibly empty.
        op_type: the operator that was lowered, ``FusedConv``, say.
        output: dtype and shape of its first output.
        kernels: its launches, in order.
        flops: floating-point operations, None where nobody counts them.
        num_bytes: each input, weight and output once.
        floor_us: microseconds that flops and bytes take at the least, None without rates.
    """

    index: int
    name: str
    op_type: str
    output: str
    kernels: tuple[KernelTime, ...]
    flops: int | None
    num_bytes: int
    floor_us: float | None

    @property
    def us(self) -> float:
        """Microseconds of all its kernels."""
        return sum(kernel.us for kernel in self.kernels)

    @property
    def share_of_floor(self) -> float | None:
        """The floor as a share of the time; at 1 it could be no faster. None without rates."""
        return None if self.floor_us is None or self.us == 0 else self.floor_us / self.us


@dataclass(frozen=True)
class Profile:
    """The nodes of a graph with their times; print it, or let a notebook show it.

    Each kernel was timed alone, again and again. So what it reads is in the caches if it fits
    there, and the sum is not the time of a run, in which kernels follow each other.

    Attributes:
        device: what it was measured on.
        nodes: those that run something, in order of execution.
    """

    device: str
    nodes: tuple[NodeProfile, ...]

    @property
    def us(self) -> float:
        """Microseconds of all kernels."""
        return sum(node.us for node in self.nodes)

    @property
    def floor_us(self) -> float | None:
        """Sum of the nodes' floors, None without rates."""
        floors = [node.floor_us for node in self.nodes if node.floor_us is not None]
        return sum(floors) if len(floors) == len(self.nodes) else None

    def by_time(self) -> Profile:
        """The same, the slowest node first."""
        return replace(self, nodes=tuple(sorted(self.nodes, key=lambda node: -node.us)))

    def rows(self) -> list[tuple[str, ...]]:
        """The table as text: a head, a row for each kernel, and the total.

        What a node does stands in the row of the first of its kernels; the floor and its share
        are left out without rates.
        """
        with_floor = self.floor_us is not None
        head = (
            "node",
            "op",
            "output",
            "kernel",
            "us",
            "share",
            "MFLOP",
            "MB",
            "floor us",
            "of floor",
        )
        rows = [head, *(row for node in self.nodes for row in self._node_rows(node))]
        flops = sum(node.flops or 0 for node in self.nodes)
        num_bytes = sum(node.num_bytes for node in self.nodes)
        num_kernels = sum(len(node.kernels) for node in self.nodes)
        whole = (KernelTime("", self.us),)
        work = _work(NodeProfile(-1, "", "", "", whole, flops, num_bytes, self.floor_us))
        rows.append(("total", "", "", f"{num_kernels} kernels", f"{self.us:.2f}", "", *work))
        return rows if with_floor else [row[:8] for row in rows]

    def _node_rows(self, node: NodeProfile) -> list[tuple[str, ...]]:
        label = " ".join(filter(None, (str(node.index) if node.index >= 0 else "", node.name)))
        rows: list[tuple[str, ...]] = []
        for kernel in node.kernels:
            share = f"{kernel.us / self.us:.1%}" if self.us else ""
            times = (kernel.kernel, f"{kernel.us:.2f}", share)
            if rows:
                rows.append(("", "", "", *times, "", "", "", ""))
            else:
                rows.append((label, node.op_type, node.output, *times, *_work(node)))
        return rows

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self.device]
        for row in rows:
            cells = [
                cell.ljust(width) if column < 4 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        head, *body = self.rows()
        lines = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in body]
        return (
            f"{html.escape(self.device)}<table>"
            f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"
            f"{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
        )


def _work(node: NodeProfile) -> tuple[str, str, str, str]:
    """Operations, bytes, floor and its share, for people."""
    share = node.share_of_floor
    return (
        "" if node.flops is None else f"{node.flops / 1e6:.4g}",
        f"{node.num_bytes / 1e6:.4g}",
        "" if node.floor_us is None else f"{node.floor_us:.2f}",
        "" if share is None else f"{share:.0%}",
    )


def profile_of(
    plan: Plan, step_times_ms: Sequence[float], device: str, rates: Rates | None
) -> Profile:
    """The profile of a plan whose steps took so long.

    Args:
        plan: the plan.
        step_times_ms: milliseconds of each of its steps.
        device: what they were measured on.
        rates: how fast that could be, None if nobody knows.
    """
    timed = zip(plan.steps, step_times_ms, strict=True)
    nodes = []
    for _, group in groupby(timed, key=lambda pair: id(pair[0].node)):
        launches = list(group)
        node = launches[0][0].node
        kernels = tuple(KernelTime(step.launch.entry, ms * 1e3) for step, ms in launches)
        nodes.append(_node_profile(node, kernels, plan.values, rates))
    return Profile(device, tuple(nodes))


def _type_text(value: Value) -> str:
    return str(TensorType(value.dtype, value.shape))


def _node_profile(
    node: Node,
    kernels: tuple[KernelTime, ...],
    values: Mapping[str, Value],
    rates: Rates | None,
) -> NodeProfile:
    inputs = [
        None if position in node.host_values else values.get(name)
        for position, name in enumerate(node.inputs)
    ]
    outputs = [values.get(name) for name in node.outputs]
    return NodeProfile(
        node.index,
        node.name,
        node.op_type,
        next((_type_text(value) for value in outputs if value is not None), ""),
        kernels,
        node_flops(node, inputs, outputs),
        node_bytes(node, inputs, outputs),
        None if rates is None else floor_us(node, inputs, outputs, rates),
    )
