"""What the command line accepts. Imports nothing heavy, so that ``--help`` is instant."""

from __future__ import annotations

import argparse
from typing import Any

import cugraphmodel

__all__ = ["build_parser"]

_EXAMPLES = """\
examples:
  cugraphmodel demo
  cugraphmodel run model.onnx --random 0 --batch 8 --output answers.npz
  cugraphmodel run model.onnx --input tokens=tokens.npy --input mask=mask.npy
  cugraphmodel inspect model.onnx --dim sequence=128
  cugraphmodel bench model.onnx --batch 8 --json rows.json
  cugraphmodel profile model.onnx --batch 8
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser; its result has ``module``, the name of the command's module in this package."""
    parser = argparse.ArgumentParser(
        prog="cugraphmodel",
        description="Run ONNX models as one CUDA-graph launch.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"cugraphmodel {cugraphmodel.__version__}"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_run(commands)
    _add_inspect(commands)
    _add_check(commands)
    _add_bench(commands)
    _add_profile(commands)
    _add_env(commands)
    return parser


def _add_demo(commands: Any) -> None:
    demo = _command(commands, "demo", "demo", "classify held-out handwritten digits")
    demo.add_argument("--batch", type=_size, default=64, metavar="N", help="images per launch (64)")
    _add_device(demo)


def _add_run(commands: Any) -> None:
    run = _command(commands, "run", "run", "run a model on arrays from files, or on random ones")
    run.add_argument("model", help="path of an ONNX file")
    _add_inputs(run)
    run.add_argument("--output", metavar="FILE.npz", help="write the outputs there, by value name")
    _add_binding(run)
    _add_device(run)


def _add_inspect(commands: Any) -> None:
    inspect = _command(
        commands, "inspect", "inspection", "list a model's inputs, nodes, plan and memory"
    )
    inspect.add_argument("model", help="path of an ONNX file")
    inspect.add_argument("--plan", action="store_true", help="list every kernel launch as well")
    _add_binding(inspect)


def _add_check(commands: Any) -> None:
    check = _command(
        commands, "check", "check", "look for faults in the kernels that a model runs; needs no GPU"
    )
    check.add_argument("model", help="path of an ONNX file")
    check.add_argument(
        "--random", type=_size, default=0, metavar="SEED", help="seed of the made-up inputs (0)"
    )
    _add_binding(check)


def _add_bench(commands: Any) -> None:
    bench = _command(
        commands, "bench", "bench", "measure a model beside other runtimes", json_file=True
    )
    bench.add_argument("model", help="path of an ONNX file")
    bench.add_argument(
        "--precision",
        type=_names,
        metavar="NAME,...",
        help="of fp32, ieee, tf32; default: all that differ on the device",
    )
    bench.add_argument(
        "--peers",
        type=_names,
        metavar="NAME,...",
        help="of onnxruntime, onnxruntime-graph, torch, torch-graph, torch-compile, or '' for "
        "none; default: all that are installed",
    )
    bench.add_argument(
        "--torch",
        metavar="FILE.pt2",
        help="the same model as torch.export.save wrote it, for the peers of PyTorch",
    )
    bench.add_argument(
        "--seconds", type=_rate, default=3.0, metavar="S", help="that each contender runs (3)"
    )
    bench.add_argument("--rounds", type=_count, default=10, metavar="N", help="of all in turn (10)")
    bench.add_argument("--no-error", action="store_true", help="leave the error out")
    bench.add_argument(
        "--reference",
        metavar="FILE.npz",
        help="keep the right answer there; take it from there if it is to the same question",
    )
    bench.add_argument("--commit", metavar="SHA", help="to write down with the results")
    _add_inputs(bench, seed=0)
    _add_shapes(bench)
    _add_device(bench)


def _add_profile(commands: Any) -> None:
    profile = _command(
        commands, "profile", "profile", "time each kernel of a captured model", json_file=True
    )
    profile.add_argument("model", help="path of an ONNX file")
    profile.add_argument(
        "--precision", default="fp32", metavar="NAME", help="fp32 (default), ieee or tf32"
    )
    profile.add_argument(
        "--repeats", type=_count, default=20, metavar="N", help="timed launches of a kernel (20)"
    )
    profile.add_argument(
        "--sort", choices=("order", "time"), default="order", help="of the rows (order)"
    )
    profile.add_argument(
        "--tflops", type=_rate, metavar="R", help="what the device computes at most, in TFLOP/s"
    )
    profile.add_argument(
        "--bandwidth", type=_rate, metavar="R", help="what its memory moves at most, in TB/s"
    )
    profile.add_argument("--commit", metavar="SHA", help="to write down with the results")
    _add_inputs(profile, seed=0)
    _add_binding(profile)
    _add_device(profile)


def _add_env(commands: Any) -> None:
    _command(commands, "env", "environment", "print what a bug report needs")


def _command(
    commands: Any, name: str, module: str, help_text: str, *, json_file: bool = False
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}."
    )
    command.set_defaults(module=module)
    if json_file:
        command.add_argument(
            "--json",
            nargs="?",
            const="-",
            metavar="FILE",
            help="write one JSON object there; without FILE print it, and no table",
        )
    else:
        command.add_argument("--json", action="store_true", help="print one JSON object")
    return command


def _add_device(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--device", help="cpu, cuda or cuda:N; default: a GPU if there is one, else cpu"
    )


def _add_inputs(command: argparse.ArgumentParser, seed: int | None = None) -> None:
    command.add_argument(
        "--input",
        dest="inputs",
        action="append",
        default=[],
        metavar="[NAME=]FILE.npy",
        help="array for an input; without NAME, for the next input in the file's order; a .npz "
        "file holds arrays by the names of inputs",
    )
    command.add_argument(
        "--random",
        type=_size,
        default=seed,
        metavar="SEED",
        help="make up the inputs that --input leaves: normal floats, integers 0 and 1"
        + ("" if seed is None else f" ({seed})"),
    )


def _add_binding(command: argparse.ArgumentParser) -> None:
    _add_shapes(command)
    command.add_argument(
        "--output-node",
        dest="output_nodes",
        action="append",
        type=_node,
        metavar="NAME|INDEX",
        help="give this node or value back instead of the model's outputs",
    )
    command.add_argument(
        "--bounded-outputs",
        action="store_true",
        help="give outputs whose size hangs on data at their largest size, and a count",
    )


def _add_shapes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--batch", "--batch-size", type=_size, metavar="N", help="size of open dimensions 0"
    )
    command.add_argument(
        "--dim",
        dest="dims",
        action="append",
        type=_named_size,
        default=[],
        metavar="NAME=SIZE",
        help="size of a named open dimension",
    )
    command.add_argument(
        "--shape",
        dest="shapes",
        action="append",
        type=_named_shape,
        default=[],
        metavar="INPUT=SIZE,SIZE,...",
        help="whole shape of an input",
    )


def _size(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _count(text: str) -> int:
    if not _size(text):
        raise argparse.ArgumentTypeError("0 is too few")
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return rate


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _named_size(text: str) -> tuple[str, int]:
    name, equals, size = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SIZE")
    return name, _size(size)


def _named_shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, sizes = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not INPUT=SIZE,SIZE,...")
    return name, tuple(_size(size) for size in sizes.split(",") if size)


def _node(text: str) -> int | str:
    return int(text) if text.removeprefix("-").isdecimal() else text
