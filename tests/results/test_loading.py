"""Results as tables: all cells of a folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from scarf_lightning.data.targets import Number
from scarf_lightning.errors import RecordWarning, UsageError
from scarf_lightning.reporting.cell_results import cells_of_folder
from scarf_lightning.results import CellStore, columns, few_steps_note, load
from tests.cells import DATA_HASH, described, identity_of, some_config, some_record
from tests.results.sealing import close

REQUIRED = [
    "dataset_id", "dataset", "regime", "scaling", "pretrain", "corruption", "selection", "views", "loss", "method",
    "trial", "accuracy", "pretrain_epochs", "finetune_epochs", "fingerprint",
]  # fmt: skip
WHOLE = ["dataset_id", "trial", "pretrain_epochs", "finetune_epochs"]
USED_IN_PRETRAINING = [
    "corruption", "corruption.rate", "selection", "views", "loss", "loss.temperature", "pretrain.batch_size",
]  # fmt: skip


def store(
    results: Path, *, trials: Sequence[int] = (0, 1), dataset_id: int | None = 1510, **chosen: object
) -> CellStore:
    """A cell with these trials in a results folder."""
    config = some_config(**chosen)
    cell = CellStore(results, identity_of(config, DATA_HASH))
    described(cell, dataset_id=dataset_id, options=columns(config))
    cell.add(some_record(trials, pretrained=config.pretrain.name != "none"))
    return cell


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A pre-trained cell of two trials, and a control of three."""
    folder = tmp_path / "results"
    store(folder)
    store(folder, pretrain="none", trials=range(3))
    (folder / "datasets").mkdir()
    (folder / "datasets" / "wdbc.json").write_text("{}")
    return folder


def test_a_trial_is_a_row_of_the_documented_columns_with_the_values_of_its_cell(results: Path) -> None:
    frame = load(results)

    assert len(frame) == 5
    assert list(frame.columns[:10]) == REQUIRED[:10]
    assert frame.columns.is_unique
    options = {"corruption.rate", "regime.labelled", "finetune.batch_size", "network.encoder.depth", "seed", "n_train"}
    assert options | set(REQUIRED) <= set(frame.columns)
    assert not frame.duplicated(["fingerprint", "trial"]).any()

    row = frame[(frame["pretrain"] == "scarf") & (frame["trial"] == 1)].iloc[0]
    expected = {
        "dataset": "wdbc", "dataset_id": 1510, "regime": "semi25", "regime.labelled": 0.25, "scaling": "zscore",
        "corruption": "marginal", "corruption.rate": 0.6, "selection": "exact", "views": "one", "loss": "infonce",
        "method": "control", "accuracy": 0.51,
        "balanced_accuracy": 0.5, "pretrain_epochs": 12, "finetune_epochs": 7, "network.encoder.depth": 4,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_types_serve_for_calculation_also_where_values_are_missing(results: Path) -> None:
    cell = store(results, dataset_id=None, seed=9)
    cell.add(some_record([2], auroc=float("nan")))

    for frame in (load(results), load(results, [cell.fingerprint])):
        assert {column: str(frame[column].dtype) for column in WHOLE} == dict.fromkeys(WHOLE, "Int64")
        for column in ("accuracy", "balanced_accuracy", "log_loss", "auroc", "corruption.rate"):
            assert str(frame[column].dtype) == "float64"
        for column in ("dataset", "regime", "pretrain", "corruption", "method", "fingerprint"):
            assert pd.api.types.is_string_dtype(frame[column].dropna())
        assert str(frame["pretrain.batch_size"].dtype) == "Int64"
        assert str(frame["pretrain.restore_best"].dtype) == "boolean"
    assert frame["auroc"].isna().tolist() == [False, False, True]
    assert frame["dataset_id"].isna().all()


def test_metrics_of_another_kind_of_target_have_no_column(results: Path) -> None:
    of_numbers = CellStore(results, identity_of(some_config(seed=4), DATA_HASH))
    described(of_numbers, dataset="houses", dataset_id=None, target=Number("price"))
    of_numbers.add(some_record([0], rmse=2.0))
    every = load(results)
    alone = load(results, sorted(set(every["fingerprint"]) - {of_numbers.fingerprint}))

    assert {"rmse", "accuracy"} <= set(every.columns)
    assert {"rmse", "accuracy"} & set(alone.columns) == {"accuracy"}
    assert every.loc[every["dataset"] == "houses", "rmse"].tolist() == [2.0]


@pytest.mark.parametrize("state", ["absent", "empty", "started"])
def test_a_folder_without_results_is_named(state: str, tmp_path: Path) -> None:
    folder = tmp_path / "nothing"
    if state != "absent":
        folder.mkdir()
    if state == "started":
        start(folder)

    with pytest.raises(UsageError) as caught:
        load(folder)

    assert str(caught.value) == f"{folder} holds no results; train a cell first, or name another folder."


def start(results: Path) -> None:
    """A cell without a trial."""
    described(CellStore(results, identity_of(some_config(seed=5), DATA_HASH)))


def test_a_cell_of_another_schema_is_left_out(results: Path) -> None:
    file, other = sorted(results.glob("*/cell.json"))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema": 99}))

    with pytest.warns(
        RecordWarning, match="it has schema 99, and this version reads .*; version unknown wrote it"
    ) as warned:
        frame = load(results)

    assert (len(warned), warned[0].filename) == (1, __file__)
    assert set(frame["fingerprint"]) == {other.parent.name}


def test_what_may_not_be_read_or_listed_is_not_called_none(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of another user, whose mask is 077."""
    close(monkeypatch, "cell.json")
    for make in (load, cells_of_folder):
        with pytest.raises(PermissionError, match=r"cell\.json"):
            make(results)

    close(monkeypatch, results.name)
    with pytest.raises(UsageError, match=r"cannot be read: Permission denied; name another folder\.$"):
        load(results)


def made(*steps: int | None, pretrain: int | None = None) -> list[dict[str, Any]]:
    return [{"finetune_steps": made, "pretrain_steps": pretrain} for made in steps]


def test_a_cell_is_named_with_what_to_do() -> None:
    (sentence,) = few_steps_note([made(5, 7, 400)])

    assert sentence == (
        "The median trial of a cell made 7 optimiser steps in finetune, fewer than 100: networks may have learnt "
        "too little. finetune.min_steps=100 finetune.monitor=loss trains longer."
    )


def test_of_many_cells_the_fewest_are_named_in_one_sentence() -> None:
    cells = [made(5, pretrain=19), made(40, pretrain=900), made(100), made(None)]
    (sentence,) = few_steps_note(cells)

    assert sentence.startswith(
        "The median trial of a cell made 19 optimiser steps in pretrain and 5 optimiser steps in finetune, "
    )


def test_there_may_be_nothing_to_say() -> None:
    nothing: list[list[list[dict[str, Any]]]] = [[], [[]], [[{"finetune_steps": 100}]], [[{"accuracy": 1.0}]]]
    for cells in nothing:
        assert few_steps_note(cells) == []
