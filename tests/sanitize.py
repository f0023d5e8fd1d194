"""Runs kernels for compute-sanitizer, in one process and without pytest.

``compute-sanitizer --tool TOOL python tests/sanitize.py --out FILE [--model FILE.onnx]`` runs one
operator case for each kernel instance, and the models, on a GPU; compares the results with the
right ones (models: with the CPU device), and writes as JSON what ran and what was wrong.
``tests/gpu_report.py --sanitize TOOL`` does all that and records it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cugraphmodel.ops.case import OpCase

ROOT = Path(__file__).resolve().parents[1]
OPEN_SIZE = 4
"""Of a model's named open dimensions."""
RELATIVE_TOLERANCE = 1e-3
"""Between two devices, of the largest value of an output: a fault is told from rounding."""


def one_case_each(cases: Iterable[OpCase]) -> Iterator[OpCase]:
    """Cases, in their order, that launch a kernel that none before them launched."""
    from cugraphmodel.plan import build_plan
    from tests.ops import harness

    seen: set[tuple[object, ...]] = set()
    for case in cases:
        launches = [step.launch for step in build_plan(harness.graph_of(case)).steps]
        kernels = {(launch.source, launch.macros, launch.entry) for launch in launches}
        if not case.slow and kernels - seen:
            seen |= kernels
            yield case


def run_case(case: OpCase, device: Any) -> None:
    """Raises whatever is wrong."""
    from tests.ops import harness

    for got, right in zip(harness.run(case, device), harness.expected_outputs(case), strict=True):
        harness.assert_close(case, got, right)


def run_model(file: str, device: str) -> None:
    """Raises whatever is wrong."""
    import numpy as np

    import cugraphmodel
    from cugraphmodel.cli.arrays import random_array

    results = []
    for name in (device, "cpu"):
        model = cugraphmodel.load(file, device=name)
        sizes = {size for info in model.inputs for size in info.shape or ()}
        open_sizes = {size: OPEN_SIZE for size in sizes if isinstance(size, str)}
        with model.capture_graph(dims=open_sizes) as graph:
            rng = np.random.default_rng(0)
            shapes = zip(graph.input_dtypes, graph.input_shapes, strict=True)
            results.append(graph.run([random_array(rng, dtype, shape) for dtype, shape in shapes]))
    for got, right in zip(*results, strict=True):
        if right.dtype.kind == "f":
            atol = RELATIVE_TOLERANCE * float(np.abs(right).max(initial=0.0))
            np.testing.assert_allclose(got, right, rtol=0, atol=atol)
        else:
            np.testing.assert_array_equal(got, right)


def run_all(
    cases: Sequence[OpCase], models: Sequence[str], device: str, seconds: float
) -> dict[str, Any]:
    """Run models, then cases until the time is over.

    Returns:
        ``cases``: how many ran; ``cases_left``: how many did not; ``models``: names; ``failures``:
        a line for each that gave another result or none.
    """
    from cugraphmodel.executors import open_device

    end = time.monotonic() + seconds
    failures = []
    for file in models:
        try:
            run_model(file, device)
        except Exception as error:  # a fault can show as any error, and the rest is to run
            failures.append(f"{Path(file).stem}: {_first_lines(error)}")
    num_done = 0
    opened = open_device(device)
    for case in cases:
        if time.monotonic() > end:
            break
        num_done += 1
        try:
            run_case(case, opened)
        except Exception as error:  # as above
            failures.append(f"{case}: {_first_lines(error)}")
    return {
        "cases": num_done,
        "cases_left": len(cases) - num_done,
        "models": [Path(file).stem for file in models],
        "failures": failures,
    }


def _first_lines(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; see the module's docstring."""
    from tests.ops.test_cases import CASES

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--model", action="append", default=[], help="ONNX file; may be repeated")
    parser.add_argument("--device", default="cuda", help="default: the first GPU")
    parser.add_argument("--seconds", type=float, default=480, help="start no case later")
    options = parser.parse_args(arguments)
    cases = list(one_case_each(CASES))
    result = run_all(cases, options.model, options.device, options.seconds)
    options.out.write_text(json.dumps(result), encoding="utf-8")
    print(f"{result['cases']} cases, {len(result['failures'])} failures")
    return int(bool(result["failures"]))


if __name__ == "__main__":
    # The folder of this script would otherwise hide the package "tests".
    sys.path[0] = str(ROOT)
    sys.exit(main())
