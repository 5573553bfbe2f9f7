"""Models of other libraries, kept by skops: they predict what they predicted; a folder from elsewhere is hostile."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from scarf_lightning.data.sources import open_source
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import RivalModel, load_model
from scarf_lightning.estimators.refitting import refitted, why_not_kept
from scarf_lightning.estimators.rival_models import FITTED
from tests.composing import config_of
from tests.results.sealing import replace_file, rewritten
from tests.storing import write_csv

N = 90
EXPECTED = {"metric": "accuracy", "value": 0.75, "low": 0.6, "high": 0.9}
SMALL = {"random_forest": ("method.n_estimators=10",), "xgboost": ("method.n_estimators=10",)}
"""Options of methods by which they take little time."""


def dirty(n: int, seed: int = 0) -> pd.DataFrame:
    """Numbers as text, gaps of both kinds of column, and categories."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "price": [f"€ {value:,.2f}" for value in random.lognormal(7, 1, n)],
            "height": random.normal(170, 10, n),
            "colour": random.choice(["red", "green", "blue"], n),
            "since": pd.Timestamp("2021-01-01") + pd.to_timedelta(random.integers(900, size=n), unit="D"),
        }
    )
    frame.loc[random.random(n) < 0.2, "height"] = np.nan
    frame.loc[random.random(n) < 0.2, "colour"] = None
    return frame


@cache
def read(n_classes: int) -> tuple[tuple[str, ...], Table]:
    """The overrides of a dirty table, and the table; the target is a number if it has no classes."""
    number = dirty(N)["height"].fillna(170) * 1000 + np.random.default_rng(1).normal(size=N)
    with TemporaryDirectory() as folder:
        asked = write_csv(Path(folder), dirty(N), classes(n_classes) if n_classes else number)
        config = config_of(*asked)
        return tuple(asked), open_source(**vars(config.dataset), openml_cache=None, split=config.split).read().table


def trained(method: str, n_classes: int) -> RivalModel:
    """The model of a method on a dirty table."""
    asked, table = read(n_classes)
    of_method = (f"method={method}", *SMALL.get(method, ()))
    config = config_of(*asked, *of_method, "recipe=practical", "pretrain=none", "trainer.accelerator=cpu")
    model = refitted(config, table, EXPECTED)
    assert isinstance(model, RivalModel)
    return model


def classes(n_classes: int) -> "pd.Series[str]":
    """Labels that depend on the height; every third row has none."""
    height = dirty(N)["height"].fillna(170) + np.random.default_rng(1).normal(size=N)
    named = pd.Series(pd.qcut(height, n_classes, labels=["low", "middle", "high"][:n_classes]).astype(str))
    named[::3] = None
    return named


@pytest.mark.parametrize(
    ("method", "n_classes"),
    [("logistic", 2), ("logistic", 3), ("random_forest", 3), ("xgboost", 2), ("xgboost", 3)],
)
@pytest.mark.slow
def test_a_saved_classifier_predicts_what_it_predicted_to_the_bit(method: str, n_classes: int, tmp_path: Path) -> None:
    labels, new = classes(n_classes), dirty(50, seed=2)
    made = trained(method, n_classes)
    made.save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert isinstance(model, RivalModel)
    np.testing.assert_array_equal(model.predicted(new), made.predicted(new))
    expected = made.fitted.predict_proba(model.features(model.values(new)))
    assert sorted(model.classes_) == sorted(labels.dropna().unique())
    np.testing.assert_allclose(model.predicted(new), expected, atol=1e-6)
    assert model.predict(new).tolist() == [model.description.classes[place] for place in expected.argmax(axis=1)]
    assert model.description.expected == EXPECTED
    assert [*model.answered(new)] == ["class", *(f"probability_{name}" for name in model.description.classes)]
    if method == "random_forest":
        n_trained = model.fitted.estimators_[0].tree_.weighted_n_node_samples[0]
        assert n_trained == labels.notna().sum(), "every label trains"


@pytest.mark.parametrize("method", ["ridge", "random_forest", "xgboost"])
@pytest.mark.slow
def test_a_saved_regressor_predicts_what_it_predicted_to_the_bit(method: str, tmp_path: Path) -> None:
    made = trained(method, 0)
    made.save(tmp_path / "model")
    model, new = load_model(tmp_path / "model"), dirty(50, seed=2)
    np.testing.assert_array_equal(model.predicted(new), made.predicted(new))
    expected = made.fitted.predict(made.features(made.values(new)))
    np.testing.assert_array_equal(model.predicted(new), expected.astype(np.float64))


