"""The code in the README and the pages runs, and their lists are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.executors.base import Device
from cugraphmodel.ops import spec
from docs import operators
from tests.ops import harness

ROOT = Path(__file__).parents[2]


def code_blocks(page: str, language: str = "python") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    block = rf"^```{re.escape(language)}\n(.*?)^```$"
    return re.findall(block, text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("README.md", r"\[\d \d \d \d\]\n"),
        ("docs/quickstart.md", r"\[\d \d \d \d\]\n(.*\n)*output probabilities"),
        ("docs/state.md", r"0\.5\n0\.75\n0\.875\n0\.9375\n0\.5\n"),
        ("docs/compare-layers.md", r"(\d\.\de[-+]\d\d   +\d+  .*\n){11}"),
    ],
)
def test_code_of_the_page_runs(
    page: str,
    printed: str,
    device: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    source, num_loads = re.subn(
        r"cugraphmodel\.load\(([^)]*)\)",
        rf'cugraphmodel.load(\1, device="{device}")',
        "\n".join(code_blocks(page)),
    )
    assert num_loads == 1
    exec(source, {})  # noqa: S102
    assert re.search(printed, capsys.readouterr().out)


@pytest.fixture
def no_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is registered, and what the test registers is forgotten."""
    monkeypatch.setattr(spec, "_SPECS", {})


@pytest.mark.usefixtures("no_operators")
def test_the_operator_that_the_page_adds_gives_the_right_outputs(
    opened_device: Device, tmp_path: Path
) -> None:
    rule, cases, _ = code_blocks("docs/add-an-operator.md")
    [kernel] = code_blocks("docs/add-an-operator.md", "c++")
    file = tmp_path / "magnitude.cu"
    file.write_text(kernel, encoding="utf-8")
    exec(rule.replace("ops/magnitude/magnitude.cu", str(file)), {})  # noqa: S102
    namespace: dict[str, Any] = {}
    exec(cases, namespace)  # noqa: S102
    assert len(namespace["CASES"]) == 2
    for case in namespace["CASES"]:
        with harness.prepared(case, opened_device) as executable:
            harness.write_inputs(case, executable, case.inputs)
            [got] = harness.replay(executable)
        harness.assert_close(case, got, harness.expected_outputs(case)[0])


def test_a_kernel_edited_in_a_notebook_is_in_the_next_graph(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spec, "_SPECS", {**spec._SPECS})
    code = code_blocks("docs/add-an-operator.md")[-1]
    namespace: dict[str, Any] = {}
    exec(code.replace("load(proto)", f"load(proto, device={device!r})"), namespace)  # noqa: S102
    assert capsys.readouterr().out.count("2.") == 6
    kernel = tmp_path / "double.cu"
    kernel.write_text(kernel.read_text().replace("2 * in", "3 * in"))
    x = np.ones((2, 3), np.float32)
    model = cugraphmodel.load(namespace["proto"], device=device)
    np.testing.assert_array_equal(model.capture_graph(2).run([x])[0], 3 * x)
    np.testing.assert_array_equal(namespace["graph"].run([x])[0], 2 * x)


def test_readme_lists_the_registered_operators() -> None:
    """``python docs/operators.py`` brings the table up to date."""
    text = operators.README.read_text(encoding="utf-8")
    assert text == operators.readme_with_table(text)


def test_every_public_name_is_documented() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    directive = r"^\.\. auto\w+:: cugraphmodel\.(\w+)(?:\(\))?$"
    documented = set(re.findall(directive, page, re.MULTILINE))
    documented |= set(re.findall(r"`cugraphmodel\.(__version__)`", page))
    assert documented == {*cugraphmodel.__all__, "settings"}


def test_every_page_is_in_a_table_of_contents() -> None:
    """Sphinx warns of it too; the suite need not build the site to see it."""
    docs = ROOT / "docs"
    listed = set()
    for index in docs.rglob("index.md"):
        for block in re.findall(r"```{toctree}\n(.*?)```", index.read_text(), flags=re.DOTALL):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {index.parent / f"{entry}.md" for entry in entries}
    pages = {page for page in docs.rglob("*.md") if "_build" not in page.parts}
    assert pages - {docs / "index.md"} == listed
