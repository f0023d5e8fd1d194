"""The code in the README and the pages runs, and their lists are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cugraphmodel
from docs import operators

ROOT = Path(__file__).parents[2]


def code_blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("README.md", r"\[\d \d \d \d\]\n"),
        ("docs/quickstart.md", r"\[\d \d \d \d\]\n(.*\n)*output probabilities"),
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


def test_readme_lists_the_registered_operators() -> None:
    """``python docs/operators.py`` brings the table up to date."""
    text = operators.README.read_text(encoding="utf-8")
    assert text == operators.readme_with_table(text)


def test_every_public_name_is_documented() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\.\. auto\w+:: cugraphmodel\.(\w+)$", page, re.MULTILINE))
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
