"""A chain of elementwise operators stays in registers, however long."""

from __future__ import annotations

import pytest

from cugraphmodel.passes.fuse_elementwise import MAX_STEPS, fuse_elementwise
from cugraphmodel.plan import build_plan
from tests.api.builders import build
from tests.kernels.gate import ARCHITECTURES
from tests.kernels.resources import Compiled, Instance, compile_job
from tests.passes.graphs import graph_of

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

MAX_REGISTERS = 64
"""With which a multiprocessor holds 1024 threads, in blocks of 128."""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["float", "float16"])
def test_a_long_chain_of_many_tensors_stays_in_registers(dtype: str, architecture: str) -> None:
    names = [f"x{k}" for k in range(6)]
    ops = ("Exp", "Mul", "Tanh", "Div", "Sigmoid", "Add", "Erf", "Sub")
    body, value = "", "x0"
    for step in range(MAX_STEPS):
        op_type = ops[step % len(ops)]
        second = f", {names[1 + step // 2 % 5]}" if step % 2 else ""
        body += f"v{step} = {op_type}({value}{second}) "
        value = f"v{step}"
    signature = ", ".join(f"{dtype}[4,3,8] {name}" for name in names)
    model = build(f"({signature}) => ({dtype}[4,3,8] {value})", body)
    (planned,) = build_plan(fuse_elementwise(graph_of(model, (value,)))).steps
    compiled = compile_job((Instance(planned.launch.source, planned.launch.macros), architecture))
    assert isinstance(compiled, Compiled), compiled
    usage = compiled.kernels["elementwise"]
    assert usage.spill_bytes == usage.local_bytes == 0
    assert usage.registers <= MAX_REGISTERS
