"""The options of a report that are in files of the user's, by ``--config-dir``."""

from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import scarf_lightning
from scarf_lightning.cli import commands
from scarf_lightning.reporting.blocks import Paragraph, Section
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.making import RowOf
from tests.cells import finish
from tests.composing import cells_of
from tests.processes import here

CSV = "pytorch_lightning.loggers.CSVLogger"


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    """A folder with a logger ``mine``, and with a preset ``short``; its name has what Hydra's grammar has not."""
    folder = tmp_path / "my conf, (new)"
    (folder / "logger").mkdir(parents=True)
    (folder / "experiment").mkdir()
    (folder / "logger" / "mine.yaml").write_text(f"mine:\n  _target_: {CSV}\n  save_dir: logs\n  prefix: ours\n")
    (folder / "experiment" / "short.yaml").write_text("# @package _global_\ntrials: 2\n")
    return folder


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["results=results", "--config-dir"], "--config-dir needs a folder: --config-dir FOLDER.\n"),
        (["results=results", "--config-dir=away"], "--config-dir: there is no folder away; name one with files "),
        (["results=results", "-cd", "away"], "--config-dir: there is no folder away; name one with "),
        (["sweeps=quick", "+experiment=short"], "+experiment=short is not an option; "),
    ],
)
def test_a_folder_that_is_not_there_is_refused(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    ran = here(commands.report, *arguments, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(sentence)


@pytest.mark.slow
def test_a_sweep_is_reported_with_the_preset_that_it_was_trained_with(tmp_path: Path, config_dir: Path) -> None:
    (tmp_path / "mine.yaml").write_text("title: Mine\ncells:\n  - {pretrain: [none, scarf]}\n")
    for cell in cells_of("pretrain=none,scarf", "trials=2", f"paths.results={tmp_path / 'results'}"):
        finish(cell)

    asked = ("sweeps=mine.yaml", "+experiment=short")
    ran = here(commands.report, "--config-dir", str(config_dir), *asked, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert "All 2 cells are finished, 4 of 4 trials." in ran.stdout


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (lambda: 3, "returns a int; it has to return a Section of scarf_lightning.reporting.blocks."),
        (lambda: Section("mine", "Mine", ["a text"]), "returns a list of str; it has to return a list of "),  # type: ignore[list-item]
        (lambda: {}["nix"], "fails, KeyError: 'nix'."),
    ],
)
def test_a_slip_in_a_section_of_the_users_costs_no_other_section(
    returned: Callable[[], Any], sentence: str, tmp_path: Path
) -> None:
    for cell in cells_of("pretrain=none,scarf", "trials=2", f"paths.results={tmp_path / 'results'}"):
        finish(cell)

    def broken(results: CellResults, row_of: RowOf) -> Any:
        return returned()

    def whole(results: CellResults, row_of: RowOf) -> Section | None:
        return Section("whole", "My own section", [Paragraph("As it should be.")])

    written = scarf_lightning.report(results=tmp_path / "results", out=tmp_path / "page", sections=[broken, whole])

    (note,) = [note for note in written.notes if "broken" in note]
    assert note.startswith(f"Not drawn: {__name__}.")
    assert sentence in note
    page = unescape(written.index.read_text(encoding="utf-8"))
    assert note in page
    assert "As it should be." in page
