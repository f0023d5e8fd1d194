"""The right answer of a task: who computes it, whether to believe it, and where to keep it."""

from __future__ import annotations

import hashlib
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cugraphmodel.bench.lane import LaneError, ProcessLane
from cugraphmodel.bench.onnx_runtime import OrtRun
from cugraphmodel.bench.reference import OnnxReference, OrtReference, error_of
from cugraphmodel.bench.task import Array, Maker, Task
from cugraphmodel.errors import ArgumentError

__all__ = ["REFERENCES", "Answer", "kept_answer", "right_answer"]

REFERENCES: Mapping[str, Maker] = {"onnx.reference": OnnxReference, "onnxruntime": OrtReference}
"""Name -> what computes the right answer; the first that can is taken."""

SECONDS = 120.0
BELIEVABLE_ERROR = 0.01


@dataclass(frozen=True)
class Answer:
    """What a model gives in float64.

    Attributes:
        outputs: in the file's order, None if nobody could compute them.
        by: who computed them.
        seconds: that it took.
        problems: name -> why it could not, for those that were asked before.
    """

    outputs: Sequence[Array] | None = None
    by: str | None = None
    seconds: float | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


def right_answer(task: Task, say: Callable[[str], None]) -> Answer:
    """The first answer that can be had and believed.

    One that is far from that of ONNX Runtime in float32 is not, if that is there: one of the two
    is wrong then.

    Args:
        task: model and inputs.
        say: told what is being done.
    """
    problems: dict[str, str] = {}
    for name, maker in REFERENCES.items():
        say(f"computing the right answer by {name} in float64")
        start = time.perf_counter()
        try:
            outputs = _outputs_of(maker, task)
        except LaneError as error:
            problems[name] = str(error)
            continue
        seconds = time.perf_counter() - start
        doubt = _doubt(outputs, task)
        if doubt is None:
            return Answer(outputs, name, seconds, problems)
        problems[name] = doubt
    return Answer(problems=problems)


def kept_answer(path: Path, task: Task, say: Callable[[str], None]) -> Answer:
    """The answer that the file holds for this task; else :func:`right_answer`, kept there.

    The task is known by the bytes of the model's file and of the inputs. Weights in files beside
    the model's do not count.

    Raises:
        ArgumentError: the file holds something else.
        OSError: it cannot be written.
    """
    digest = _digest(task)
    known = _read(path, digest)
    if known is not None:
        return known
    answer = right_answer(task, say)
    if answer.outputs is not None:
        content: dict[str, Any] = {"digest": digest, "by": answer.by, "seconds": answer.seconds}
        content |= {f"output{position}": array for position, array in enumerate(answer.outputs)}
        with path.open("wb") as file:
            np.savez(file, **content)
    return answer


def _read(path: Path, digest: str) -> Answer | None:
    """The answer that a file holds, if it is to the task of that digest."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if str(archive["digest"]) != digest:
                return None
            outputs = [archive[f"output{position}"] for position in range(len(archive.files) - 3)]
            return Answer(outputs, str(archive["by"]), float(archive["seconds"]))
    except FileNotFoundError:
        return None
    except (EOFError, LookupError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ArgumentError(f"{str(path)!r} is there, but keeps no answer.") from error


def _digest(task: Task) -> str:
    digest = hashlib.sha256(Path(task.model).read_bytes())
    for name, array in task.inputs.items():
        digest.update(f"{name}\0{array.dtype.name}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _outputs_of(maker: Maker, task: Task) -> list[Array]:
    lane = ProcessLane(maker, task, SECONDS)
    try:
        return lane.outputs(SECONDS)
    finally:
        lane.close()


def _doubt(right: Sequence[Array], task: Task) -> str | None:
    """Why an answer is not to be believed."""
    try:
        distance = error_of(_outputs_of(OrtRun, task), right)
    except LaneError:
        return None
    except ValueError as error:
        return f"its outputs do not fit: {error}"
    if distance is None or distance <= BELIEVABLE_ERROR:
        return None
    return f"is {distance:.1e} from ONNX Runtime on the CPU"
