"""``cugraphmodel profile``: where the time of a captured model goes, kernel by kernel."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any, get_args

import numpy as np

from cugraphmodel.cli.arrays import fill_inputs, read_inputs
from cugraphmodel.cli.escape import escaped
from cugraphmodel.cli.progress import progress_bar
from cugraphmodel.cli.report import graph_facts, print_or_write
from cugraphmodel.cost import Rates, rates_of
from cugraphmodel.errors import ArgumentError
from cugraphmodel.executors import open_device
from cugraphmodel.graph_model import CudaGraphModel
from cugraphmodel.model import load
from cugraphmodel.ops.matmul.tensor_core import Arithmetic
from cugraphmodel.profiling import NodeProfile, Profile

__all__ = ["execute"]

SCHEMA = 1


def execute(options: argparse.Namespace) -> None:
    """Capture, time every kernel, print the table."""
    model = load(options.model, device=options.device)
    given = read_inputs(options.inputs, [info.name for info in model.inputs])
    shapes = {name: array.shape for name, array in given.items()}
    with progress_bar() as progress:
        graph = model.capture_graph(
            options.batch,
            options.output_nodes,
            dims=dict(options.dims),
            input_shapes={**shapes, **dict(options.shapes)},
            bounded_outputs=options.bounded_outputs,
            precision=options.precision,
            progress=progress,
        )
    with graph:
        rates = _rates(graph, options)
        arrays = fill_inputs(graph.plan.inputs, given, options.random)
        graph.run(arrays)
        profile = graph.profile(options.repeats, rates)
        run_us = float(np.median([graph.run_timed_inplace() for _ in range(options.repeats)])) * 1e3
        facts = _facts(options, graph, profile, run_us)
    if options.sort == "time":
        profile = profile.by_time()
    lines = [*map(escaped, str(profile).split("\n")), *_notes(profile, run_us)]
    print_or_write(facts, "\n".join(lines), options.json)


def _rates(graph: CudaGraphModel, options: argparse.Namespace) -> Rates | None:
    """What is known of the device, and what the user says about it.

    Raises:
        ArgumentError: ``--tflops`` for a device whose bandwidth nobody said.
    """
    known = rates_of(open_device(graph.device).description)
    bandwidth = options.bandwidth or (known.bandwidth if known else None)
    tflops = known.tflops if known else {}
    if options.tflops is not None:
        tflops = dict.fromkeys(("fma", *get_args(Arithmetic)), options.tflops)
    if bandwidth is None:
        if options.tflops is not None:
            raise ArgumentError("--tflops alone gives no floor here; pass --bandwidth as well.")
        return None
    return Rates(bandwidth, tflops)


def _facts(
    options: argparse.Namespace, graph: CudaGraphModel, profile: Profile, run_us: float
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "model": options.model,
        "commit": options.commit,
        "repeats": options.repeats,
        **graph_facts(graph),
        "run_us": run_us,
        "us": profile.us,
        "floor_us": profile.floor_us,
        "nodes": [_node_facts(node) for node in profile.nodes],
    }


def _node_facts(node: NodeProfile) -> dict[str, Any]:
    return {**asdict(node), "us": node.us, "share_of_floor": node.share_of_floor}


def _notes(profile: Profile, run_us: float) -> list[str]:
    notes = [f"all kernels of a run, one after the other: {run_us:.2f} us (median)"]
    if profile.floor_us is None:
        notes.append("no floor: this device's rates are not known; pass --tflops and --bandwidth")
    return notes
