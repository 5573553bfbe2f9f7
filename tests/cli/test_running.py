"""Sweeps that go on until they are answered, and the time limit of all."""

import math
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import scarf_lightning
from scarf_lightning.cli import running
from scarf_lightning.cli.show import Terminal
from scarf_lightning.cli.signals import OutOfTime
from scarf_lightning.errors import UnfinishedError
from scarf_lightning.options.settings import TrainerSettings
from scarf_lightning.results import read_looks
from scarf_lightning.sweeping.cell import State
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.plan import Plan
from scarf_lightning.sweeping.sizes import Size
from tests.cells import some_cell
from tests.composing import cells_of, request_of
from tests.processes import TINY

SWEEP = """\
title: T
trials: 2
rounds: [2, 3]
cells:
  - {regime: full, method: control, pretrain: [none, scarf]}
  - {regime: few, regime.labels: [20, 30, 90, 400], method: control, pretrain: [none, scarf]}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep and a table, in one place for all tests: parts that were composed are composed no more."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "mine.yaml").write_text(SWEEP, encoding="utf-8")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(120, 3)), columns=list("abc"))
    frame.assign(target=np.where(frame["a"] > 0, "yes", "no")).to_csv(folder / "mine.csv", index=False)
    return folder


@pytest.fixture
def asked(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    return [f"sweeps={files / 'mine.yaml'}", f"dataset={files / 'mine.csv'}", "dataset.target=target", *TINY]


def over(*_: object, **__: object) -> None:
    raise OutOfTime


@pytest.mark.slow
def test_open_comparisons_get_more_trials_and_budgets_beyond_the_table_are_left_out(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    trials = scarf_lightning.run(asked)

    assert sorted(trials["regime.labels"].dropna().unique()) == [20, 30, 90]
    assert set(trials.groupby("fingerprint")["trial"].count()) == {3}, "too few for any verdict: all go on"
    said = capsys.readouterr()
    assert "Left out: 400 labels; mine has 96 to learn from." in said.err
    assert "So far: On mine, beside the network with no pre-training:" in said.err
    # What a round has shown is a look, so a further one is stricter.
    looks = read_looks(Path("results"))
    assert {look["trials"] for look in looks} == {3}
    assert len({str(look["pairs"]) for look in looks}) == len(looks)
    assert said.err.count("mine.csv: 120 rows") == 1

    page = scarf_lightning.report(asked)

    assert page.answer[0].startswith("Use the network")
    assert page.answer[1] == "On mine, beside the network with no pre-training:"
    assert (page.index.parent / "figures" / "label-curve.svg").exists()
    assert not any("unfinished" in note for note in page.notes)


@pytest.mark.slow
def test_trials_on_the_command_line_take_the_place_of_rounds(asked: list[str]) -> None:
    trials = scarf_lightning.run([*asked, "trials=4"])

    assert set(trials.groupby("fingerprint")["trial"].count()) == {4}


@pytest.mark.slow
def test_when_the_time_is_over_what_is_finished_is_shown_and_the_same_command_goes_on(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, calls = running.run, []

    def once(*arguments: object, **others: object) -> object:
        calls.append(arguments)
        return real(*arguments, **others) if len(calls) == 1 else over()  # type: ignore[arg-type]

    monkeypatch.setattr(running, "run", once)
    first = scarf_lightning.run([*asked, "time_limit=1h"])

    assert set(first["regime"]) == {"full", "few"}
    assert "time_limit=1h is over; the same command goes on." in capsys.readouterr().err


def table_of(n_labelled: int, **more: Any) -> Any:
    return SimpleNamespace(n_labelled=n_labelled, n_rows=n_labelled, n_copies=0, columns=list("abc"), **more)


class SayingTerminal(Terminal):
    """Keeps what it is to say, and shows nothing."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def results(self, *shown: object) -> None:
        pass


def test_models_without_a_network_come_first_and_pre_trained_ones_last() -> None:
    models = [("control", "scarf"), ("control", "none"), ("logistic", "none")]
    regimes = [{"name": "few", "labels": 20}, {"name": "full"}, {"name": "few", "labels": 50}]
    cells = []
    for (method, pretrain), regime in product(models, regimes):
        cells.append(some_cell(method={"name": method}, pretrain=pretrain, regime=regime))
    said = SayingTerminal()

    ordered = running.training_order(cells, {}, said)

    kinds = []
    for cell in ordered:
        is_network = cell.config.method["name"] == "control"
        kinds.append((is_network, cell.config.pretrain.name != "none", -cell.config.regime.get("labels", math.inf)))
    assert kinds == sorted(kinds)
    assert {kind[:2] for kind in kinds} == {(False, False), (True, False), (True, True)}
    assert said.sentences == []


