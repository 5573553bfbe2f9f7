"""The estimators are the engine: what they give, what they are given, and what they refuse."""

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

from scarf_lightning import ScarfClassifier, ScarfTransformer, load_model
from scarf_lightning.data.splits import Random
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.fitting import WithoutTest
from scarf_lightning.options import build_parts
from scarf_lightning.results import load_cell
from scarf_lightning.training import CellTraining
from tests.composing import config_of
from tests.estimators.conftest import TrainOn
from tests.processes import TINY

OPTIONS: dict[str, Any] = {
    "pretrain.max_epochs": 2,
    "finetune.max_epochs": 2,
    "network.encoder.width": 16,
    "network.encoder.depth": 2,
    "network.pretrain_head.width": 16,
    "network.head.width": 16,
}
"""Those of `TINY`."""
OF_ENCODERS = {name: value for name, value in OPTIONS.items() if "finetune" not in name and ".head" not in name}
IGNORED = pytest.mark.filterwarnings("ignore::UserWarning")


OTHER_TYPES: list[list[Any]] = [[True, False], [2.0, 1.0], ["b", "a"]]


def tiny(**parameters: Any) -> ScarfClassifier:
    options = OPTIONS | parameters.pop("options", {})
    if parameters.get("pretrain") == "none":
        options = {name: value for name, value in options.items() if "pretrain" not in name}
    return ScarfClassifier(options=options, **{"n_trials": 1, "device": "cpu"} | parameters)


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:  # noqa: N802
    random = np.random.default_rng(2)
    return pd.DataFrame({"a": random.normal(size=60), "b": random.choice(["u", "v"], 60)})


@pytest.fixture(scope="module")
def y(X: pd.DataFrame) -> "pd.Series[Any]":
    return pd.Series(np.where(X["a"] > 0, "yes", "no"))


@pytest.fixture(scope="module")
def noisy(y: "pd.Series[Any]") -> "pd.Series[Any]":
    """Labels of which every second is another one, so that nobody should be sure of any."""
    other = y.map({"yes": "no", "no": "yes"})
    return y.where(np.arange(len(y)) % 2 > 0, other)


