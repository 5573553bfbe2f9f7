"""The answer of a sweep in W&B, as its files have it."""

from pathlib import Path

import pytest

from scarf_lightning.cli import commands
from tests.loggers.wandb_files import runs
from tests.processes import TINY, here

PRODUCT = ("trials=3", *TINY, "corruption=mean,marginal", "scaling=zscore,minmax", "logger=wandb")


@pytest.mark.slow
def test_a_sweep_ends_in_a_run_of_its_answer(tmp_path: Path) -> None:
    results = tmp_path / "results"
    overrides = (*PRODUCT, f"paths.results={results}")
    ran = here(commands.train, *overrides, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr

    found = runs(results)
    (sweep,) = [run for run in found if run.id.startswith("sweep-")]
    assert len(found) == 5
    assert {run.group for run in found} == {sweep.group}
    on_screen = " ".join(ran.stdout.split())
    assert all(each in on_screen for each in sweep.notes.splitlines()), "the screen and the run say the same"
    assert sweep.summary["answer"] == sweep.notes.splitlines()[0]
    assert sweep.config["cells"] == 4
    assert sum(key.startswith("figures/effects.path") for step in sweep.history for key in step) == 1

    def written() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in (results / "wandb").glob("offline-run-*")}

    before = written()
    assert here(commands.train, *overrides, cwd=tmp_path).returncode == 0
    assert written() == before, "what has not changed is not written again"
