"""``cugraphmodel demo``: classify handwritten digits that the model has not seen."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel import demo
from cugraphmodel.cli.progress import progress_bar
from cugraphmodel.cli.report import graph_facts, graph_text
from cugraphmodel.graph_model import CudaGraphModel
from cugraphmodel.model import load

__all__ = ["execute"]

Images = npt.NDArray[np.uint8]
Probabilities = npt.NDArray[np.float32]

NUM_TIMED = 200
TIMED_SECONDS = 2.0
SHADES = " .:-=+*#%@"


def execute(options: argparse.Namespace) -> None:
    """Classify all held-out images in batches, then time the same launch again and again."""
    folder = Path(demo.__file__).parent
    with np.load(folder / "digits.npz") as data:
        images, labels = data["images"], data["labels"].astype(np.int64)
    model = load(folder / "digits.onnx", device=options.device)
    with progress_bar() as progress:
        graph = model.capture_graph(options.batch, progress=progress)
    with graph:
        probabilities = classify(graph, images)
        facts = {
            "num_images": len(images),
            "num_right": int((probabilities.argmax(axis=1) == labels).sum()),
            "batch_size": options.batch,
            **latency(graph),
            **graph_facts(graph),
        }
    facts["accuracy"] = facts["num_right"] / facts["num_images"]
    if options.json:
        print(json.dumps(facts))
    else:
        print(pictures(images, labels, probabilities))
        print(_text(facts))


def classify(graph: CudaGraphModel, images: Images) -> Probabilities:
    """Probabilities (N, 10) of all images (N, 8, 8); the last batch is filled up with blanks."""
    batch = graph.input_slice_mut(0)
    answers = graph.output_slice(0)
    parts = []
    for start in range(0, len(images), len(batch)):
        chunk = images[start : start + len(batch)]
        batch[: len(chunk), 0] = chunk
        batch[len(chunk) :] = 0
        graph.run_inplace()
        parts.append(answers[: len(chunk)].copy())
    return np.concatenate(parts)


def latency(graph: CudaGraphModel) -> dict[str, Any]:
    """Milliseconds of a launch as the caller sees it, copies included, and of its kernels alone."""
    launches_ms: list[float] = []
    kernels_ms: list[float] = []
    end = time.perf_counter() + TIMED_SECONDS
    while len(launches_ms) < NUM_TIMED and time.perf_counter() < end:
        start = time.perf_counter_ns()
        graph.run_inplace()
        launches_ms.append((time.perf_counter_ns() - start) / 1e6)
        kernels_ms.append(graph.run_timed_inplace())
    return {
        "num_timed_launches": len(launches_ms),
        "launch_ms_p50": float(np.percentile(launches_ms, 50)),
        "launch_ms_p99": float(np.percentile(launches_ms, 99)),
        "kernels_ms_p50": float(np.percentile(kernels_ms, 50)),
    }


def pictures(images: Images, labels: npt.NDArray[np.int64], probabilities: Probabilities) -> str:
    """Three digits with the right answer and one with a wrong one, side by side."""
    answers = probabilities.argmax(axis=1)
    right = [np.flatnonzero((answers == digit) & (labels == digit))[:1] for digit in (3, 5, 8)]
    shown = np.concatenate([*right, np.flatnonzero(answers != labels)[:1]])
    columns = []
    for index in shown:
        ink = images[index].astype(int) * (len(SHADES) - 1) // 16
        verdict = f"{answers[index]} ({probabilities[index].max():.1%})"
        if answers[index] != labels[index]:
            verdict += f", is {labels[index]}"
        columns.append(["".join(SHADES[i] * 2 for i in row) for row in ink] + [verdict])
    return "\n".join(
        "   ".join(f"{cell:18}" for cell in row).rstrip() for row in zip(*columns, strict=True)
    )


def _text(facts: dict[str, Any]) -> str:
    return (
        f"{graph_text(facts)}\n"
        f"launch    {facts['launch_ms_p50']:.4g} ms for {facts['batch_size']} images "
        f"(median of {facts['num_timed_launches']}; 99th percentile "
        f"{facts['launch_ms_p99']:.4g} ms; kernels alone {facts['kernels_ms_p50']:.4g} ms)\n"
        f"accuracy  {facts['accuracy']:.1%}: {facts['num_right']} of {facts['num_images']} "
        "images the model was not trained on"
    )