@pytest.mark.slow
def test_few_labels_come_first_where_all_labels_take_longer_than_there_is_time(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = cells_of(*asked, "time_limit=1h")
    tables = {cells[0].source.key: table_of(120)}
    monkeypatch.setattr(Plan, "seconds", 2 * 3600.0)
    said = SayingTerminal()

    ordered = running.training_order(running.surely_fitting(cells, tables), tables, said)

    shown = [(cell.config.pretrain.name, cell.config.regime.get("labels")) for cell in ordered]
    assert shown == [(pretrain, labels) for pretrain in ("none", "scarf") for labels in (20, 30, 90, None)]
    (sentence,) = said.sentences
    assert "about 2 h on one core, longer than time_limit=1h, so few labels come first" in sentence


@pytest.mark.slow
def test_budgets_that_a_table_may_lack_wait_until_it_is_known(asked: list[str]) -> None:
    cells = cells_of(*asked)
    key = cells[0].source.key

    def budgets(table: Any) -> set[Any]:
        return {cell.config.regime.get("labels") for cell in running.surely_fitting(cells, {key: table})}

    # Of 120 rows 24 are tested.
    assert budgets(table_of(120)) == {None, 20, 30, 90}
    assert budgets(table_of(112)) == {None, 20, 30}
    assert budgets(table_of(25)) == {None}
    # Copies stay in one part, so that parts may have other sizes.
    copies = table_of(50)
    copies.n_copies = 3
    assert budgets(copies) == {None, 20}
    assert {cell.config.regime.get("labels") for cell in running.surely_fitting(cells, {})} == {None}


def test_no_file_is_read_if_all_cells_are_finished(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def unread(_: object) -> Any:
        raise AssertionError("a file was read although all of its cells are finished")

    finished = [SimpleNamespace(state=State.FINISHED)]
    monkeypatch.setattr(running, "survey", lambda cells: finished)
    monkeypatch.setattr(running, "sufficiently_labelled", lambda cells: (cells, []))
    monkeypatch.setattr(running, "read_files", unread)

    assert running._tables_to_train(cells_of(*asked)) == {}


def test_a_plan_has_the_cells_that_will_run(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "run", lambda request, *others: request)

    planned: Any = running.run_all(request_of(*asked, "plan=true"), lambda _: None, SayingTerminal())

    assert [cell.config.trials for cell in planned.cells] == [2] * 8
    assert planned.left_out == ("400 labels; the table has 120, a fifth of them for testing.",)


def test_a_limit_counts_what_has_gone_and_keeps_time_for_the_report_and_the_model(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = cells_of(*asked, "time_limit=5min")
    request = ExpandedSweep(cells)
    monkeypatch.setattr(running, "seconds_gone", lambda: 12.0)
    # Two trials of each cell are asked for, and three networks are kept.
    monkeypatch.setattr(running, "expected_seconds", lambda cells, _: [(cells[0], 2.0), (cells[1], 8.0)])

    assert running.seconds_to_train(request, ends_with_model=False) == 300 - 12
    assert running.seconds_to_train(request, ends_with_model=True) == 300 - 12 - 8 - 3 * 8 / 2
    short = ExpandedSweep(cells_of(*asked, "time_limit=30s"))
    assert running.seconds_to_train(short, ends_with_model=True) == pytest.approx(30 - 12 - 0.5 * 30)
    assert running.seconds_to_train(ExpandedSweep(cells_of(*asked)), ends_with_model=True) is None
    # On a busy machine the end takes as much longer as the start did.
    monkeypatch.setattr(running, "slowdown", lambda: 3.0)
    assert running.seconds_to_train(request, ends_with_model=True) == 300 - 12 - 3 * (8 + 3 * 8 / 2)
    # A start that took all of it leaves something.
    monkeypatch.setattr(running, "seconds_gone", lambda: 400.0)
    assert running.seconds_to_train(request, ends_with_model=True) == pytest.approx(30)


def test_the_size_of_a_table_that_was_read_tells_how_long_its_model_takes(asked: list[str]) -> None:
    cells = cells_of(*asked, "time_limit=30min")
    request, sizes = ExpandedSweep(cells), {cells[0].source.key: Size(100_000, 30)}

    unread = running.seconds_to_train(request, ends_with_model=True)
    read = running.seconds_to_train(request, ends_with_model=True, sizes=sizes)

    assert unread is not None
    assert read is not None
    assert read < unread - 5
    # A pre-trained cell is expected to take longer.
    full = [cell for cell in cells if "labels" not in cell.config.regime]
    (scratch, pretrained) = running.expected_seconds(full)
    assert [cell.config.pretrain.name for cell, _ in (scratch, pretrained)] == ["none", "scarf"]
    assert 0 < scratch[1] < pretrained[1]


def test_a_run_that_is_out_of_time_says_so(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*options: str) -> list[str]:
        terminal = SayingTerminal()
        running.run_all(request_of(*options, "time_limit=2min"), lambda _: None, terminal)
        return terminal.sentences

    monkeypatch.setattr(running, "run", over)
    for options in (asked, asked[1:]):
        with pytest.raises(UnfinishedError, match="time_limit=2min was over before a trial was finished; raise it"):
            ended(*options)
    # Rounds answer with what there is; without rounds a script must see that cells are missing.
    monkeypatch.setattr(running, "survey", lambda cells: [SimpleNamespace(rows=[{"n_labels": 1}], cell=cells[0])])
    with pytest.raises(UnfinishedError, match="time_limit=2min is over; the same command goes on"):
        ended(*asked[1:])


@pytest.mark.parametrize(
    ("settings", "n_found", "expected"),
    [
        (TrainerSettings(accelerator="cpu"), 2, []),
        (TrainerSettings(accelerator="auto"), 0, []),
        (TrainerSettings(accelerator="auto"), 2, [0, 1]),
        (TrainerSettings(accelerator="cuda"), 2, [0, 1]),
        (TrainerSettings(accelerator="cuda", device=1), 2, [1]),
        (TrainerSettings(accelerator="cuda"), 0, [0]),  # one process says that there is none
    ],
)
def test_processes_may_train_on_the_gpus_that_torch_finds(
    settings: TrainerSettings, n_found: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin_cuda() -> bool:
        raise AssertionError("forks could not use CUDA any more")

    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_found)
    monkeypatch.setattr(torch.cuda, "is_available", begin_cuda)
    assert running.OwnTraining().gpus(settings) == expected
