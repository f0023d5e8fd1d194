"""A fixed sample of mutants: the suite notices each; where the check mode does, it says where."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.mutation.mutants import FAMILIES, text_of
from tests.mutation.sample import FILE, Sampled, read_sample
from tests.mutation.scratch import Scratch, Worker

SAMPLE = read_sample()
pytestmark = pytest.mark.xdist_group("mutation_sample")
FEWEST = 30


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with Worker(Scratch(tmp_path_factory.mktemp("mutation"))) as started:
        yield started


def test_the_sample_is_of_todays_kernels() -> None:
    families = {one.mutant.family for one in SAMPLE}
    assert len(SAMPLE) >= FEWEST, f"run 'python -m tests.mutation --write' for a new {FILE.name}"
    assert len(families) >= len(FAMILIES) - 1  # few kernels have masks


@pytest.mark.parametrize("sampled", SAMPLE, ids=lambda one: str(one.mutant))
def test_a_mutant_is_noticed(sampled: Sampled, worker: Worker) -> None:
    [answer] = worker.attempts(sampled.mutant.file, sampled.mutant.text, [sampled.case])
    assert answer["by"] not in ("nobody", "compiler"), answer
    if sampled.by == "check":
        assert answer["by"] == "check", answer
        assert re.fullmatch(r"(?:ops|kernels)/\S+\.cuh?:[1-9]\d*", answer["at"]), answer


def test_a_kernel_without_a_fault_is_not_complained_of(worker: Worker) -> None:
    for sampled in SAMPLE[::10]:
        file = sampled.mutant.file
        assert worker.attempts(file, text_of(file), [sampled.case]) == [{"by": "nobody"}]