class TestTheTraining:
    @pytest.mark.parametrize(
        ("overrides", "parameters"),
        [
            ((), {}),
            (
                ("corruption=mean", "corruption.rate=0.4", "scaling=minmax", "fit_on=train", "regime=semi25", "seed=3"),
                {"corruption": "mean", "scaling": "minmax", "fit_on": "train", "regime": "semi25", "random_state": 3}
                | {"options": {"corruption.rate": 0.4}},
            ),
            pytest.param(
                ("pretrain=scarf_ae", "method=self_train", "regime=few", "regime.labels=30", "method.iterations=2"),
                {"pretrain": "scarf_ae", "method": "self_train", "regime": "few"}
                | {"options": {"regime.labels": 30, "method.iterations": 2}},
                marks=pytest.mark.slow,
            ),
            pytest.param(
                ("split=stratified", "network=resnet", "method=mixup"),
                {"split": "stratified", "network": "resnet", "method": "mixup"},
                marks=pytest.mark.slow,
            ),
            pytest.param(
                ("encoding=ordinal",),
                {"options": {"encoding": "ordinal"}},
                marks=pytest.mark.slow,
            ),
        ],
        ids=["defaults", "options", "self_train", "resnet", "codes"],
    )
    @IGNORED
    def test_its_scores_are_those_of_the_cell_of_the_same_options_bit_for_bit(
        self, overrides: tuple[str, ...], parameters: dict[str, Any], train_on: TrainOn
    ) -> None:
        cell = train_on(*overrides)
        table = pd.read_csv(cell.folder.parents[1] / "mine.csv")
        options = parameters.pop("options", {}) | {"dataset.categorical": ["grade"]}

        classifier = tiny(n_trials=2, options=options, **{"pretrain": "scarf"} | parameters)
        scores = classifier.score_trials(table.drop(columns="target"), table["target"])

        stored = load_cell(cell.folder.name, cell.folder.parent).trials
        for metric in ("accuracy", "log_loss", "auroc", "pretrain_epochs", "finetune_epochs", "n_train", "n_labelled"):
            assert scores[metric].tolist() == stored[metric].tolist(), metric
        assert not hasattr(classifier, "model_")

    @pytest.mark.parametrize("pretrain", ["scarf", "none"])
    def test_all_rows_train_but_another_tenth_in_each_trial_which_stops_it(
        self, pretrain: str, X: pd.DataFrame, y: Any
    ) -> None:
        fitted = tiny(n_trials=2, pretrain=pretrain).fit(X, y)

        asked = [f"pretrain={pretrain}", "recipe=practical", "trials=2"]
        config = config_of(*(each for each in TINY if pretrain != "none" or "pretrain" not in each), *asked)
        table = Table.from_frame(X, y, categorical=[False, True], name="X", source="X")
        hardware = Hardware(torch.device("cpu"), "32-true")
        training = CellTraining.prepare(config, table, hardware, splitting=WithoutTest)
        record = training.run((0, 1)).record((0, 1))
        assert fitted.trials_[["n_train", "n_validation", "n_test"]].to_numpy().tolist() == [[54, 6, 6]] * 2
        assert fitted.trials_["log_loss"].tolist() == [row["log_loss"] for row in record.rows]
        assert training.stack((0, 1)).data.validation.tolist() == training.stack((0, 1)).data.test.tolist()  # noqa: PD013

    def test_pre_training_that_does_not_clearly_help_is_not_used_and_that_is_said(
        self, X: pd.DataFrame, y: Any, tmp_path: Path
    ) -> None:
        fitted = tiny().fit(X, y)

        without = tiny(pretrain="none").fit(X, y)
        np.testing.assert_array_equal(fitted.predict_proba(X), without.predict_proba(X))
        assert fitted.choice_ is not None
        assert fitted.choice_.startswith("6 validation rows are too few to tell (")
        assert fitted.choice_.endswith(" without): trained without pre-training, which is cheaper.")
        # What it saves is opened as a cell's model is.
        fitted.save(tmp_path / "m")
        np.testing.assert_array_equal(load_model(tmp_path / "m").predict_proba(X), fitted.predict_proba(X))

    def test_all_trials_choose(self, X: pd.DataFrame, y: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        trained = list[list[int]]()
        run = CellTraining.run

        def noted(cell: CellTraining, trials: list[int], *company: Any, **asked: Any) -> Any:
            trained.append(trials)
            return run(cell, trials, *company, **asked)

        monkeypatch.setattr(CellTraining, "run", noted)

        fitted = tiny(n_trials=4).fit(X, y)

        assert trained == [[0, 1, 2, 3], [0, 1, 2, 3]]
        without = tiny(n_trials=4, pretrain="none").fit(X, y)
        assert fitted.trials_["log_loss"].tolist() == without.trials_["log_loss"].tolist()
        np.testing.assert_array_equal(fitted.predict_proba(X), without.predict_proba(X))


class TestLabels:
    @pytest.mark.parametrize("missing", [None, np.nan, -1, "?"])
    def test_rows_without_a_label_train_without_it(self, missing: Any, X: pd.DataFrame) -> None:
        known = np.arange(60) % 3 == 0
        numbers = np.where(X["a"] > 0, 7, 2)
        y = pd.Series(numbers).astype(object).where(known, missing).to_numpy()

        fitted = tiny(pretrain="none", unlabelled=[-1, "?"]).fit(X, y)

        assert (fitted.classes_.tolist(), fitted.n_unlabelled_) == ([2, 7], 40)
        assert fitted.trials_["n_labelled"].tolist() == [18]
        assert fitted.trials_["n_unlabelled"].tolist() == [40]
        assert fitted.trials_["n_validation"].tolist() == [2]
        assert set(fitted.predict(X)) <= {2, 7}

    def test_without_such_rows_none_is_counted(self, X: pd.DataFrame) -> None:
        assert tiny(pretrain="none").fit(X, np.where(X["a"] > 0, 7, 2)).n_unlabelled_ == 0

    @pytest.mark.parametrize(
        "labels",
        [
            pytest.param([10, 9], id="int"),
            pytest.param(["10", "9"], id="text"),
            pytest.param(np.array(["2024-03-01", "2023-12-31"], dtype="datetime64[us]"), id="time"),
            *(pytest.param(pair, id=type(pair[0]).__name__, marks=pytest.mark.slow) for pair in OTHER_TYPES),
        ],
    )
    def test_classes_keep_their_type_and_are_sorted(self, labels: list[Any], X: pd.DataFrame) -> None:
        y = np.array(labels)[(X["a"] > 0).astype(int)]

        longer = {"finetune.max_epochs": 60, "finetune.batch_size": 8, "finetune.patience": None}
        fitted = tiny(options=longer).fit(X, y)

        np.testing.assert_array_equal(fitted.classes_, np.unique(y))
        assert fitted.classes_.dtype == y.dtype
        chosen = fitted.predict_proba(X)[np.arange(60), np.searchsorted(fitted.classes_, y)]
        assert fitted.score(X, y) > 0.8
        assert chosen.mean() > 0.5, "a class's column is its own"

    @pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
    @pytest.mark.parametrize(
        ("labels", "sentence"),
        [
            (lambda n: [None] * n, "y holds no label; ScarfTransformer learns without labels"),
            (lambda n: ["a"] * n, "has the one class 'a'; two are needed"),
            (lambda n: [{"a": 1}] * n, "y holds a dict, which is no label; give each row one word or number"),
            (lambda n: ["a", "b", *[None] * (n - 2)], "X has 2 rows with a label in 'y'"),
            (
                lambda n: np.arange(n) // 2 + 1,
                "y holds 30 different numbers, which look like a quantity",
            ),
        ],
    )
    def test_labels_that_cannot_be_learned_are_refused(self, labels: Any, sentence: str, X: pd.DataFrame) -> None:
        with pytest.raises(UsageError, match=sentence):
            tiny().fit(X, labels(60))


class TestRows:
    def test_a_frame_is_read_and_what_is_left_out_is_said(self, X: pd.DataFrame, y: Any) -> None:
        with pytest.warns(UserWarning, match="Column 'key' has a different value in every row and is left out"):
            fitted = tiny().fit(X.assign(key=[f"k{i}" for i in range(60)], price="1,5", c=["1,5", "2"] * 30), y)

        assert fitted.reading_.set_index("column")["kind"].to_dict() == {
            "a": "numbers", "b": "categories", "key": "id or text", "price": "constant", "c": "numbers"
        }  # fmt: skip
        fitted.predict(X.assign(c="2"))
        with pytest.raises(UsageError, match="The rows lack 'c'"):
            fitted.predict(X)

    def test_what_is_said_of_a_table_names_parameters_and_not_the_command_line(self, X: pd.DataFrame) -> None:
        y = np.repeat(["rare", "usual"], [4, 56])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tiny().fit(X.assign(key=[f"k{i}" for i in range(60)]), y)

        said = [str(each.message) for each in caught]
        assert (
            "Column 'key' has a different value in every row and is left out; options={'dataset.text': ['key']} "
            "reads it as text."
        ) in said
        assert (
            "Target 'y' is imbalanced: 6.7 % of its rows are of class 'rare'; "
            "options={'finetune.class_weight': 'balanced'} trains with equal weights of the classes."
        ) in said

    def test_a_frame_and_its_array_are_one_table(self, X: pd.DataFrame, y: Any) -> None:
        numbers = X[["a"]].assign(c=X["a"] ** 2)

        of_frame, of_array = tiny().fit(numbers, y), tiny().fit(numbers.to_numpy(), y)

        assert of_array.n_features_in_ == 2
        assert of_array.predict_proba(numbers.to_numpy()).shape == (60, 2)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            by_position = of_frame.predict_proba(numbers.to_numpy())
        np.testing.assert_array_equal(by_position, of_frame.predict_proba(numbers))

    def test_rows_are_split_by_a_column_of_x(self, X: pd.DataFrame, y: Any) -> None:
        part = np.repeat(["train", "validation", "test"], [40, 8, 12])

        classifier = tiny(split="column", options={"split.column": "part"}).fit(X.assign(part=part), y)

        assert classifier.trials_[["n_train", "n_validation"]].to_numpy().tolist() == [[40, 8]]
        tested = classifier.score_trials(X.assign(part=part), y)
        assert tested[["n_train", "n_validation", "n_test"]].to_numpy().tolist() == [[40, 8, 12]]
        classifier.predict(X)
        with pytest.raises(UsageError, match="split=group goes by a column of X: set options"):
            tiny(split="group").fit(X, y)

    @pytest.mark.parametrize(
        ("rows", "sentence"),
        [
            (lambda X: pd.concat([X, X[["a"]]], axis=1), "X has more than one column 'a'"),
            (lambda X: X.assign(a=[1.0, np.inf, 2.0] * 20), "column 'a' of X holds an infinite value"),
            (lambda X: X.assign(a=1, b="x"), "X has no column with a value in it to learn from"),
        ],
    )
    def test_rows_that_cannot_be_learned_from_are_refused(self, rows: Any, sentence: str, X: pd.DataFrame) -> None:
        with pytest.raises(UsageError, match=sentence):
            tiny().fit(rows(X), np.arange(60) % 2)


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "sentence"),
        [
            ({"pretrain": "scarff"}, "pretrain=scarff is not an option; the options of pretrain are: "),
            ({"pretrain": None}, "pretrain must be the name of an option, not None; for none it is 'none'"),
            ({"pretrain": "none", "corruption": "mean"}, "corruption is set, but has no effect on training"),
            (
                {"options": {"corruption.rat": 0.3}},
                r"corruption\.rat is not an option; the options of cor",
            ),
            ({"options": {"corruption.rate": 3}}, r"corruption\.rate must"),
            ({"options": {"trials": 3}}, "trials is a parameter of its own; set n_trials"),
            (
                {"options": {"trainer.accelerator": "cpu"}},
                r"trainer\.accelerator is a parameter of its own; set device",
            ),
            ({"class_weight": "fair"}, r"finetune\.class_weight must be one of none, balanced, not fair"),
            ({"device": "tpu"}, r"trainer\.accelerator must be one of auto, cpu, cuda, not tpu"),
            ({"options": {"paths.results": "x"}}, r"paths\.results belongs to train\.py"),
            ({"method": "xgboost", "pretrain": "none"}, "method=xgboost"),
            ({"method": "self_train"}, "method=self_train needs unlabelled rows"),
            ({"n_trials": 0}, "trials must be at least 1, not 0"),
            ({"split": "files"}, "split=files has no meaning for an estimator"),
            ({"options": {"dataset.drop": ["z"]}}, r"dataset\.drop names 'z', which is not a column of X"),
        ],
    )
    def test_what_is_wrong_with_them_is_said_in_a_sentence(
        self, parameters: dict[str, Any], sentence: str, X: pd.DataFrame, y: Any
    ) -> None:
        with pytest.raises(UsageError, match=sentence) as raised:
            tiny(**parameters).fit(X, y)
        assert "\n" not in str(raised.value)

    def test_the_process_is_left_as_it_was(self, X: pd.DataFrame, y: Any) -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            tiny(options={"trainer.threads": 1}).fit(X, y)
            assert torch.get_num_threads() == 2
        finally:
            torch.set_num_threads(before)


