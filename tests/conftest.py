"""Devices, markers, and hypothesis profiles of the whole suite.

A test that takes the ``device`` fixture runs on ``"cpu"`` and on ``"cuda"``; the latter is marked
``gpu``. Without a GPU a ``gpu`` test is skipped, unless ``CUGRAPHMODEL_REQUIRE_GPU=1`` makes every
such skip a failure. ``slow`` tests are left out unless ``--slow`` asks for them.

Wrappers of what only a GPU has come with a twin for the CPU device (``tests/kernels/twins.py``). A
test marked ``twins("cg_...")`` that passes on a GPU confirms that the two agree.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from cugraphmodel.executors import open_device
from cugraphmodel.executors.base import Device
from cugraphmodel.executors.cuda import cuda_available

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("nightly", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

CONFIRMED = pytest.StashKey[dict[str, bool]]()
"""Name of each wrapper that tests on a GPU were about -> whether all of these passed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption(
        "--twins-file", type=Path, help="write the names of the twins that a GPU confirmed, as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "twins(*names): passing on a GPU, it confirms the twins of these wrappers"
    )
    config.stash[CONFIRMED] = {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    file: Path | None = session.config.getoption("--twins-file")
    if file is not None:
        confirmed = session.config.stash[CONFIRMED]
        file.write_text(json.dumps(sorted(name for name in confirmed if confirmed[name])))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.xdist_group("gpu"))  # they measure memory and time
    if config.getoption("--slow"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    required = os.environ.get("CUGRAPHMODEL_REQUIRE_GPU") == "1"
    if required and report.skipped and item.get_closest_marker("gpu"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but CUGRAPHMODEL_REQUIRE_GPU=1 is set."
    if item.get_closest_marker("gpu") and (report.failed or report.when == "call"):
        confirmed = item.config.stash[CONFIRMED]
        for mark in item.iter_markers("twins"):
            for name in mark.args:
                confirmed[name] = report.passed and confirmed.get(name, True)
    return report


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not cuda_available():
        pytest.skip("no NVIDIA GPU")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    """Name of a device, as ``cugraphmodel.load(..., device=...)`` takes it."""
    name: str = request.param
    return name


@pytest.fixture
def opened_device(device: str) -> Device:
    """The device of this test, opened once a process."""
    return open_device(device)
