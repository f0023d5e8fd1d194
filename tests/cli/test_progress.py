"""The progress bar appears where somebody is looking, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from cugraphmodel.cli.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar() as progress:
        assert progress is not None
        progress("compile", 1, 2)
    assert "compile" in terminal.getvalue()
    assert "1/2" in terminal.getvalue()


def test_no_bar_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar() as progress:
        assert progress is None