class TestTransformer:
    @pytest.mark.parametrize("options", [{}, {"encoding": "ordinal"}], ids=["defaults", "codes"])
    def test_it_is_the_pre_training_of_the_engine(self, options: dict[str, str], X: pd.DataFrame) -> None:
        X = X.assign(a=X["a"].where(X.index % 7 != 0), b=pd.Categorical(X["b"], categories=["v", "u"]))
        fitted = ScarfTransformer(device="cpu", n_trials=2, options=OF_ENCODERS | options).fit(X)

        config = config_of(
            *TINY, "recipe=practical", "trials=2", *(f"{name}={value}" for name, value in options.items())
        )
        halves = Table.from_frame(X, pd.Series([0, 1] * 30), categorical=[False, True], name="X", source="X")
        table = replace(halves, labels=np.zeros(60, dtype=np.int64), target=Classes(("",)))
        parts = build_parts(config)
        assert parts.pretext is not None
        hardware = Hardware(torch.device("cpu"), "32-true")
        stack = CellTraining.prepare(config, table, hardware, splitting=WithoutTest).stack((0, 1))  # noqa: PD013
        weights = stack.pretrain(config.pretrain, parts.pretext).part("encoder")
        with torch.no_grad():
            expected = stack.networks.encoder((0, 1), weights)(stack.raw(np.tile(np.arange(60), (2, 1)))).numpy()

        assert fitted.trials_["pretrain_epochs"].tolist() == [2, 2]
        np.testing.assert_array_equal(fitted.transform(X), np.concatenate(list(expected), axis=1))
        assert (expected[0] != expected[1]).any()

    def test_every_row_trains_or_validates(self, mixed_table: Table) -> None:
        split = WithoutTest(Random()).split(mixed_table, np.random.default_rng(0))

        assert (len(split.train), len(split.validation)) == (54, 6)
        assert sorted([*split.train, *split.validation]) == list(range(60))

    def test_the_labels_are_not_looked_at(self, X: pd.DataFrame, y: Any) -> None:
        plain, with_labels = (
            ScarfTransformer(device="cpu", options=OF_ENCODERS).fit(X, labels) for labels in (None, y)
        )

        np.testing.assert_array_equal(plain.transform(X), with_labels.transform(X))

    def test_it_can_be_carried_away_and_knows_no_classes(self, X: pd.DataFrame, tmp_path: Path) -> None:
        fitted = ScarfTransformer(device="cpu", options=OF_ENCODERS).fit(X)
        fitted.save(tmp_path / "m")

        carried = load_model(tmp_path / "m")

        np.testing.assert_array_equal(carried.transform(X), fitted.transform(X))
        with pytest.raises(UsageError, match="has encoders alone, which predict nothing; use transform"):
            carried.predict(X)

    def test_without_a_pre_training_there_is_nothing_to_learn(self, X: pd.DataFrame) -> None:
        with pytest.raises(UsageError, match=r"ScarfTransformer pre-trains; choose a pretrain other than none\."):
            ScarfTransformer(device="cpu", pretrain="none").fit(X)


