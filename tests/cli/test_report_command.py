"""The options of a report that are in files of the user's, by ``--config-dir``."""

from html import unescape
from pathlib import Path

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
        (["results=results", "--config-dir"], "--config-dir/-cd: expected one argument.\n"),
        (["results=results", "--config-dir=away"], "--config-dir: there is no folder away; it has files "),
        (["sweeps=pretraining_curves", "+experiment=short"], "experiment is not an option. "),
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

    arguments = ("sweeps=mine.yaml", "+experiment=short")
    ran = here(commands.report, "--config-dir", str(config_dir), *arguments, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert "All 2 cells are finished, 4 of 4 trials." in ran.stdout


@pytest.mark.slow
def test_sections_of_ones_own_stand_on_the_page_and_in_its_command(tmp_path: Path) -> None:
    for cell in cells_of("pretrain=none,scarf", "trials=2", f"paths.results={tmp_path / 'results'}"):
        finish(cell)

    def mine(results: CellResults, row_of: RowOf) -> Section | None:
        return Section("mine", "My own section", [Paragraph("As it should be.")])

    sections = [mine, lambda results, row_of: None]
    written = scarf_lightning.report(results=tmp_path / "results", out=tmp_path / "page", sections=sections)

    page = unescape(written.index.read_text(encoding="utf-8"))
    assert "As it should be." in page
    assert "<locals>.mine" in page


@pytest.mark.slow
def test_values_are_read_by_the_grammar_of_train(tmp_path: Path) -> None:
    results = tmp_path / "mine, all"
    for cell in cells_of("pretrain=none,scarf", "trials=2", f"paths.results='{results}'"):
        finish(cell)

    ran = here(commands.report, f"results='{results}'", "rope=2e-2", "metric=auroc", cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    several = here(commands.report, "results=a,b", cwd=tmp_path)
    assert several.stderr == "results=a,b: one value; a list is in brackets, [a,b], a text with a comma in quotes.\n"
