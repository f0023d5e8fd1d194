"""Placement of buffers: never two alive in one place, aligned, and no larger than it must be."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from cugraphmodel.arena import ALIGNMENT, Lifetime, align, place


@st.composite
def lifetimes(draw: st.DrawFn) -> dict[str, Lifetime]:
    """Up to 20 buffers over 12 steps; sizes around the alignment, and empty ones."""
    count = draw(st.integers(0, 20))
    found = {}
    for number in range(count):
        first = draw(st.integers(-1, 12))
        last = draw(st.integers(first, 12))
        num_bytes = draw(st.sampled_from([0, 1, 4, 255, 256, 257, 1000, 4096, 10_000]))
        found[f"buffer{number}"] = Lifetime(num_bytes, first, last)
    return found


def steps_of(lifetime: Lifetime) -> set[int]:
    return set(range(lifetime.first_step, lifetime.last_step + 1))


@given(lifetimes())
def test_buffers_alive_together_never_share_a_byte(buffers: dict[str, Lifetime]) -> None:
    slots, _ = place(buffers)
    for left, right in itertools.combinations(buffers, 2):
        if steps_of(buffers[left]) & steps_of(buffers[right]):
            shared = range(
                max(slots[left].offset, slots[right].offset),
                min(slots[left].end, slots[right].end),
            )
            assert len(shared) == 0, (left, right)


@given(lifetimes())
def test_every_slot_is_aligned_and_inside_the_arena(buffers: dict[str, Lifetime]) -> None:
    slots, total = place(buffers)
    assert set(slots) == set(buffers)
    for name, slot in slots.items():
        assert slot.offset >= 0
        assert slot.offset % ALIGNMENT == 0
        assert slot.num_bytes == buffers[name].num_bytes
    assert total == max((align(slot.end) for slot in slots.values()), default=0)


@given(lifetimes())
def test_size_lies_between_the_busiest_step_and_the_sum(buffers: dict[str, Lifetime]) -> None:
    _, total = place(buffers)
    busiest = max(
        (
            sum(align(b.num_bytes) for b in buffers.values() if step in steps_of(b))
            for step in range(-1, 13)
        ),
        default=0,
    )
    assert busiest <= total <= sum(align(b.num_bytes) for b in buffers.values())


@given(lifetimes(), st.randoms(use_true_random=False))
def test_placement_does_not_depend_on_the_order_given(
    buffers: dict[str, Lifetime], shuffler: random.Random
) -> None:
    names = list(buffers)
    shuffler.shuffle(names)
    assert place({name: buffers[name] for name in names}) == place(buffers)


def test_memory_of_a_dead_buffer_is_taken_again() -> None:
    chain = {f"v{step}": Lifetime(1000, step, step + 1) for step in range(50)}
    _, total = place(chain)
    assert total == 2 * align(1000)


def test_a_gap_between_living_buffers_is_used() -> None:
    buffers = {
        "low": Lifetime(4096, 0, 9),
        "middle": Lifetime(2048, 0, 3),
        "high": Lifetime(1024, 0, 9),
        "later": Lifetime(512, 5, 9),
    }
    slots, total = place(buffers)
    assert total == 4096 + 2048 + 1024
    assert slots["middle"].offset <= slots["later"].offset < slots["middle"].end


def test_align_rounds_up() -> None:
    assert [align(n) for n in (0, 1, 255, 256, 257)] == [0, 256, 256, 256, 512]