@contextmanager
def default_dtype() -> Iterator[None]:
    torch.set_default_dtype(torch.bfloat16)
    yield
    torch.set_default_dtype(torch.float32)


class TestTheCallersTorch:
    """What the caller has set of torch changes no number, and is back afterwards."""

    @pytest.fixture(scope="class")
    def usual(self, X: pd.DataFrame, y: "pd.Series[Any]") -> np.ndarray:  # type: ignore[type-arg]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tiny(pretrain="scarf").fit(X, y).predict_proba(X)

    @pytest.mark.parametrize(
        "state",
        [
            default_dtype,
            partial(torch.autocast, "cpu", torch.bfloat16),
            partial(torch.device, "meta"),
            torch.inference_mode,
            torch.no_grad,
        ],
        ids=["dtype", "autocast", "device", "inference", "no_grad"],
    )
    @IGNORED
    def test_it_changes_no_number(
        self,
        state: Any,
        usual: np.ndarray,
        X: pd.DataFrame,
        y: "pd.Series[Any]",  # type: ignore[type-arg]
    ) -> None:
        with state():
            before = torch.get_default_dtype(), torch.is_inference_mode_enabled(), torch.is_grad_enabled()
            found = tiny(pretrain="scarf").fit(X, y).predict_proba(X)
            after = torch.get_default_dtype(), torch.is_inference_mode_enabled(), torch.is_grad_enabled()

        np.testing.assert_array_equal(found, usual)
        assert after == before


def test_encoders_without_labels_cannot_be_pretrained_with_them() -> None:
    with pytest.raises(UsageError, match=r"ScarfTransformer has no labels, and pretrain=target_aware uses them"):
        ScarfTransformer(options={"pretrain": "target_aware"}).fit(np.random.default_rng(0).normal(size=(60, 3)))
