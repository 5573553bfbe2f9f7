"""The estimators are the engine: what they give, what they are given, and what they refuse."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from scarf_lightning import ScarfClassifier
from scarf_lightning.data.splits import Random
from scarf_lightning.data.table import Table
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.fitting import WithoutTest
from scarf_lightning.results import load_cell
from scarf_lightning.training import CellTraining
from tests.composing import config_of
from tests.estimators.conftest import TrainOn
from tests.estimators.small import OF_ENCODERS, OF_NETWORKS, N, overrides, small, table
from tests.processes import TINY

X, y = table()
CPU = Hardware(torch.device("cpu"), "32-true")
KEYS = [f"k{i}" for i in range(N)]
CELLS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "options": {"corruption": "mean", "corruption.rate": 0.4, "scaling": "minmax", "fit_on": "train"},
    "resnet": {"network": "resnet", "method": "mixup"},
    "codes": {"encoding": "ordinal"},
}
"""Options of estimators, and of cells."""


class TestTheTraining:
    @pytest.mark.parametrize(
        "name", [pytest.param(name, marks=() if name == "defaults" else pytest.mark.slow) for name in CELLS]
    )
    @pytest.mark.filterwarnings("ignore::UserWarning")
    def test_its_cell_is_that_of_the_same_options_bit_for_bit(self, name: str, train_on: TrainOn) -> None:
        options = CELLS[name]
        cell = train_on(*(f"{option}={value}" for option, value in options.items()))
        rows = pd.read_csv(cell.folder.parents[1] / "mine.csv")
        tiny = {option: int(value) for option, value in (each.split("=") for each in TINY[:-1])}
        classifier = ScarfClassifier(
            pretrain="scarf", device="cpu", n_trials=2, options=tiny | options | {"dataset.categorical": ["grade"]}
        )
        task = classifier._read(rows.drop(columns="target"), rows["target"], None)
        training = CellTraining.prepare(task.config, task.table, CPU)
        scores = [row for kept, block in training.stacks((0, 1)) for row in training.run(kept, block).record(kept).rows]
        stored = load_cell(cell.folder.name, cell.folder.parent).trials
        for metric in ("accuracy", "log_loss", "auroc", "pretrain_epochs", "finetune_epochs", "n_labelled"):
            assert [row[metric] for row in scores] == stored[metric].tolist(), metric

    def test_all_rows_train_but_another_tenth_in_each_trial_which_stops_it(self, mixed_table: Table) -> None:
        fitted = small(pretrain="scarf", n_trials=2).fit(X, y)
        config = config_of(*overrides(OF_NETWORKS | OF_ENCODERS))
        read = Table.from_frame(X, y, categorical=[False, False, True], name="X", source="X")
        training = CellTraining.prepare(config, read, CPU, splitting=WithoutTest)
        record = training.run((0, 1)).record((0, 1))
        assert fitted.trials_[["n_train", "n_validation", "n_test"]].to_numpy().tolist() == [[72, 8, 8]] * 2
        assert fitted.trials_["log_loss"].tolist() == [row["log_loss"] for row in record.rows]
        split = WithoutTest(Random()).split(mixed_table, np.random.default_rng(0))
        assert (len(split.train), len(split.validation)) == (54, 6)
        assert sorted([*split.train, *split.validation]) == list(range(60))


class TestLabels:
    def test_rows_without_a_label_train_without_it(self) -> None:
        known, marks = np.arange(N) % 4 == 0, np.array([None, np.nan, -1, pd.NA], dtype=object)
        labels = pd.Series(np.where(X["a"] > 0, 7, 2)).astype(object).where(known, marks[np.arange(N) // 4 % 4])
        with pytest.warns(UserWarning, match="y holds -1 in 15 rows, which have no label"):
            fitted = small().fit(X, labels.to_numpy())
        assert fitted.classes_.tolist() == [2, 7]
        counts = fitted.trials_[["n_labelled", "n_unlabelled", "n_validation"]]
        assert counts.to_numpy().tolist() == [[18, 60, 2]]
        assert set(fitted.predict(X)) <= {2, 7}


class TestRows:
    def test_a_frame_is_read_and_what_is_done_is_said(self) -> None:
        frame = X.assign(key=KEYS, price="1,5", d=["1,5", "2"] * (N // 2))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = small().fit(frame, np.repeat(["rare", "usual"], [4, N - 4]))
        said = [str(each.message) for each in caught]
        assert (
            "Column 'key': it has a different value in every row and is left out; "
            "options={'dataset.text': ['key']} reads it."
        ) in said
        assert fitted.reading_.set_index("column")["kind"].to_dict() == {
            "a": "numbers", "b": "numbers", "c": "categories", "key": "id", "price": "constant", "d": "numbers"
        }  # fmt: skip
        fitted.predict(X.assign(d="2"))
        with pytest.raises(UsageError, match="The rows lack 'd'"):
            fitted.predict(X)

    def test_an_array_is_read_by_the_places_of_a_frames_columns(self) -> None:
        numbers = X[["a", "b"]]
        fitted = small().fit(numbers, y)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            found = fitted.predict_proba(numbers.to_numpy())
        np.testing.assert_array_equal(found, fitted.predict_proba(numbers))

    @pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
    @pytest.mark.parametrize(
        ("rows", "labels", "sentence"),
        [
            (X, [None] * N, "y holds no label; ScarfTransformer learns without labels"),
            (X, ["a"] * N, "has the one class 'a'; two are needed"),
            (X, ["a", "b", *[None] * (N - 2)], "X has 2 rows with a label in 'y'"),
            (pd.concat([X, X[["a"]]], axis=1), y, "X has more than one column 'a'"),
            (X.assign(a=1, b="x", c="y"), y, "X has no column to learn from"),
        ],
    )
    def test_labels_and_rows_that_cannot_be_learned_from_are_refused(
        self, rows: Any, labels: Any, sentence: str
    ) -> None:
        with pytest.raises(UsageError, match=sentence):
            small().fit(rows, labels)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"pretrain": "scarff"},
            r"^pretrain=scarff is not an option\. Did you mean scarf\? The options of pretrain are: ",
        ),
        ({"corruption": "mean"}, "corruption is set, but has no effect on training"),
        (
            {"options": {"corruption.rat": 0.3}},
            r"corruption\.rat is not an option\. Did you mean rate\? The options of cor",
        ),
        ({"options": {"trials": 3}}, "trials is a parameter of its own; set n_trials"),
        ({"class_weight": "fair"}, r"^class_weight=fair is unknown\. Its values are: none, balanced"),
        ({"options": {"paths.results": "x"}}, r"paths\.results belongs to train\.py"),
        ({"method": "self_train"}, "method=self_train does not go with regime=full: it needs unlabelled rows"),
        ({"n_trials": 0}, r"^n_trials=0: it takes a number in"),
        ({"options": {"split": "group"}}, "An estimator splits by a column of X, and not by split=group"),
        ({"options": {"regime": "few"}}, "options: regime belongs to train.py; leave it out"),
        ({"options": {"dataset.drop": ["z"]}}, r"dataset\.drop names 'z', which is not a column of X"),
    ],
)
def test_what_is_wrong_with_parameters_is_said_in_a_sentence(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as raised:
        small(**parameters).fit(X, y)
    assert "\n" not in str(raised.value)


@contextmanager
def default_dtype() -> Iterator[None]:
    torch.set_default_dtype(torch.bfloat16)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    "state",
    [
        torch.inference_mode,
        torch.no_grad,
        default_dtype,
        partial(torch.autocast, "cpu", torch.bfloat16),
        partial(torch.device, "meta"),
    ],
)
def test_what_the_caller_has_set_of_torch_changes_no_number_and_is_back_afterwards(state: Any, small_fit: Any) -> None:
    usual = small_fit.predict_proba(X)
    with state():
        before = torch.is_inference_mode_enabled(), torch.is_grad_enabled(), torch.get_default_dtype()
        fitted = small().fit(X, y)
        found = fitted.predict_proba(X)
        assert before == (torch.is_inference_mode_enabled(), torch.is_grad_enabled(), torch.get_default_dtype())
    np.testing.assert_array_equal(found, usual)
    np.testing.assert_array_equal(fitted.predict_proba(X), usual)
