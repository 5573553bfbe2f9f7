"""The answer of a sweep in its loggers, as their files have it."""

import json
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from scarf_lightning.cli import commands
from scarf_lightning.cli.logged_answers import LOGGED
from tests.loggers.wandb_files import runs, table
from tests.processes import TINY, here

PRODUCT = ("trials=3", *TINY, "corruption=mean,marginal", "scaling=zscore,minmax", "logger=[wandb,tensorboard]")


@pytest.mark.slow
def test_a_sweep_ends_in_a_run_of_its_answers_and_each_cell_has_its_own(tmp_path: Path) -> None:
    results = tmp_path / "results"
    asked = (*PRODUCT, f"paths.results={results}")
    ran = here(commands.train, *asked, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr

    found = runs(results)
    (sweep,) = [run for run in found if run.id.startswith("sweep-")]
    cells = [run for run in found if run is not sweep]
    sentences = sweep.notes.splitlines()
    assert [each.partition(":")[0] for each in sentences[:3]] == [
        "Scaling", "Corruption", "Interaction of scaling and corruption",
    ]  # fmt: skip
    on_screen = " ".join(ran.stdout.split())
    assert all(each in on_screen for each in sentences), "the screen and the run say the same"
    effects = table(results, sweep, "effects")
    difference, place = effects["columns"].index("difference"), effects["columns"].index("effect")
    assert {row[place] for row in effects["data"]} >= {"scaling", "corruption", "scaling × corruption"}
    assert sum(key.startswith("figures/effects.path") for step in sweep.history for key in step) == 1

    answers = {run.name.partition(" ")[2]: run.summary["answer"] for run in cells}
    assert answers.pop("corruption=marginal scaling=zscore") == "reference"
    assert len(answers) == 3
    # A cell is compared with the cell of both references, an effect with its axis' first value.
    for run in cells:
        if run.summary["answer"] != "reference":
            ends = (run.summary[f"difference{end}"] for end in ("_low", "", "_high"))
            low, middle, high = ends
            assert low <= middle <= high
            assert run.summary["against"] in run.notes
    assert all(isinstance(row[difference], float) for row in effects["data"])

    # TensorBoard has the sentences as a text, and the difference among its scalars.
    (folder,) = (results / "tensorboard").glob("*/*sweep-*")
    events = EventAccumulator(str(folder)).Reload()
    assert "notes/text_summary" in events.Tags()["tensors"]

    before = {path: path.stat().st_mtime_ns for path in (results / "wandb").glob("offline-run-*")}
    again = here(commands.train, *asked, cwd=tmp_path)
    assert again.returncode == 0
    after = {path: path.stat().st_mtime_ns for path in (results / "wandb").glob("offline-run-*")}
    assert after == before, "what has not changed is not written again"
    assert len(json.loads((results / LOGGED).read_text())["wandb,tensorboard"]) == 4


@pytest.mark.slow
def test_a_file_of_logged_answers_that_is_broken_writes_them_again(tmp_path: Path) -> None:
    results = tmp_path / "results"
    asked = ("trials=2", *TINY, "corruption=mean,marginal", "logger=csv", f"paths.results={results}")
    assert here(commands.train, *asked, cwd=tmp_path).returncode == 0
    (results / LOGGED).write_text("{", encoding="utf-8")

    assert here(commands.train, *asked, cwd=tmp_path).returncode == 0
    assert len(json.loads((results / LOGGED).read_text())["csv"]) == 2
