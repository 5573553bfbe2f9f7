"""The notebooks: paired with their text, without outputs, and run from top to bottom in an empty folder."""

from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

from tests.composing import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIGURES = {"inspect_run": 5, "own_table": 1, "read_ablation": 4}
LEAVES = {"inspect_run": "one_run/*/cell.json", "own_table": "model/model.json", "read_ablation": "results/*/cell.json"}
"""What each has trained, as it is left in its folder."""
HANGS_AFTER = 600
"""Seconds in one cell; the longest takes about half a minute on two cores."""


def contents(notebook: Any) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def read(file: Path) -> Any:
    return nbformat.read(file, as_version=4)


def test_every_notebook_has_its_text_and_every_text_its_notebook() -> None:
    texts = sorted((ROOT / "notebooks").glob("*.py"))

    assert [file.stem for file in NOTEBOOKS] == [file.stem for file in texts] == sorted(FIGURES)


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebook_and_text_say_the_same(file: Path) -> None:
    assert contents(read(file)) == contents(jupytext.read(file.with_suffix(".py")))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_outputs_are_stripped(file: Path) -> None:
    code = [cell for cell in read(file).cells if cell.cell_type == "code"]

    assert code
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)


@pytest.mark.notebook
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_it_runs_from_top_to_bottom_and_trains_what_it_needs(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    notebook = read(file)

    NotebookClient(notebook, timeout=HANGS_AFTER, resources={"metadata": {"path": str(work)}}).execute()

    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == FIGURES[file.stem]
    assert [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"] == []
    assert list(work.glob(LEAVES[file.stem]))
