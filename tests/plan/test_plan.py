"""Plans: every value is where its readers look for it, whatever memory is taken again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from cugraphmodel.arena import ALIGNMENT, align
from cugraphmodel.errors import UnsupportedModelError
from cugraphmodel.ir import Graph
from cugraphmodel.plan import Plan, build_plan
from tests.plan.simulation import GraphBuilder, Replay, graphs, own_operators


def planned(graph: Graph, *, reuse_memory: bool = True) -> Plan:
    with own_operators():
        return build_plan(graph, reuse_memory=reuse_memory)


@given(graphs())
def test_every_byte_is_what_its_reader_expects(graph: Graph) -> None:
    plan = planned(graph)
    replay = Replay(graph, plan)
    replay.run()
    replay.run()


@given(graphs())
def test_without_reuse_nothing_is_overwritten_either(graph: Graph) -> None:
    plan = planned(graph, reuse_memory=False)
    Replay(graph, plan).run()
    assert plan.arena_bytes >= planned(graph).arena_bytes


@given(graphs())
def test_a_plan_is_the_same_every_time(graph: Graph) -> None:
    first, again = planned(graph), planned(graph)
    assert str(first) == str(again)
    assert first.slots == again.slots
    assert first.arena_bytes == again.arena_bytes


@given(graphs())
def test_totals_are_the_sums_of_their_parts(graph: Graph) -> None:
    plan = planned(graph)
    ends = [slot.end for slot in plan.slots.values()]
    ends += [slot.end for step in plan.steps for slot in step.workspaces.values()]
    assert plan.arena_bytes == align(max(ends, default=0))
    assert plan.staging_bytes == sum(align(v.num_bytes) for v in (*plan.inputs, *plan.outputs))
    assert {slot.offset % ALIGNMENT for slot in plan.slots.values()} <= {0}
    assert [value.name for value in plan.inputs] == list(graph.inputs)
    assert [value.name for value in plan.outputs] == list(graph.outputs)


def test_a_chain_needs_two_buffers_however_long() -> None:
    build = GraphBuilder()
    last = build.input(1000)
    for _ in range(30):
        last = build.node("Kernel", [last], 1000)
    assert planned(build.graph(last)).arena_bytes == 2 * align(1000)


def test_a_requested_value_in_the_middle_survives_to_the_end() -> None:
    build = GraphBuilder()
    last = middle = build.node("Kernel", [build.input(1000)], 1000)
    for _ in range(10):
        last = build.node("Kernel", [last], 1000)
    plan = planned(build.graph(middle, last))
    assert plan.arena_bytes == 3 * align(1000)
    assert plan.slots[middle] != plan.slots[last]


def test_a_view_keeps_the_memory_of_its_base_alive() -> None:
    build = GraphBuilder()
    base = build.node("Kernel", [build.input(500)], 500)
    view = build.view(build.view(base))
    other = build.node("Kernel", [build.node("Kernel", [base], 500)], 500)
    graph = build.graph(build.node("Kernel", [view, other], 500))
    plan = planned(graph)
    assert plan.slots[view] == plan.slots[base]
    Replay(graph, plan).run()


def test_an_output_that_is_a_view_of_an_input_costs_nothing() -> None:
    build = GraphBuilder()
    source = build.input(500)
    view = build.view(source)
    plan = planned(build.graph(view, source, view))
    assert plan.steps == ()
    assert plan.arena_bytes == align(500)
    assert plan.slots[view] == plan.slots[source]


def test_a_view_of_a_constant_is_that_constant() -> None:
    build = GraphBuilder()
    constant = build.constant(100)
    view = build.view(constant)
    plan = planned(build.graph(view, constant))
    assert plan.constants[view] is plan.constants[constant]
    assert plan.arena_bytes == 0


def test_unread_constants_are_left_out_and_shared_ones_counted_once() -> None:
    build = GraphBuilder()
    shared = [build.constant(100, key="shared"), build.constant(100, key="shared")]
    build.constant(10_000)
    plan = planned(build.graph(build.node("Kernel", shared, 4)))
    assert set(plan.constants) == set(shared)
    assert plan.weight_bytes == align(100)


def test_a_node_whose_outputs_are_all_empty_does_not_run() -> None:
    build = GraphBuilder()
    empty = build.node("Kernel", [build.input(4)], 0)
    graph = build.graph(empty, build.node("Kernel", [empty], 8))
    plan = planned(graph)
    assert [step.node.index for step in plan.steps] == [1]
    Replay(graph, plan).run()


def test_workspaces_of_different_nodes_share_memory() -> None:
    build = GraphBuilder()
    last = build.input(4)
    for _ in range(5):
        last = build.node("TwoStages", [last], 4, scratch_bytes=5000)
    plan = planned(build.graph(last))
    assert len(plan.steps) == 10
    assert plan.arena_bytes == align(5000) + align(4)  # input read in stage 1, output in stage 2


def test_the_error_word_is_asked_for_by_steps_that_report() -> None:
    build = GraphBuilder()
    source = build.input(4)
    quiet = build.node("Kernel", [source], 4)
    assert not planned(build.graph(quiet)).uses_error_word
    assert planned(build.graph(build.node("Kernel", [source], 4, indexes=1))).uses_error_word


def test_all_nodes_that_cannot_be_launched_are_in_one_error() -> None:
    build = GraphBuilder()
    source = build.input(4)
    outputs = [build.node(kind, [source], 4) for kind in ("Rejected", "Kernel", "TooLarge")]
    with pytest.raises(UnsupportedModelError) as caught:
        planned(build.graph(*outputs))
    text = str(caught.value)
    assert "node 0 (Rejected, opset 1): It does not fit." in text
    assert "node 2 (TooLarge, opset 1): large: grid (2147483648, 1, 1)" in text
    assert len(caught.value.problems) == 2


def test_the_text_of_a_plan_tells_what_runs_where() -> None:
    build = GraphBuilder()
    weight = build.constant(16)
    text = str(planned(build.graph(build.node("Kernel", [build.input(300), weight], 20))))
    assert text.splitlines()[0] == "arena 768 B, weights 256 B, staging 768 B, 1 kernels"
    assert "node 0 (Kernel): kernel<> grid=(1, 1, 1) block=(32, 1, 1)" in text
    assert "uint8[16]  (constant)" in text
    assert np.all([name in text for name in ("input0", "constant0", "n0.0")])
