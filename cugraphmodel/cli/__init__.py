"""The ``cugraphmodel`` command: demo, run, inspect, check, bench, profile, env.

Exit codes: 0 success, 1 the model or the run failed or ``check`` found a fault, 2 wrong usage, 130
interrupted. Results go to stdout, everything else to stderr; ``--json`` makes stdout one JSON
object.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence

from cugraphmodel.cli.escape import escaped
from cugraphmodel.cli.parser import build_parser
from cugraphmodel.errors import CuGraphModelError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    Args:
        arguments: as after the program's name; None takes those of the process.

    Raises:
        SystemExit: from ``argparse``: 0 after ``--help`` and ``--version``, 2 for wrong usage.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack letters of the model's names
            stream.reconfigure(errors="backslashreplace")
    options = build_parser().parse_args(arguments)
    if sys.stdout is None:
        print("cugraphmodel: error: stdout is closed", file=sys.stderr)
        return 1
    try:
        command = importlib.import_module(f"cugraphmodel.cli.{options.module}")
        command.execute(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (CuGraphModelError, OSError) as error:
        print(f"cugraphmodel: error: {_explain(error)}", file=sys.stderr)
        return 1
    return 0


def _explain(error: Exception) -> str:
    """The error's text; the library speaks of keyword arguments where a shell user has options."""
    text = "\n".join(map(escaped, str(error).split("\n")))
    if hasattr(error, "open_dimensions"):
        text += " On the command line: --batch N, --dim NAME=SIZE, --shape INPUT=SIZE,SIZE,..."
    return text
