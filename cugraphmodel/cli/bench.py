"""``cugraphmodel bench``: a model here and in other runtimes, on the same inputs, taking turns."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from cugraphmodel.bench.answers import Answer, kept_answer, right_answer
from cugraphmodel.bench.lane import LaneError, ProcessLane
from cugraphmodel.bench.onnx_runtime import OrtBound, OrtGraph, OrtRun
from cugraphmodel.bench.ours import Ours
from cugraphmodel.bench.pytorch import TorchCompiled, TorchEager, TorchGraph
from cugraphmodel.bench.reference import error_of
from cugraphmodel.bench.rounds import OURS, Row, facts_of, peer_precision, take_turns
from cugraphmodel.bench.task import Array, Maker, Task
from cugraphmodel.cli import environment
from cugraphmodel.cli.arrays import fill_inputs, read_inputs
from cugraphmodel.cli.escape import escaped
from cugraphmodel.cli.report import print_or_write
from cugraphmodel.errors import ArgumentError
from cugraphmodel.executors import open_device
from cugraphmodel.executors.base import Device
from cugraphmodel.front.bind import bind_inputs, resolve_outputs
from cugraphmodel.front.reader import read_model
from cugraphmodel.front.trace import trace
from cugraphmodel.ir import Parameters
from cugraphmodel.passes import Precision, numerics_of

__all__ = ["execute"]

SCHEMA = 1
ON_CPU: Mapping[str, Maker] = {"onnxruntime": OrtRun, "torch": TorchEager}
ON_GPU: Mapping[str, Maker] = {
    "onnxruntime": OrtBound,
    "onnxruntime-graph": OrtGraph,
    "torch": TorchEager,
    "torch-graph": TorchGraph,
    "torch-compile": TorchCompiled,
}
"""Peer -> how it gets a model ready; the part before the hyphen is the package."""


def execute(options: argparse.Namespace) -> None:
    """Prepare every contender, let them take turns, compare."""
    device = open_device(options.device)
    task = _task(options, device)
    precisions = _precisions(options.precision, device)
    peers = _peers(options, device)
    answer = _answer(options, task)
    clocks = [_clocks(device)]
    with _lanes(task, precisions, peers) as rows:
        for row in rows:
            _compare(row, answer.outputs if answer else None)
        take_turns(rows, options.seconds, options.rounds)
        clocks.append(_clocks(device))
    facts = {
        "schema": SCHEMA,
        "model": options.model,
        "commit": options.commit,
        "device": device.name,
        "device_description": device.description,
        "seed": options.random,
        "seconds": options.seconds,
        "rounds": options.rounds,
        "inputs": [
            {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
            for name, array in task.inputs.items()
        ],
        "reference": answer
        and {"by": answer.by, "seconds": answer.seconds, "problems": dict(answer.problems)},
        "rows": [facts_of(row, rows) for row in rows],
        "clocks": {"before": clocks[0], "after": clocks[1]},
        "environment": environment.collect(),
    }
    print_or_write(facts, _text(facts), options.json)


def _task(options: argparse.Namespace, device: Device) -> Task:
    source = read_model(options.model)
    given = read_inputs(options.inputs, [info.name for info in source.inputs])
    sizes = {**{name: array.shape for name, array in given.items()}, **dict(options.shapes)}
    shapes = bind_inputs(source.inputs, options.batch, dict(options.dims), sizes)
    outputs = resolve_outputs(source, None)
    graph = trace(source, Parameters(source.parameters), shapes, outputs, {}).graph
    inputs = fill_inputs([graph.values[name] for name in graph.inputs], given, options.random)
    types = {name: graph.values[name] for name in graph.outputs}
    return Task(options.model, device.name, inputs, types, program=options.torch)


def _answer(options: argparse.Namespace, task: Task) -> Answer | None:
    if options.no_error:
        return None
    if options.reference is None:
        return right_answer(task, _say)
    return kept_answer(Path(options.reference), task, _say)


def _precisions(named: Sequence[Precision] | None, device: Device) -> list[Precision]:
    """Those asked for, or all that compute something else than those before them.

    Raises:
        ArgumentError: one that does not exist, or that the device cannot do.
    """
    capability = device.compute_capability
    if named is not None:
        for precision in named:
            numerics_of(precision, capability)
        return list(named)
    found: dict[Precision, Any] = {}
    for precision in get_args(Precision):
        try:
            numerics = numerics_of(precision, capability)
        except ArgumentError:
            continue
        if numerics not in found.values():
            found[precision] = numerics
    return list(found)


def _peers(options: argparse.Namespace, device: Device) -> dict[str, Maker]:
    """Those asked for, a package standing for all of its; or those that are installed.

    Raises:
        ArgumentError: one that does not exist on the device.
    """
    known = ON_CPU if device.compute_capability is None else ON_GPU
    if options.torch is None:
        known = {name: maker for name, maker in known.items() if _package(name) != "torch"}
    if options.peers is None:
        installed = {_package(name) for name in known if importlib.util.find_spec(_package(name))}
        return {name: maker for name, maker in known.items() if _package(name) in installed}
    wanted = {
        name: maker
        for name, maker in known.items()
        if name in options.peers or _package(name) in options.peers
    }
    unknown = [
        peer for peer in options.peers if not any(peer in (name, _package(name)) for name in known)
    ]
    if unknown:
        hint = "" if options.torch else "; those of PyTorch need --torch FILE.pt2"
        raise ArgumentError(f"--peers: {unknown} is none of {list(known)} here{hint}.")
    return wanted


def _package(peer: str) -> str:
    return peer.split("-")[0]


@contextmanager
def _lanes(
    task: Task, precisions: Sequence[Precision], peers: Mapping[str, Maker]
) -> Iterator[list[Row]]:
    """All contenders, ready or failed; their processes end with the block."""
    plan: list[tuple[str, Precision, Maker]] = [(OURS, precision, Ours) for precision in precisions]
    of_peers = dict.fromkeys(map(peer_precision, precisions))
    if task.gpu is None:
        of_peers = {"fp32": None}
    plan += [(name, precision, maker) for name, maker in peers.items() for precision in of_peers]
    rows: list[Row] = []
    lanes: list[ProcessLane] = []
    try:
        for name, precision, maker in plan:
            row = Row(name, precision)
            rows.append(row)
            _say(f"preparing {name} {precision}")
            try:
                lane = ProcessLane(maker, replace(task, precision=precision))
            except LaneError as error:
                row.fail(error)
                continue
            lanes.append(lane)
            row.lane, row.facts = lane, lane.facts
        yield rows
    finally:
        for lane in lanes:
            lane.close()


def _compare(row: Row, right: Sequence[Array] | None) -> None:
    """The error of one run, if there is a right answer. A wrong shape takes it out of the race."""
    if row.lane is None or right is None:
        return
    try:
        row.error = error_of(row.lane.outputs(), right)
    except LaneError as error:
        row.fail(error)
    except ValueError as error:
        row.fail(LaneError(f"its outputs do not fit: {error}"))


def _clocks(device: Device) -> dict[str, str] | None:
    """Clocks of the GPU now, as ``nvidia-smi`` tells them; None without it or on the CPU."""
    smi = shutil.which("nvidia-smi")
    if device.compute_capability is None or smi is None:
        return None
    fields = ("clocks.sm", "clocks.max.sm", "clocks.mem", "temperature.gpu", "driver_version")
    query = [f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]
    number = device.name.removeprefix("cuda:")
    done = subprocess.run(
        [smi, *query, f"--id={number}"], capture_output=True, text=True, check=False
    )
    values = [value.strip() for value in done.stdout.strip().split(",")]
    return dict(zip(fields, values, strict=True)) if len(values) == len(fields) else None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


COLUMNS = (
    *("contender", "precision", "p50 us", "p99 us", "min us", "kernels us", "error"),
    *("kernels", "device MB", "prepare s", "ours/best"),
)


def _text(facts: Mapping[str, Any]) -> str:
    rows = [COLUMNS, *(_cells(row) for row in facts["rows"] if row["problem"] is None)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    inputs = [f"{i['name']}: {i['dtype']}{i['shape']}" for i in facts["inputs"]]
    lines = [f"{facts['device']}: {facts['device_description']}", *inputs, ""]
    for row in rows:
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines += [
        f"{row['contender']} {row['precision']} failed: {row['problem']}"
        for row in facts["rows"]
        if row["problem"] is not None
    ]
    reference = facts["reference"]
    if reference is not None:
        lines += [
            f"{by} gave no right answer: {text}" for by, text in reference["problems"].items()
        ]
        if reference["by"] is not None:
            lines.append(
                f"error: norm of the difference from {reference['by']} in float64, over norm"
            )
    return "\n".join(map(escaped, lines))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    kernels, error = row["kernels_us"], row["error"]
    return (
        row["contender"],
        row["precision"],
        *(f"{row['run_us'][name]:.1f}" for name in ("p50", "p99", "min")),
        _cell(kernels and kernels["p50"], ".1f"),
        str(error) if isinstance(error, str) else _cell(error, ".1e"),
        _cell(row["num_kernels"], "d"),
        _cell(row["device_bytes"] and row["device_bytes"] / 1e6, ".1f"),
        _cell(row["prepare_seconds"], ".2f"),
        _cell(row["ratio"], ".2f"),
    )


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
