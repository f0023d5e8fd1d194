"""Runs ``tests/sanitize.py`` under compute-sanitizer and reads what the tool says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["find_sanitizer", "read_summary", "run_tool"]

DRIVER = Path(__file__).with_name("sanitize.py")
PLACES = "/usr/local/cuda/bin"
NUM_LINES_KEPT = 40
PRINT_LIMIT = 100

_ERRORS = re.compile(r"^=+ ERROR SUMMARY: (\d+) errors?\s*$", re.MULTILINE)
_RACES = re.compile(
    r"^=+ RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, (\d+) warnings?\)\s*$",
    re.MULTILINE,
)
_FINDING = re.compile(r"^=+ (?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY)")


def find_sanitizer() -> str:
    """Path of compute-sanitizer: on ``PATH``, else where the CUDA toolkit puts it."""
    found = shutil.which("compute-sanitizer", path=f"{os.environ.get('PATH', '')}:{PLACES}")
    if found is None:
        sys.exit(
            f"compute-sanitizer is neither on PATH nor in {PLACES}: it is of the CUDA toolkit."
        )
    return found


def read_summary(tool: str, output: str) -> tuple[int, int]:
    """Errors and warnings by the tool's own summary; several processes are added up.

    Raises:
        ValueError: there is no summary, so the tool did not run to its end.
    """
    if tool == "racecheck":
        found = [(int(errors), int(warnings)) for errors, warnings in _RACES.findall(output)]
    else:
        found = [(int(errors), 0) for errors in _ERRORS.findall(output)]
    if not found:
        raise ValueError(f"{tool} printed no summary")
    return sum(errors for errors, _ in found), sum(warnings for _, warnings in found)


def run_tool(tool: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Run the driver under a tool.

    Args:
        tool: of compute-sanitizer.
        arguments: of the driver.

    Returns:
        What ran and what was found, for the report.
    """
    sanitizer = find_sanitizer()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sanitizer, "--tool", tool, "--print-limit", str(PRINT_LIMIT)]
        command += [sys.executable, str(DRIVER), "--out", str(result), *arguments]
        done = subprocess.run(
            command,
            cwd=DRIVER.parents[1],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        seconds = time.monotonic() - start
        findings = [line for line in done.stdout.splitlines() if _FINDING.match(line)]
        if not result.is_file():
            sys.exit(f"{done.stdout[-4000:]}\nThe driver ended early, with {done.returncode}.")
        ran: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    try:
        errors, warnings = read_summary(tool, done.stdout)
    except ValueError as error:
        sys.exit(f"{done.stdout[-4000:]}\n{error}.")
    return {
        **ran,
        "tool_version": _version(sanitizer),
        "errors": errors,
        "warnings": warnings,
        "findings": findings[:NUM_LINES_KEPT],
        "seconds": round(seconds, 1),
    }


def _version(sanitizer: str) -> str:
    shown = subprocess.run([sanitizer, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"^Version (\S+)", shown.stdout, re.MULTILINE)
    return match[1] if match else "of unknown version"
