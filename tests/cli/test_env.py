"""``cugraphmodel env``: what a bug report needs, also where things are broken."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np
import pytest

from cugraphmodel import __version__
from tests.cli.conftest import Command


def test_tells_versions_devices_and_settings(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", str(tmp_path))
    answer = command("env", "--json")
    assert (answer.code, answer.err) == (0, "")
    facts = json.loads(answer.out)
    assert facts["cugraphmodel"] == __version__
    assert platform.python_version() in facts["python"]
    assert facts["packages"]["numpy"] == np.__version__
    assert set(facts["devices"]) == {"cpu", "cuda"}
    assert facts["cache_dir"] == str(tmp_path)
    assert facts["environment"]["CUGRAPHMODEL_CACHE_DIR"] == str(tmp_path)


def test_text_has_every_fact(command: Command) -> None:
    facts = json.loads(command("env", "--json").out)
    text = command("env").out
    for name, value in facts.items():
        assert f"{name}:" in text
        if isinstance(value, str):
            assert value in text


def test_a_setting_that_means_nothing_is_told_not_fatal(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", "relative/folder")
    answer = command("env", "--json")
    assert answer.code == 0
    assert "not an absolute path" in json.loads(answer.out)["cache_dir"]