def test_rows_are_encoded_as_the_library_was_given_them(forest: RivalModel) -> None:
    """The labels of training rows are what a forest of pure leaves nearly always answers."""
    labels = classes(3)
    known = labels.notna()
    assert (forest.predict(dirty(N)[known]) == labels[known]).mean() > 0.95


def test_a_method_of_another_kind_is_not_kept() -> None:
    config = config_of("method=hist_gradient_boosting", "pretrain=none")
    with pytest.raises(UsageError, match="No model is kept: method=hist_gradient_boosting trains no network of ours"):
        refitted(config, None, {})  # type: ignore[arg-type]


def test_a_model_with_a_temperature_is_not_kept() -> None:
    reason = why_not_kept(config_of("method=logistic", "pretrain=none", "finetune.temperature=true"))
    assert reason is not None
    assert reason.startswith("a kept model would predict without its temperature")


def test_without_skops_no_model_is_kept_and_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scarf_lightning.estimators.refitting.find_spec", lambda name: None)
    reason = why_not_kept(config_of("method=ridge", "pretrain=none", *read(0)[0]))
    assert reason == "skops is not installed: pip install 'skops<1,>=0.16'"


@pytest.fixture(scope="module")
def forest() -> RivalModel:
    return trained("random_forest", 3)


def test_a_notebook_shows_what_a_model_is_and_what_to_expect_of_it(forest: RivalModel) -> None:
    shown = forest._repr_html_()
    assert shown.startswith("<p><strong>random forest</strong></p>")
    for text in (forest.description.name, "one of 3 classes: ", "accuracy 0.7500"):
        assert text in shown


class Runs:
    """A class of this module, which no model is made of."""

    def __init__(self) -> None:
        self.kept = np.arange(3)


def crafted(name: str, forest: RivalModel) -> Any:
    """An object in the place of a forest, which a stranger may have written."""
    if name == "a type that is not the model's":
        return Runs()
    if name == "a type of scikit-learn's that is not the model's":
        return LogisticRegression().fit(np.eye(2), [0, 1])
    random, other = np.random.default_rng(0), deepcopy(forest.fitted)
    if name == "fewer classes":
        return other.fit(random.normal(size=(30, forest.fitted.n_features_in_)), np.arange(30) % 2)
    if name == "more columns":
        return other.fit(random.normal(size=(30, 40)), np.arange(30) % 3)
    tree = other.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    field, value = {
        "a way out of a tree": ("left_child", 10**9), "a circle": ("right_child", 0), "no such column": ("feature", 999)
    }[name]  # fmt: skip
    state["nodes"][field][0] = value
    tree.__setstate__(state)
    return other


@pytest.mark.parametrize(
    "name",
    [
        "a type that is not the model's", "a type of scikit-learn's that is not the model's",
        "fewer classes", "more columns", "a way out of a tree", "a circle", "no such column",
    ],
)  # fmt: skip
def test_a_crafted_file_of_skops_is_refused_in_a_sentence(name: str, forest: RivalModel, tmp_path: Path) -> None:
    forest.save(tmp_path / "model")
    replace_file(tmp_path / "model", "model.json", FITTED, skops.io.dumps(crafted(name, forest)))
    with pytest.raises(UsageError, match=r"model cannot be used: .*model\.skops.*; copy the model again"):
        load_model(tmp_path / "model")


def test_rivals_of_a_layout_that_no_release_wrote_are_refused_with_what_to_do(
    forest: RivalModel, tmp_path: Path
) -> None:
    forest.save(tmp_path / "model")
    rewritten(tmp_path / "model" / "model.json", lambda plain: plain["model"].update(version=4, learner="trees"))
    with pytest.raises(UsageError, match="as arrays, as a version in development did; load it with the version that"):
        load_model(tmp_path / "model")


def test_a_rival_has_no_trials_and_the_model_of_another_kind_is_replaced_in_its_folder(
    forest: RivalModel, tmp_path: Path
) -> None:
    forest.save(tmp_path / "model")
    with pytest.raises(UsageError, match="is a random forest, which has no trials; leave trial out"):
        load_model(tmp_path / "model", trial=0)
    trained("logistic", 2).save(tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert isinstance(found, RivalModel)
    assert found.description.label == "logistic regression"
