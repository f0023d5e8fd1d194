"""The ONNX node tests, each through ``load`` and ``capture_graph``: the library's yardstick.

``python tests/onnx_nodes.py --summary [--device cpu|cuda] [--only PATTERN] [--write]``

A test passes if the first and the second replay give its outputs, of the right dtype and shape and
within its own tolerance, for every data set, and if a kernel ran. ``--write`` brings
``onnx_nodes_passing.txt`` and ``onnx_nodes_failing.md``, which stand beside this file, up to date.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # needs no installation of the package
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

import cugraphmodel

HERE = Path(__file__).parent
PASSING = HERE / "onnx_nodes_passing.txt"
FAILING = HERE / "onnx_nodes_failing.md"
UNEXPLAINED = "Not explained yet"

Array = npt.NDArray[Any]

_REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
CONTROL_INPUTS: Mapping[str, tuple[int, ...]] = {
    "AffineGrid": (1,),  # size
    "BlackmanWindow": (0,),  # size
    "CenterCropPad": (1,),  # shape
    "Col2Im": (1, 2),  # image_shape, block_shape
    "Compress": (1,),  # condition
    "ConstantOfShape": (0,),  # input: the shape
    "CumProd": (1,),  # axis
    "CumSum": (1,),  # axis
    "DFT": (1, 2),  # dft_length, axis
    "Dropout": (2,),  # training_mode
    "Expand": (1,),  # shape
    "HammingWindow": (0,),  # size
    "HannWindow": (0,),  # size
    "If": (0,),  # cond
    "Loop": (0, 1),  # M, cond
    "MaxUnpool": (2,),  # output_shape
    "MelWeightMatrix": (0, 1, 2, 3, 4),  # sizes, sample rate, edges
    "NonMaxSuppression": (2,),  # max_output_boxes_per_class
    "OneHot": (1,),  # depth
    "Pad": (1, 3),  # pads, axes
    "Range": (0, 1, 2),  # start, limit, delta
    **{f"Reduce{name}": (1,) for name in _REDUCTIONS.split()},  # axes
    "Reshape": (1,),  # shape
    "Resize": (1, 2, 3),  # roi, scales, sizes
    "STFT": (1, 3),  # frame_step, frame_length
    "Slice": (1, 2, 3, 4),  # starts, ends, axes, steps
    "Split": (1,),  # split
    "SplitToSequence": (1,),  # split
    "Squeeze": (1,),  # axes
    "Tile": (1,),  # repeats
    "TopK": (1,),  # k
    "Unsqueeze": (1,),  # axes
    "Upsample": (1,),  # scales
}
"""Positions of the inputs that may be bound: they decide a shape or steer the operator."""

REASONS: tuple[tuple[str, str], ...] = (
    (r"string\[|\(Regex|\(String", "Strings are no numbers, and no kernel works on them"),
    (
        r"sequence\[|optional\[|inhomogeneous|is a sequence|\((Sequence|Optional|SplitToSequence)",
        "Inputs, outputs and values are tensors, not sequences or optionals",
    ),
    (r"\(ImageDecoder", "Files of images are decoded before a model runs"),
    (
        r"\((Bernoulli|RandomUniformLike)|training mode is random",
        "A replay repeats itself, so nothing random is made",
    ),
    (
        r"test_resize_downsample_scales_(cubic|linear)_align_corners: ",
        "The data take size * scale, not rounded, for the size of the output; the operator's text "
        "and ONNX Runtime take the output's size",
    ),
    (
        r"test_attention_\w+_(bf16|fp16)(_expanded)?: AssertionError",
        "The data were rounded to 16 bits after every step of NumPy, and are further from what "
        "float64 gives than our output is",
    ),
    (
        r"test_dft_inverse(_opset19)?: AssertionError",
        "The data were computed in float32: they say 1.9e-7 where 0 is right, within 1e-7",
    ),
    (r"its trip count .* is computed", "The number of iterations is computed by the model"),
    (r"no kernel ran", "The output is known at capture or has the input's bytes: no kernel runs"),
    (r"\((?P<op>[\w.]+), opset \d+\): there is no kernel for this operator", "No kernel for {op}"),
    (r"control flow is not supported", "Control flow is not supported"),
    (
        r"\((?P<op>\w+), .*(Quantising to|Input '\w+' is) (?P<dtype>\w+)( has no k|; the k)",
        "{op} has no kernel for {dtype}",
    ),
    (r"input \S+: (?P<dtype>\w+)\[.* is not supported", "No tensors of {dtype}"),
    (r"Casting to ONNX type (?P<code>\d+) has no kernel", "No tensors of ONNX type {code}"),
)
"""A pattern in "name: error" of a test that fails, and why; the first that matches counts."""


@dataclass(frozen=True)
class Outcome:
    """How one test went.

    Attributes:
        name: of the test.
        bound: names of the inputs that were bound.
        error: what went wrong; None if it passed.
    """

    name: str
    bound: tuple[str, ...]
    error: str | None

    @property
    def reason(self) -> str:
        """Why it does not pass, by the table of reasons."""
        for pattern, reason in REASONS:
            if match := re.search(pattern, f"{self.name}: {self.error}"):
                return reason.format(**match.groupdict())
        return UNEXPLAINED


def suite() -> dict[str, Any]:
    """The node tests of the installed onnx, by name. They are computed, which takes seconds."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {test.name: test for test in load_model_tests(kind="node")}


