"""Cells as a report reads them from a folder, and their trials and levels from predictions as training keeps them."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.cli.report_command import OPTIONS
from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import METRICS, metric_named
from scarf_lightning.options.settings import DatasetSettings
from scarf_lightning.reporting.cell_results import (
    CellResults,
    ReportedCell,
    cells_of_folder,
    curves_of,
    environments,
    narrowed,
    read_results,
)
from scarf_lightning.results import CellStore, Predictions, fingerprint
from scarf_lightning.verdicts import Verdict, error_parts, judge
from scarf_lightning.verdicts.trials import NOT_KEPT, difference_of
from tests.cells import identity_of, some_config, some_record
from tests.reporting.cell_results import results_of
from tests.reporting.store import described
from tests.verdicts.worlds import verdict_of


def leave(
    results: Path,
    trials: range,
    *,
    data: str = "0" * 64,
    name: str = "wdbc",
    source: str = "somewhere",
    column: str = "V1",
    **chosen: Any,
) -> CellStore:
    """A cell in the store with these trials."""
    config = some_config(**chosen)
    store = CellStore(results, identity_of(config, data))
    columns = [{"name": column, "categories": None}]
    store.describe(dataset=name, dataset_id=1510, source=source, **described(config) | {"columns": columns})
    if trials:
        store.add(some_record(trials, pretrained=chosen.get("pretrain") != "none"))
    return store


def reported(store: CellStore | None, trials: int = 3) -> ReportedCell:
    axes = {"dataset": "wdbc", "pretrain": "scarf"}
    return ReportedCell(axes, 1510, None if store is None else store.folder, trials)


def test_only_the_trials_that_are_asked_for_are_read(tmp_path: Path) -> None:
    store = leave(tmp_path, range(5))

    results, fewer = read_results([reported(store)]), read_results([reported(store, trials=2), reported(None)])

    assert results.trials["trial"].tolist() == [0, 1, 2]
    assert results.trials["accuracy"].tolist() == pytest.approx([0.5, 0.51, 0.52])
    assert results.cells[["wanted", "finished"]].to_numpy().tolist() == [[3, 3]]
    curves = curves_of(fewer, [0])
    assert set(curves["trial"]) == {0, 1}
    assert set(curves["phase"]) == {"pretrain", "finetune"}
    assert curves_of(fewer, [1]).empty


def test_a_trial_that_diverged_is_finished_and_has_no_metrics(tmp_path: Path) -> None:
    store = leave(tmp_path, range(2))
    store.add(some_record([2], diverged="finetune", **{metric.name: None for metric in METRICS}))

    results = read_results([reported(store)])

    assert results.cells["finished"].tolist() == [3]
    assert results.trials["diverged"].tolist() == [False, False, True]
    assert results.trials["accuracy"].isna().tolist() == [False, False, True]


def test_damaged_records_and_descriptions_are_named_and_left_out(tmp_path: Path) -> None:
    store = leave(tmp_path, range(2))
    store.add(some_record([2]))
    torn = next(store.folder.glob("stacks/0002-*"))
    (torn / "curves.parquet").write_bytes(b"torn")

    results = read_results([reported(store)], {Path("known"): "so it is"})

    assert results.damaged == {Path("known"): "so it is", torn: "curves.parquet is torn"}
    assert results.trials["trial"].tolist() == [0, 1]
    assert set(curves_of(results, [0])["trial"]) == {0, 1}
    assert len(environments(results)) == 1
    described_so = leave(tmp_path, range(1), pretrain="none").folder / "cell.json"
    described_so.write_text("{")
    cells, damaged, _ = cells_of_folder(tmp_path)
    assert (len(cells), damaged) == (1, {described_so: "cell.json is torn"})
    with pytest.raises(UsageError, match=r"holds no results; train a cell first, or name another folder\.$"):
        cells_of_folder(tmp_path / "nowhere")


def test_a_folder_asks_for_all_it_has_in_the_papers_order(tmp_path: Path) -> None:
    for pretrain, trials in (("scarf_ae", 2), ("none", 4), ("scarf", 3)):
        leave(tmp_path, range(trials), pretrain=pretrain)

    cells, *_ = cells_of_folder(tmp_path)

    assert [(cell.axes["pretrain"], cell.trials) for cell in cells] == [("none", 4), ("scarf", 3), ("scarf_ae", 2)]


def test_numbers_stand_by_their_size(tmp_path: Path) -> None:
    for rate in (0.6, 0.05, 0.3):
        leave(tmp_path, range(1), corruption={"name": "marginal", "rate": rate})
    assert [cell.axes["corruption.rate"] for cell in cells_of_folder(tmp_path)[0]] == [0.05, 0.3, 0.6]


def with_columns(*values: str) -> list[ReportedCell]:
    return [ReportedCell({"dataset": "wdbc", "corruption.columns": each}, None, None, 3) for each in values]


@pytest.mark.parametrize(("argument", "left"), [("[a,b]", 1), ("[c]", 1), ("[a,b],[c]", 2), ("[c],[a,b]", 2)])
def test_cells_are_narrowed_by_lists_too(argument: str, left: int) -> None:
    assert len(narrowed(with_columns("[a,b]", "[c]"), [f"corruption.columns={argument}"])) == left


def test_a_value_that_no_cell_has_is_answered_with_those_that_some_have() -> None:
    with pytest.raises(UsageError, match=r"No cell has corruption\.columns=\[a\]\. .*columns are: \[a,b\], \[c\]"):
        narrowed(with_columns("[a,b]", "[c]"), ["corruption.columns=[a]"])


@pytest.mark.parametrize(
    ("argument", "near"), [("output=F", "out"), ("metrc=mae", "metric"), ("pretrian=none", "pretrain"), ("zz=1", "")]
)
def test_what_is_no_option_of_a_report_is_answered_with_the_nearest_one(argument: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        narrowed([ReportedCell({"pretrain": "none"}, None, None, 1)], [argument], OPTIONS)
    said = str(caught.value)
    assert said.startswith(f"{argument} is not an option of a report, nor a column of its results. ")
    assert (f"Did you mean {near}? " in said) == bool(near)
    assert "scarf report --help" in said


def test_versions_of_a_table_are_one_dataset_and_other_tables_of_its_name_are_others(tmp_path: Path) -> None:
    """Two files train.csv may have no column in common."""
    for data in ("b" * 64, "a" * 64):
        leave(tmp_path / "versions", range(1), data=data)
    for data, source, column in (("a" * 64, "iris/train.csv", "V1"), ("b" * 64, "wine/train.csv", "V2")):
        leave(tmp_path / "tables", range(1), data=data, source=source, column=column)

    cells, _, sentences = cells_of_folder(tmp_path / "versions")
    others, _, none = cells_of_folder(tmp_path / "tables")

    newest = tmp_path / "versions" / fingerprint(identity_of(some_config(), "a" * 64))
    assert [(cell.axes["dataset"], cell.folder) for cell in cells] == [("wdbc", newest)]
    (sentence,) = sentences
    assert sentence.startswith("Left out: 1 cell of ")
    assert [cell.axes["dataset"] for cell in others] == ["wdbc (aaaaaa)", "wdbc (bbbbbb)"]
    assert none == []


def of_file(**options: list[str] | str | None) -> DatasetSettings:
    return DatasetSettings("csv", name="mine", path="mine.csv", target="y", **options)  # type: ignore[arg-type]


def test_readings_of_one_file_are_one_dataset(tmp_path: Path) -> None:
    for number, drop in enumerate((["a"], ["b"], None)):
        leave(tmp_path / "drops", range(2), data=str(number) * 64, name="mine", dataset=of_file(drop=drop))
    results = read_results(cells_of_folder(tmp_path / "drops")[0])
    assert set(results.cells["dataset"]) == {"mine"}
    assert sorted(results.cells["dataset.drop"]) == ["[a]", "[b]", "null"]
    assert results.different == ["dataset.drop"]
    assert results.usual["dataset.drop"] == "null"

    # A file that is read alike and differs has its hash in its name.
    for data, drop in (("1", ["a"]), ("2", ["a"]), ("3", None)):
        own: dict[str, Any] = {"source": data, "column": f"V{data}"}  # which makes it no version of another
        leave(tmp_path / "files", range(2), data=data * 64, name="mine", dataset=of_file(drop=drop), **own)
    cells, *_ = cells_of_folder(tmp_path / "files")
    assert {cell.axes["dataset"] for cell in cells} == {"mine (111111)", "mine (222222)", "mine"}


def test_options_that_set_several_are_a_column_if_all_cells_name_them() -> None:
    def named(*overrides: str) -> ReportedCell:
        return ReportedCell({"dataset": "wdbc", "pretrain": "none", "method": "control"}, None, None, 1, overrides)

    results = read_results([named("max_epochs=5", "recipe=paper"), named("max_epochs=10", "recipe=paper")])
    assert results.cells["max_epochs"].tolist() == [5, 10]
    assert "recipe" not in results.axes
    assert results.different == ["max_epochs"]
    assert "max_epochs" not in read_results([named("max_epochs=5"), named()]).axes


TRIALS, ROWS = 4, 60
ACCURACY = metric_named("accuracy")
Keep = Callable[..., CellResults]


def right(seed: int = 0) -> np.ndarray:
    """Which test rows two cells get right, ``(2, T, n)``; a row is easy or hard in all trials."""
    random = np.random.default_rng(seed)
    ease = random.uniform(0, 1, (2, 1, ROWS)) ** 0.3
    return random.random((2, TRIALS, ROWS)) < ease


def verdict_on_first(results: CellResults) -> Verdict:
    """The verdict on the first cell beside the second one."""
    sides = ([results.measured(cell, ACCURACY)] for cell in (0, 1))
    return judge([difference_of(*sides, ACCURACY)], ACCURACY)


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Keep:
    """Results of two cells whose predictions have their rows in these orders, one a trial."""

    def kept(orders: list[np.ndarray], split: str = "column", lost: int = 0) -> CellResults:
        def predictions(_: CellResults, cell: int) -> dict[int, Predictions]:
            found = {}
            for trial, order in list(enumerate(orders))[lost:]:
                correct = right()[cell, trial][order]
                probabilities = np.column_stack([correct, ~correct]).astype(np.float64)
                target = Classes(("a", "b"))
                found[trial] = Predictions(trial, 100 + order, np.zeros(ROWS, dtype=np.int64), probabilities, target)
            return found

        monkeypatch.setattr(CellResults, "predictions_of", predictions)
        cells = [{"dataset": "a", "pretrain": name, "split": split} for name in ("scarf", "none")]
        return results_of([(cell, right()[n].mean(axis=1).tolist()) for n, cell in enumerate(cells)])

    return kept


def aligned(orders: list[np.ndarray]) -> list[np.ndarray]:
    """The differences on the rows of each trial in its order."""
    rows = right()[0].astype(float) - right()[1]
    return [rows[trial][order] for trial, order in enumerate(orders)]


def shuffled(seed: int = 1) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.permutation(ROWS) for _ in range(TRIALS)]


@pytest.mark.parametrize("orders", [shuffled(), [np.arange(ROWS)] * TRIALS], ids=["shuffled", "sorted"])
def test_rows_are_compared_with_themselves_in_whatever_order_a_trial_has_them(keep: Keep, orders: list) -> None:
    results = keep(orders)
    found, level = verdict_on_first(results), results.level_of(0, ACCURACY)

    assert found.difference == pytest.approx(np.mean(aligned(orders)))
    assert found.basis == "rows and fits"
    assert level.high - level.low > 0.1, "an error of rows is not averaged away by more trials"
    # The formula of another kind of target does not fit these predictions, so it is not tried on them.
    assert results.measured(0, metric_named("rmse")).rows == {}


def test_rows_in_the_order_of_time_are_blocks_of_neighbours_and_groups_are_units(keep: Keep) -> None:
    order = np.random.default_rng(1).permutation(ROWS)
    blocks = np.repeat(np.arange(10), ROWS // 10)

    assert verdict_on_first(keep([order] * TRIALS, "time")).parts == error_parts(
        aligned([order] * TRIALS), [blocks] * TRIALS, 0
    )
    groups = verdict_on_first(keep(shuffled(), "group")).parts
    assert groups is not None
    assert groups.n_tested == 1, "all rows are always tested together"


def test_a_pair_of_which_a_trial_lacks_its_predictions_takes_them_from_none(keep: Keep) -> None:
    found = verdict_on_first(keep(shuffled(), "random", lost=1))
    assert (found.basis, found.trials) == ("resampled t-test", TRIALS)


def without_predictions(split: str, *values: list[float], **sizes: int) -> CellResults:
    cells = [{"dataset": "a", "pretrain": name, "split": split} for name in ("scarf", "none")]
    results = results_of(list(zip(cells, values, strict=False)))
    return replace(results, trials=results.trials.assign(**sizes))


@pytest.mark.parametrize("sizes", [{}, {"n_test": 50, "n_train": 200, "n_labelled": 200}])
def test_without_predictions_the_resampled_test_stays_and_fixed_splits_have_no_verdict(sizes: dict[str, int]) -> None:
    values = [0.91, 0.93, 0.94, 0.92], [0.90, 0.91, 0.90, 0.91]
    known = {"test_to_train": 50 / 200, "n_test": 50} if sizes else {}

    found = verdict_on_first(without_predictions("random", *values, **sizes))
    fixed = verdict_on_first(without_predictions("column", *values, **sizes))

    assert found == verdict_of(np.array(values[0]) - np.array(values[1]), **known)
    assert (fixed.basis, fixed.answer, fixed.reason) == ("none", "undecided", NOT_KEPT)
    assert math.isnan(without_predictions("time", [0.9, 0.92, 0.95]).level_of(0, ACCURACY).low)
