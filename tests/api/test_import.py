"""``import cugraphmodel`` is light, and heavy packages come only when they are needed."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = ("onnx", "onnx_ir", "onnxscript", "onnxruntime", "cupy", "tqdm", "google.protobuf")
LIMIT_SECONDS = 0.3

IMPORT = f"""
import json, sys, time
start = time.perf_counter()
import cugraphmodel
elapsed = time.perf_counter() - start
print(json.dumps([elapsed, [name for name in {HEAVY!r} if name in sys.modules]]))
"""

NO_CUPY_ON_CPU = """
import sys
import numpy, onnx.parser
import cugraphmodel
model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
)
with cugraphmodel.load(model, device="cpu").capture_graph() as graph:
    graph.run([numpy.ones(2, numpy.float32)])
print("cupy" in sys.modules)
"""


def python(source: str) -> str:
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_fast_and_brings_nothing_heavy() -> None:
    runs = [json.loads(python(IMPORT)) for _ in range(3)]
    assert all(heavy == [] for _, heavy in runs), runs
    assert min(elapsed for elapsed, _ in runs) < LIMIT_SECONDS


def test_the_cpu_device_needs_no_cupy() -> None:
    assert python(NO_CUPY_ON_CPU).strip() == "False"
