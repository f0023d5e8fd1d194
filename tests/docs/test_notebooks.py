"""Every notebook runs from top to bottom, and is committed without its outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_outputs_are_stripped(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_runs(notebook: Path) -> None:
    """On the device that the notebook's reader would get."""
    nbclient = pytest.importorskip("nbclient", reason="needs the extra 'notebooks'")
    nbformat = pytest.importorskip("nbformat")
    document = nbformat.read(notebook, as_version=4)
    client = nbclient.NotebookClient(document, timeout=300, resources={"metadata": {"path": ROOT}})
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    client.execute(env={**os.environ, "PYTHONPATH": path})
    kinds = {
        output.output_type
        for cell in document.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    }
    assert "error" not in kinds
    assert {"execute_result", "display_data", "stream"} <= kinds
