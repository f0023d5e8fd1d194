"""The latencies that ``tests/gpu_report.py`` writes down."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["latencies"]

MAX_REPEATS, MAX_SECONDS = 2000, 3.0


def median_us(work: Callable[[], object]) -> float:
    """Median wall-clock microseconds of a call, over many."""
    for _ in range(5):
        work()
    times: list[float] = []
    end = time.perf_counter() + MAX_SECONDS
    while len(times) < MAX_REPEATS and time.perf_counter() < end:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return round(statistics.median(times) * 1e6, 1)


def latency(model: Any, batch_size: int | None) -> dict[str, Any]:
    """Microseconds of one model: captured, in place, kernels alone, and eager."""
    import numpy as np

    rng = np.random.default_rng(0)
    with model.capture_graph(batch_size) as graph:
        inputs = [
            rng.standard_normal(shape).astype(dtype)
            for shape, dtype in zip(graph.input_shapes, graph.input_dtypes, strict=True)
        ]
        graph.run(inputs)
        found = {
            "kernels": graph.num_kernels,
            "run_us": median_us(lambda: graph.run(inputs)),
            "run_inplace_us": median_us(graph.run_inplace),
            "gpu_us": round(
                statistics.median(graph.run_timed_inplace() for _ in range(200)) * 1e3, 1
            ),
        }
    found["eager_us"] = median_us(lambda: model.forward(inputs))
    found["eager_over_run"] = round(found["eager_us"] / found["run_us"], 2)
    return found


def latencies(model_files: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The table: a small MLP, then the files asked for."""
    import cugraphmodel
    from tests.api.builders import build, normal

    mlp = build(
        "(float[N,784] x) => (float[N,10] y)",
        "a = Gemm(x, w1, b1) b = Relu(a) c = Gemm(b, w2, b2) d = Relu(c) y = Gemm(d, w3, b3)",
        w1=normal(1, 784, 512),
        b1=normal(2, 512),
        w2=normal(3, 512, 512),
        b2=normal(4, 512),
        w3=normal(5, 512, 10),
        b3=normal(6, 10),
    )
    model = cugraphmodel.load(mlp, device="cuda")
    table = {f"mlp 784-512-512-10, batch {n}": latency(model, n) for n in (1, 64)}
    for file in model_files:
        table[Path(file).stem] = latency(cugraphmodel.load(file, device="cuda"), None)
    return table
