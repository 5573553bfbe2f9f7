"""The estimators are the engine: what they give, what they are given, and what they refuse."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from scarf_lightning import ScarfClassifier, ScarfRegressor, ScarfTransformer, load_model
from scarf_lightning.data.splits import Random
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.fitting import WithoutTest
from scarf_lightning.options import build_parts
from scarf_lightning.results import load_cell
from scarf_lightning.training import CellTraining
from tests.composing import ROOT, config_of
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
            'options={"dataset.text": ["key"]} reads it.'
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


NUMBERS = np.asarray(1000 + 50 * X["a"] + 20 * (X["c"] == "u"))


@pytest.fixture(scope="module")
def fitted() -> Any:
    return small(is_regressor=True, n_trials=2).fit(X, NUMBERS)


def test_predictions_are_in_the_unit_of_y_and_alike_after_saving(fitted: Any, tmp_path: Path) -> None:
    predicted = fitted.predict(X)
    assert predicted.shape == (N,)
    assert 900 < predicted.mean() < 1100
    assert {"rmse", "mae", "r2", "spearman"} <= set(fitted.trials_)
    assert "accuracy" not in fitted.trials_
    fitted.save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert np.array_equal(model.predict(X), predicted)
    with pytest.raises(UsageError, match="has no classes, and so no probabilities"):
        model.predict_proba(X)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"method": "label_smoothing"}, r"^method=label_smoothing does not go with dataset\.target_kind=number: it "),
        ({"metric": "auroc"}, r"^metric=auroc does not measure numbers. Their metrics are: rmse, mae, "),
    ],
)
def test_what_is_for_classes_is_refused(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        small(is_regressor=True, **parameters).fit(X, NUMBERS)


@pytest.mark.parametrize(
    "options",
    [{}, pytest.param({"encoding": "ordinal"}, marks=pytest.mark.slow)],
    ids=["defaults", "codes"],
)
def test_it_is_the_pre_training_of_the_engine(options: dict[str, str]) -> None:
    rows = X.assign(a=X["a"].where(X.index % 7 != 0), c=pd.Categorical(X["c"], categories=["v", "u", "w"]))
    fitted = ScarfTransformer(device="cpu", n_trials=2, options=OF_ENCODERS | options).fit(rows)
    config = config_of(*overrides(OF_ENCODERS | options))
    halves = Table.from_frame(rows, y, categorical=[False, False, True], name="X", source="X")
    read = replace(halves, labels=np.zeros(N, dtype=np.int64), target=Classes(("",)))
    parts = build_parts(config)
    assert parts.pretext is not None
    stack = CellTraining.prepare(config, read, CPU, splitting=WithoutTest).stack((0, 1))  # noqa: PD013
    weights = stack.pretrain(config.pretrain, parts.pretext).part("encoder")
    with torch.no_grad():
        expected = stack.networks.encoder((0, 1), weights)(stack.raw(np.tile(np.arange(N), (2, 1)))).numpy()
    assert fitted.trials_["pretrain_epochs"].tolist() == [2, 2]
    np.testing.assert_array_equal(fitted.transform(rows), np.concatenate(list(expected), axis=1))
    assert (expected[0] != expected[1]).any()


def test_the_labels_are_not_looked_at_and_it_can_be_carried_away(tmp_path: Path) -> None:
    plain, with_labels = (ScarfTransformer(device="cpu", options=OF_ENCODERS).fit(X, its) for its in (None, y))
    plain.save(tmp_path / "m")
    carried = load_model(tmp_path / "m")
    for model in (with_labels, carried):
        np.testing.assert_array_equal(model.transform(X), plain.transform(X))
    with pytest.raises(UsageError, match="has encoders alone, which predict nothing; use transform"):
        carried.predict(X)


def test_without_labels_and_a_pre_training_there_is_nothing_to_learn() -> None:
    with pytest.raises(UsageError, match=r"ScarfTransformer pre-trains; choose a pretrain other than none\."):
        ScarfTransformer(pretrain="none").fit(X)
    with pytest.raises(UsageError, match="ScarfTransformer has no labels, and pretrain=target_aware uses them"):
        ScarfTransformer(options={"pretrain": "target_aware"}).fit(X)


SMALL: dict[str, Any] = {
    "network.encoder.width": 32,
    "network.encoder.depth": 2,
    "network.pretrain_head.width": 16,
    "pretrain.max_epochs": 2,
    "trainer.precision": "64-true",  # the checks compare predictions of one row and of many to the seventh digit
}
OF_A_TARGET = SMALL | {
    "network.head.width": 16,
    "finetune.batch_size": 16,
    "finetune.max_epochs": 12,
    "finetune.learning_rate": 0.01,
    "finetune.patience": None,
}
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows are split and drawn otherwise than weighted ones",
}
"""The checks that fail, and why they may. docs/models.md names them."""


def test_the_page_on_models_names_the_checks_that_fail() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    (sentence,) = [part for part in page.split("\n\n") if "scikit-learn's own checks" in part]
    assert set(re.findall(r"check_\w+", sentence)) == set(EXPECTED)


@parametrize_with_checks(
    [
        ScarfTransformer(device="cpu", options=SMALL),
        ScarfClassifier(device="cpu", n_trials=1, options=OF_A_TARGET),
        ScarfRegressor(device="cpu", n_trials=1, options=OF_A_TARGET),
    ],
    expected_failed_checks=lambda estimator: {} if isinstance(estimator, ScarfTransformer) else EXPECTED,
)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.slow
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_embeddings_feed_a_pipeline_and_have_names() -> None:
    transformer = ScarfTransformer(device="cpu", n_trials=2, options=OF_ENCODERS)
    pipeline = make_pipeline(transformer, StandardScaler(), LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) > 0.7
    frame = clone(pipeline[0]).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == [f"embedding_{trial}_{n}" for trial in (0, 1) for n in range(8)]
    assert (frame.iloc[:, :8].to_numpy() != frame.iloc[:, 8:].to_numpy()).any()
