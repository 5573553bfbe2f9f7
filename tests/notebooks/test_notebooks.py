"""The notebooks: paired with their text, committed with tidy outputs, and executed again in an empty folder."""

import re
import runpy
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

from tests.composing import ROOT
from tests.documentation import pattern

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EACH = pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
FIGURES = {
    "first_ablation": 1,
    "inspect_run": 4,
    "lightning": 1,
    "own_table": 1,
    "read_ablation": 4,
    "two_cells": 1,
    "views": 1,
}
LEAVES = {
    "first_ablation": "report/index.html",
    "inspect_run": "one_run/*/cell.json",
    "lightning": "logs/pretraining/*/metrics.csv",
    "own_table": "model/model.json",
    "read_ablation": "results/*/cell.json",
    "two_cells": "two_cells/*/cell.json",
    "views": "pretraining/*.ckpt",
}
"""What each has trained, as it is left in its folder."""
CLOSE = 0.1
"""How far a number of a cell with the tag `compared` may be from the committed one, because other processors round sums
differently, and a network then trains a little differently. Points of accuracy may be 100 times as far."""
LARGEST = 150_000
"""Bytes of a notebook with its pictures."""


def contents(notebook: Any) -> list[tuple[str, str, list[str]]]:
    return [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in notebook.cells]


def read(file: Path) -> Any:
    return nbformat.read(file, as_version=4)


def test_every_notebook_has_its_text_and_every_text_its_notebook() -> None:
    texts = sorted((ROOT / "notebooks").glob("*.py"))
    assert [file.stem for file in NOTEBOOKS] == [file.stem for file in texts] == sorted(FIGURES)


@EACH
def test_notebook_and_text_say_the_same_and_one_cell_has_the_parameters_that_papermill_sets(file: Path) -> None:
    notebook = read(file)
    assert contents(notebook) == contents(jupytext.read(file.with_suffix(".py")))
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    values: dict[str, Any] = {}
    exec(cell.source, values)
    del values["__builtins__"]
    assert values
    for value in values.values():
        assert value is None or isinstance(value, (str, int, float, list)), "papermill writes plain values"


def code_of(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def words(cell: Any) -> list[str]:
    """What a code cell prints, without its numbers; a picture is its kind."""
    return [
        pattern(output.text) if output.output_type == "stream" else pattern(output.data.get("text/plain", "picture"))
        for output in cell.outputs
    ]


def numbers(cell: Any) -> list[float]:
    text = "\n".join(output.data["text/plain"] for output in cell.outputs)
    return [float(number) for number in re.findall(r"(?<![\w.])-?\d+\.\d+", text)]


@pytest.mark.parametrize(
    ("address", "where", "package"),
    [
        ("git+https://example.org/tables.git", "", "scarf-lightning[report] @ git+https://example.org/tables.git"),
        ("tables.whl", "", "{here}/tables.whl[report]"),
        ("", "clone/notebooks", "{here}/clone[report]"),
        ("", "", None),
    ],
)
def test_where_the_package_is_missing_the_first_cells_install_it(
    address: str, where: str, package: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From an address, the file of a wheel or the clone around them, or they say what to set."""
    parameters, install, *_ = code_of(read(ROOT / "notebooks" / "first_ablation.ipynb"))
    (tmp_path / "clone" / "notebooks").mkdir(parents=True)
    (tmp_path / "clone" / "scarf_lightning").mkdir()
    (tmp_path / "clone" / "scarf_lightning" / "version.py").touch()
    (tmp_path / "tables.whl").touch()
    monkeypatch.chdir(tmp_path / where)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    commands: list[list[str]] = []
    monkeypatch.setattr("subprocess.run", lambda command, check: commands.append(command))
    values: dict[str, Any] = {}
    exec(parameters.source, values)
    assert values["ADDRESS"] == ""

    if package is None:
        with pytest.raises(
            ValueError, match=r"^Set ADDRESS to git\+ and the address of the repository, or to a wheel; "
        ):
            exec(install.source, values)
        assert commands == []
    else:
        exec(install.source, values | {"ADDRESS": address})
        ((_, *words),) = commands
        assert words == ["-m", "pip", "install", "--quiet", package.format(here=tmp_path)]


@pytest.mark.notebook
@EACH
def test_it_runs_from_top_to_bottom_and_gives_what_is_committed(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    execute = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))["execute"]
    executed, committed = code_of(execute(file.with_suffix(".py"), work)), code_of(read(file))
    assert [words(cell) for cell in executed] == [words(cell) for cell in committed]
    pairs = zip(executed, committed, strict=True)
    compared = [(cell, old) for cell, old in pairs if "compared" in cell.metadata.get("tags", [])]
    for cell, old in compared:
        far = CLOSE * (100 if "points of accuracy" in cell.source else 1)
        assert numbers(old)
        assert numbers(cell) == pytest.approx(numbers(old), rel=0, abs=far)
    assert compared
    assert list(work.glob(LEAVES[file.stem]))