def passing_names() -> list[str]:
    """The tests that are known to pass."""
    return PASSING.read_text(encoding="utf-8").split()


def run_all(names: Sequence[str], device: str) -> dict[str, Outcome]:
    """Run tests by name, in as many processes as there are processors."""
    num_processes = max(1, min(len(os.sched_getaffinity(0)), 16, len(names) // 8))
    shares = [names[first::num_processes] for first in range(num_processes)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_processes, mp_context=context) as pool:
        done = pool.map(_run_share, shares, [device] * num_processes)
        outcomes = {outcome.name: outcome for share in done for outcome in share}
    return {name: outcomes[name] for name in names}


def _run_share(names: Sequence[str], device: str) -> list[Outcome]:
    warnings.simplefilter("ignore")
    tests = suite()
    return [run_test(tests, name, device) for name in names]


def run_test(tests: Mapping[str, Any], name: str, device: str) -> Outcome:
    """Run one test as it is; where that fails, with its control inputs bound."""
    controls = _control_inputs(tests, name)
    outcome = Outcome(name, (), _error(tests[name], device, ()))
    if outcome.error is not None and controls:
        outcome = Outcome(name, controls, _error(tests[name], device, controls))
    return outcome


def _control_inputs(tests: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Graph inputs that the test, or the test it expands, feeds to a control input."""
    graphs = [tests[name].model.graph]
    original = re.sub(r"_expanded(_ver\d+)?$", "", name)
    if original in tests:
        graphs.append(tests[original].model.graph)
    fed = {
        node.input[position]
        for graph in graphs
        for node in graph.node
        if node.domain in ("", "ai.onnx")
        for position in CONTROL_INPUTS.get(node.op_type, ())
        if position < len(node.input)
    }
    return tuple(value.name for value in graphs[0].input if value.name in fed)


def _error(test: Any, device: str, bound: Sequence[str]) -> str | None:
    try:
        for inputs, outputs in test.data_sets:
            _check_data_set(test, device, bound, inputs, outputs)
    except Exception as error:  # a test may fail in any way
        return f"{type(error).__name__}: {error}"
    return None


def _check_data_set(
    test: Any, device: str, bound: Sequence[str], inputs: Sequence[Any], outputs: Sequence[Any]
) -> None:
    names = [value.name for value in test.model.graph.input]
    arrays = {name: _array(data) for name, data in zip(names, inputs, strict=True)}
    free = {name: array for name, array in arrays.items() if name not in bound}
    model = cugraphmodel.load(test.model, device=device)
    with model.capture_graph(
        input_shapes={name: np.shape(array) for name, array in free.items()},
        constant_inputs={name: arrays[name] for name in bound},
        bounded_outputs=True,
    ) as graph:
        replays = [graph.run(list(free.values())) for _ in range(2)]
        if not graph.num_kernels:
            raise AssertionError("no kernel ran")
    for got in replays:
        arrays_got, counts = got[: len(outputs)], got[len(outputs) :]
        for array, right in zip(arrays_got, map(_array, outputs), strict=True):
            kept = _entries_that_count(array, right, counts)
            assert_matches(kept, right, test.rtol, test.atol)


def _entries_that_count(array: Any, right: Any, counts: Sequence[Array]) -> Any:
    """The first ``counts[0]`` entries of an output whose size hangs on data, without the fill.

    The dimension in which it is larger is the one in which it differs from the right answer.
    """
    if not counts or array.shape == right.shape or array.ndim != right.ndim:
        return array
    differing = [d for d in range(array.ndim) if array.shape[d] != right.shape[d]]
    return array.take(range(int(counts[0])), differing[0])


def _array(data: Any) -> Any:
    """Data of a test as an array; sequences stay lists."""
    if isinstance(data, onnx.TensorProto):
        return numpy_helper.to_array(data)
    return data if isinstance(data, list) or data is None else np.asarray(data)


def assert_matches(got: Array, right: Array, rtol: float, atol: float) -> None:
    """Same dtype and shape; integers and bools equal, floats of any width within tolerance.

    NaN must meet NaN, an infinity the same infinity.
    """
    if got.dtype != right.dtype or got.shape != right.shape:
        raise AssertionError(
            f"{got.dtype}{list(got.shape)} came, not {right.dtype}{list(right.shape)}"
        )
    if _is_float(right.dtype):
        wide, exact = got.astype(np.float64), right.astype(np.float64)
        np.testing.assert_allclose(wide, exact, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(got, right)


def _is_float(dtype: np.dtype) -> bool:
    """Whether numbers of a dtype have fractions; ``ml_dtypes`` calls all of its types "V"."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def grouped(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The tests that do not pass, by reason, largest group first."""
    groups = defaultdict(list)
    for outcome in outcomes:
        if outcome.error is not None:
            groups[outcome.reason].append(outcome)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def failing_table(groups: Mapping[str, Sequence[Outcome]]) -> str:
    """Markdown: every test that does not pass, by reason."""
    return "\n".join(_failing_lines(groups)) + "\n"


def _failing_lines(groups: Mapping[str, Sequence[Outcome]]) -> Iterator[str]:
    yield f"# Node tests of onnx {onnx.__version__} that do not pass, and why"
    yield ""
    yield "Written by `python tests/onnx_nodes.py --write`."
    for reason, outcomes in groups.items():
        yield ""
        yield f"## {reason} ({len(outcomes)})"
        yield ""
        yield from (f"- `{name}`" for name in sorted(outcome.name for outcome in outcomes))


def failing_names() -> dict[str, list[str]]:
    """Reason -> tests, as the table has them."""
    parts = re.split(r"^## (.*) \(\d+\)$", FAILING.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        reason: re.findall(r"^- `(\w+)`$", part, flags=re.MULTILINE)
        for reason, part in zip(parts[1::2], parts[2::2], strict=True)
    }


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--summary", action="store_true", help="count by reason")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", metavar="PATTERN", help="tests with such names alone")
    parser.add_argument("--write", action="store_true", help="write both lists anew")
    arguments = parser.parse_args()
    if arguments.write and arguments.only:
        parser.error("--write needs all tests; leave out --only")
    return arguments


def main() -> None:
    """Run what the command line asks for; print what failed and the count."""
    arguments = _parsed()
    names = [name for name in sorted(suite()) if re.search(arguments.only, name)]
    outcomes = run_all(names, arguments.device)
    groups = grouped(outcomes.values())
    for reason, failed in groups.items():
        print(f"{len(failed):4d}  {reason}")
        if not arguments.summary or reason == UNEXPLAINED:
            for outcome in failed:
                print(f"        {outcome.name}: {' '.join((outcome.error or '').split())[:300]}")
    passed = [outcome for outcome in outcomes.values() if outcome.error is None]
    if arguments.write:
        PASSING.write_text("".join(f"{o.name}\n" for o in passed), encoding="utf-8")
        FAILING.write_text(failing_table(groups), encoding="utf-8")
    num_bound = sum(1 for outcome in passed if outcome.bound)
    print(f"passed {len(passed)} of {len(names)} ({num_bound} with bound inputs)")


if __name__ == "__main__":
    main()
