"""``cugraphmodel check``: look for faults in the kernels that a model runs. Needs no GPU."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from cugraphmodel.cli.arrays import random_array
from cugraphmodel.cli.escape import escaped
from cugraphmodel.cli.progress import progress_bar
from cugraphmodel.errors import CuGraphModelError, KernelCheckError
from cugraphmodel.executors.host import HostDevice, HostExecutable
from cugraphmodel.front.bind import bind_inputs, resolve_outputs
from cugraphmodel.front.reader import read_model
from cugraphmodel.front.trace import trace
from cugraphmodel.ir import Parameters
from cugraphmodel.passes import run_passes
from cugraphmodel.plan import build_plan

__all__ = ["execute"]

_FACTS = ("kind", "kernel", "block", "thread", "memory", "file", "line")


class FaultsFoundError(CuGraphModelError):
    """The check found something; what it is went to stdout."""


def execute(options: argparse.Namespace) -> None:
    """Print the findings.

    Raises:
        FaultsFoundError: there are some.
    """
    executable, num_launches = _prepared(options)
    rng = np.random.default_rng(options.random)
    for view in executable.inputs:
        view[...] = random_array(rng, view.dtype, view.shape)
    found = executable.findings()
    executable.close()
    if options.json:
        findings = [_facts(error) for error in found]
        facts = {"model": options.model, "num_kernels": num_launches, "findings": findings}
        print(json.dumps(facts))
    else:
        print(
            "\n".join(
                [
                    *(escaped(str(error)) for error in found),
                    f"{num_launches} kernels, {len(found)} findings",
                ]
            )
        )
    if found:
        raise FaultsFoundError(f"{len(found)} of {num_launches} kernels have a fault.")


def _prepared(options: argparse.Namespace) -> tuple[HostExecutable, int]:
    """The plan that ``capture_graph`` would make, in the check mode, and its launches."""
    source = read_model(options.model)
    outputs = resolve_outputs(source, options.output_nodes)
    shapes = bind_inputs(source.inputs, options.batch, dict(options.dims), dict(options.shapes))
    parameters = Parameters(source.parameters)
    traced = trace(source, parameters, shapes, outputs, {}, bounded_outputs=options.bounded_outputs)
    plan = build_plan(run_passes(traced.graph))
    device = HostDevice(checked=True)
    with progress_bar() as progress:
        executable = device.prepare(
            plan, device.weight_store(), parameters, capture=True, progress=progress
        )
    return executable, len(plan.steps)


def _facts(error: KernelCheckError) -> dict[str, Any]:
    return {"message": str(error), **{name: getattr(error, name) for name in _FACTS}}
