"""`train.py`'s loop over cells, in a world that is not as it should be."""

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.cli.running import load_training
from scarf_lightning.cli.show import Terminal
from scarf_lightning.data.table import Table
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.results import (
    CellStore,
    KnownData,
    LostClaimError,
    known_data,
    load,
    read_failure,
)
from scarf_lightning.screen import Screen
from scarf_lightning.sweeping.cell import Cell, Job, survey
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.run import run
from scarf_lightning.training.cell_loop import CellLoop
from tests.composing import cells_of, config_of
from tests.processes import TINY_CONTROL
from tests.short_training import training_of

CONTROL = ("trials=1", "pretrain=none", *TINY_CONTROL)
LOGISTIC = ("trials=1", "pretrain=none", "method=logistic", "regime=few")


def ran(folder: Path, *overrides: str) -> str:
    """Train what a command line asks for, in this process and into this folder, and give back what was shown."""
    cells, shown = cells_of(*overrides, f"paths.results={folder}"), io.StringIO()
    loop = CellLoop(output=Screen(file=shown, width=1000))

    def launch(jobs: Sequence[Job]) -> None:
        for job in jobs:
            loop.train(job.cells)

    run(ExpandedSweep(list(cells)), load_training, Terminal(), launch)
    return shown.getvalue()


def test_weights_of_a_finished_cell_are_kept_where_they_are_asked_for_in_time(tmp_path: Path) -> None:
    ran(tmp_path, *CONTROL)
    with pytest.raises(UsageError, match=r": finished trials have no weights; force=true trains them again\.$"):
        ran(tmp_path, *CONTROL, "keep_weights=true")
    ran(tmp_path, *CONTROL, "keep_weights=true", "force=true")
    ran(tmp_path, *CONTROL, "keep_weights=true")
    assert list(tmp_path.glob("*/stacks/*/weights.safetensors"))


def test_a_method_without_a_network_has_no_weights_to_lack(tmp_path: Path) -> None:
    ran(tmp_path, *LOGISTIC)
    ran(tmp_path, *LOGISTIC, "keep_weights=true")


def test_a_part_of_a_job_trains_no_more_trials_of_a_cell_than_it_wants(tmp_path: Path) -> None:
    """A job's other cells may want more: with 20 labels ten trials, with 500 five."""
    (cell,) = cells_of("trials=3", *LOGISTIC[1:], f"paths.results={tmp_path}")
    CellLoop(output=Screen(file=io.StringIO())).train([cell], [2, 3, 4])
    assert list(load(tmp_path)["trial"]) == [2]


def test_curves_are_sent_live_under_the_name_of_the_cells_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[Any, ...]] = []

    def live_curves(_: object, *where: Any) -> AbstractContextManager[None]:
        opened.append(where)
        return nullcontext()

    monkeypatch.setattr("scarf_lightning.loggers.live_curves", live_curves)
    monkeypatch.setattr("scarf_lightning.loggers.write_views", lambda *_: [])

    ran(tmp_path, *LOGISTIC, "logger=csv", "seed=3")

    (found,) = load(tmp_path)["fingerprint"]
    ((results, fingerprint, name, _),) = opened
    assert (results, fingerprint) == (tmp_path, found)
    assert name.startswith("wdbc ")
    assert "seed=3" in name

    ran(tmp_path, *LOGISTIC, "seed=4")
    assert len(opened) == 1, "without a logger nothing is opened"


def test_a_cell_that_was_taken_over_is_said_and_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: object) -> None:
        raise LostClaimError("The cell was taken over.")

    (cell,) = cells_of(*LOGISTIC, f"paths.results={tmp_path}")
    monkeypatch.setattr(CellStore, "add", lose)
    out = io.StringIO()

    CellLoop(output=Screen(file=out)).train([cell])

    assert out.getvalue().endswith("The cell was taken over.\n")
    assert read_failure(cell.results, cell.key) is None


def test_a_cell_that_fails_is_shown_by_its_loggers_as_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no more")

    shown: list[str | None] = []

    def write(view: Any, *_: object) -> list[str]:
        shown.append(view.failure)
        return []

    (cell,) = cells_of(*LOGISTIC, f"paths.results={tmp_path}", "logger=csv")
    monkeypatch.setattr(CellStore, "add", fail)
    monkeypatch.setattr("scarf_lightning.loggers.write_views", write)
    CellLoop(output=Screen(file=io.StringIO())).train([cell])

    (failure,) = shown
    assert str(failure).endswith("RuntimeError: no more")


def test_a_method_must_predict_the_rows_that_it_is_asked_for(wdbc: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    training = training_of(config_of("method=logistic"), wdbc)
    method, run = type(training.parts.method), type(training.parts.method).run

    def predict_fewer_rows(method: Any, stack: Stack, phase: Any) -> Any:
        return run(method, replace(stack, data=replace(stack.data, test=stack.data.test[:, 1:])), phase)

    monkeypatch.setattr(method, "run", predict_fewer_rows)

    with pytest.raises(UsageError, match=r"^method=logistic must predict the rows of stack\.data\.test\.$"):
        training.run([0])


def table_file(path: Path, seed: int) -> Path:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(1000, 9999, (60, 3)), columns=["a", "b", "c"])
    frame.assign(y=random.permutation(["no", "ok"] * 30)).to_csv(path, index=False)
    return path


def hash_now(cell: Cell) -> str:
    return cell.source.load().hash


@pytest.mark.slow
@pytest.mark.parametrize("when", ["between two cells", "while a cell trains"])
def test_a_table_edited_while_a_sweep_trains_is_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = table_file(Path("t.csv"), 0)
    overrides = ("dataset=csv", "dataset.path=t.csv", "dataset.target=y", *LOGISTIC, "scaling=zscore,minmax,none")
    cells = cells_of(*overrides)
    before = hash_now(cells[0])
    usual, trained = CellLoop.train_cell, list[str]()

    def train_cell(loop: CellLoop, cell: Cell, trials: Sequence[int] | None = None) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            if when == "while a cell trains" and not trained:
                add = CellStore.add
                patch.setattr(CellStore, "add", lambda *given: (table_file(file, 1), add(*given)))
            is_ended = usual(loop, cell)
        trained.append(cell.label)
        if when == "between two cells" and len(trained) == 1:
            table_file(Path("new.csv"), 1).replace(file)
        return is_ended

    monkeypatch.setattr(CellLoop, "train_cell", train_cell)
    shown = ran(Path("results"), *overrides)

    after = hash_now(cells[0])
    assert after != before
    assert known_data(Path("results"), cells[0].source) == KnownData(after, 60, 3, 3, "classes")
    assert len(trained) == 4, "the first cell is trained again"
    assert shown.count("t changed while the sweep trained: this cell and those after it") == 1
    assert [len(each.stored.rows) for each in survey(cells)] == [1, 1, 1]
