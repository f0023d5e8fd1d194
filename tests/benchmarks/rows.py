"""The rows of ``docs/benchmarks/h200.json``: our networks beside the fastest other runtime.

    python -m tests.benchmarks.rows FOLDER --commit SHA [--seconds S] NAME:BATCH ...

exports what is missing in FOLDER, measures each row by ``cugraphmodel bench`` in float32 and in
float16, and writes ``docs/benchmarks/h200.json`` and ``.md`` anew with these rows in place of older
ones of the same name. ``--table`` only writes the table from the JSON file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "docs/benchmarks/h200.json"
GOALS = {
    "mlp:1": (0.35, 0.36),
    "mlp:64": (0.28, 0.38),
    "resnet18:1": (0.14, 0.45),
    "resnet50:1": (0.15, 0.45),
    "resnet50:8": (0.22, 0.55),
    "resnet50:32": (0.25, 0.65),
    "mobilenet_v2:1": (0.25, 0.46),
    "efficientnet_b0:1": (0.26, 0.50),
    "minilm:1": (0.27, 0.61),
    "minilm:8": (0.32, 0.66),
    "minilm:32": (0.30, 0.67),
    "vit_b_16:1": (0.26, 0.46),
}
"""Row -> ours over the fastest peer that we want, in float32 and in float16."""


def measure(row: str, folder: Path, commit: str, seconds: float, *, half: bool) -> dict[str, Any]:
    """One row: the best of ours that is exact to the type, and the fastest peer."""
    name, _, size = row.partition(":")
    path = folder / f"{name}-{size}{'-fp16' if half else ''}.onnx"
    if not path.exists():
        _run("tests.benchmarks.models", str(folder), row)
    result = folder / f"{path.stem}.json"
    _run(
        *("cugraphmodel", "bench", str(path), "--torch", str(path.with_suffix(".pt2"))),
        *("--precision", "fp32", "--seconds", str(seconds), "--commit", commit),
        *("--json", str(result)),
    )
    return summary(row, json.loads(result.read_text(encoding="utf-8")), half=half)


def _run(*command: str) -> None:
    subprocess.run([sys.executable, "-m", *command], cwd=REPOSITORY, check=True)


def summary(row: str, found: dict[str, Any], *, half: bool) -> dict[str, Any]:
    """What is kept of one result of ``cugraphmodel bench``."""
    measured = [entry for entry in found["rows"] if entry["run_us"] is not None]
    ours = next((entry for entry in measured if entry["contender"] == "cugraphmodel"), None)
    peers = [entry for entry in measured if entry["contender"] != "cugraphmodel"]
    best = min(peers, key=lambda entry: entry["run_us"]["p50"], default=None)
    kept: dict[str, Any] = {
        "row": row,
        "precision": "fp16" if half else "fp32",
        "goal": GOALS[row][half],
        "ratio": None,
        "commit": found["commit"],
        "device": found["device_description"],
        "problems": {e["contender"]: e["problem"] for e in found["rows"] if e["problem"]},
    }
    for key, entry in (("ours", ours), ("peer", best)):
        if entry is not None:
            kept[key] = {
                name: entry[name] for name in ("contender", "run_us", "kernels_us", "error")
            }
    if ours is not None:
        kept["ours"]["num_kernels"] = ours["num_kernels"]
    if ours is not None and best is not None:
        kept["ratio"] = round(ours["run_us"]["p50"] / best["run_us"]["p50"], 3)
    return kept


def table(rows: list[dict[str, Any]]) -> str:
    """The rows for people."""
    lines = [
        "# Beside other runtimes on an NVIDIA H200",
        "",
        "Medians in microseconds, from NumPy to NumPy; in brackets the kernels alone. Written by",
        "`python -m tests.benchmarks.rows` from `h200.json`.",
        "",
        "| row | precision | ours | error | kernels | peer | its time | its error | ratio | goal |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, peer = row.get("ours"), row.get("peer")
        cells = [row["row"], row["precision"], *_cells(ours)]
        cells += [str(ours["num_kernels"]) if ours else "-"]
        cells += [peer["contender"] if peer else "-", *_cells(peer)]
        cells += [str(row["ratio"] or "-"), str(row["goal"])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(entry: dict[str, Any] | None) -> tuple[str, str]:
    if entry is None:
        return "-", "-"
    kernels = entry["kernels_us"]
    alone = f" ({kernels['p50']:.1f})" if kernels else ""
    error = entry["error"]
    shown = f"{error:.1e}" if isinstance(error, float) else str(error or "-")
    return f"{entry['run_us']['p50']:.1f}{alone}", shown


def write(rows: list[dict[str, Any]]) -> None:
    """Put rows in the place of older ones, in the order of the goals."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    by_name = {(row["row"], row["precision"]): row for row in (*known, *rows)}
    names = [(row, precision) for row in GOALS for precision in ("fp32", "fp16")]
    ordered = [by_name[name] for name in names if name in by_name]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    RESULTS.with_suffix(".md").write_text(table(ordered), encoding="utf-8")


def _row(text: str) -> str:
    if text not in GOALS:
        raise argparse.ArgumentTypeError(f"there is no row {text!r}; rows are {', '.join(GOALS)}")
    return text


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="where the networks are")
    parser.add_argument("rows", nargs="*", type=_row, metavar="NAME:BATCH")
    parser.add_argument("--commit", default="")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--precision", choices=("fp32", "fp16"), help="only that one")
    parser.add_argument("--table", action="store_true", help="only write the table")
    options = parser.parse_args(arguments)
    if options.table:
        write([])
        return
    for row in options.rows or GOALS:
        for half in (False, True):
            if options.precision in (None, "fp16" if half else "fp32"):
                write([measure(row, options.folder, options.commit, options.seconds, half=half)])


if __name__ == "__main__":
    main()
