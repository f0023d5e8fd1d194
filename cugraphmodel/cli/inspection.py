"""``cugraphmodel inspect``: what a model holds and what it would run. Needs no device."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from cugraphmodel.cli.escape import escaped
from cugraphmodel.cli.report import in_units, memory_text
from cugraphmodel.errors import CuGraphModelError
from cugraphmodel.front.bind import bind_inputs, resolve_outputs
from cugraphmodel.front.reader import read_model
from cugraphmodel.front.source import SourceModel, TensorInfo
from cugraphmodel.front.trace import trace
from cugraphmodel.ir import Parameters, Value
from cugraphmodel.passes import run_passes
from cugraphmodel.plan import Plan, build_plan

__all__ = ["execute"]


def execute(options: argparse.Namespace) -> None:
    """Print the model; then its plan, or why there is none."""
    source = read_model(options.model)
    problem: CuGraphModelError | None = None
    plan: Plan | None = None
    values: Mapping[str, Value] = {}
    try:
        plan, values = _plan(source, options)
    except CuGraphModelError as error:
        problem = error
    if options.json:
        print(json.dumps(_facts(options.model, source, values, plan, problem, options.plan)))
    else:
        print(_text(source, values, plan, options.plan))
    if problem is not None:
        raise problem


def _plan(source: SourceModel, options: argparse.Namespace) -> tuple[Plan, Mapping[str, Value]]:
    """The plan that ``capture_graph`` would make, and the type of every value it computes."""
    outputs = resolve_outputs(source, options.output_nodes)
    shapes = bind_inputs(source.inputs, options.batch, dict(options.dims), dict(options.shapes))
    traced = trace(
        source,
        Parameters(source.parameters),
        shapes,
        outputs,
        {},
        bounded_outputs=options.bounded_outputs,
    )
    return build_plan(run_passes(traced.graph)), traced.graph.values


def _text(
    source: SourceModel, values: Mapping[str, Value], plan: Plan | None, whole_plan: bool
) -> str:
    num_bytes = sum(array.nbytes for array in source.parameters.values())
    lines = [
        f"{source.name}: {len(source.file_nodes)} nodes, {len(source.parameters)} parameters "
        f"({in_units(num_bytes)})"
    ]
    lines += [f"input     {info}" for info in source.inputs]
    lines += [f"output    {info}" for info in source.outputs]
    for node in source.file_nodes:
        types = [str(values[name]) for name in node.outputs if name in values]
        lines.append(f"{node}" + (f"  ->  {'; '.join(types)}" if types else ""))
    if plan is not None:
        memory = memory_text(plan.weight_bytes, plan.arena_bytes, plan.staging_bytes)
        lines.append(f"plan      {len(plan.steps)} kernels; {memory}")
        if whole_plan:
            lines += str(plan).split("\n")
    return "\n".join(map(escaped, lines))


def _facts(
    path: str,
    source: SourceModel,
    values: Mapping[str, Value],
    plan: Plan | None,
    problem: CuGraphModelError | None,
    whole_plan: bool,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "model": path,
        "inputs": [_tensor(info) for info in source.inputs],
        "outputs": [_tensor(info) for info in source.outputs],
        "num_parameters": len(source.parameters),
        "parameter_bytes": sum(array.nbytes for array in source.parameters.values()),
        "nodes": [
            {
                "index": node.index,
                "name": node.name,
                "op_type": node.op_type,
                "domain": node.domain,
                "inputs": list(node.inputs),
                "outputs": [
                    _tensor(values[name]) if name in values else {"name": name}
                    for name in node.outputs
                ],
            }
            for node in source.file_nodes
        ],
        "plan": None,
        "problem": None if problem is None else str(problem),
    }
    if plan is not None:
        facts["plan"] = {
            "num_kernels": len(plan.steps),
            "weight_bytes": plan.weight_bytes,
            "arena_bytes": plan.arena_bytes,
            "staging_bytes": plan.staging_bytes,
        }
        if whole_plan:
            facts["plan"]["kernels"] = [
                {"node": step.node.index, "launch": str(step.launch)} for step in plan.steps
            ]
    return facts


def _tensor(info: TensorInfo | Value) -> dict[str, Any]:
    return {
        "name": info.name,
        "dtype": None if info.dtype is None else info.dtype.name,
        "shape": None if info.shape is None else list(info.shape),
    }
