"""Permutation importance of models: beside scikit-learn's own, by hand, and on columns whose part is known."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance

from scarf_lightning import ScarfClassifier, UsageError
from scarf_lightning.estimators import load_model, load_rows
from scarf_lightning.estimators.importance import importance, importance_of_cell
from scarf_lightning.importance.permuting import permutations
from scarf_lightning.metrics import accuracy
from tests.estimators.conftest import TrainOn
from tests.estimators.small import small, table

LEARNED = {"finetune.max_epochs": 40}


def mixed(n: int = 260) -> "tuple[pd.DataFrame, pd.Series[str]]":
    """Columns of several kinds, of which a number and a category decide the class; a date becomes several features."""
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "size": random.normal(size=n),
            "day": random.permutation(pd.date_range("2020-01-01", periods=n, freq="5h")),
            "kind": random.choice(["u", "v", "w"], n),
            "noise": random.normal(size=n),
        }
    )
    X.loc[::7, "noise"] = np.nan
    return X, pd.Series(np.where(X["size"] + (X["kind"] == "u") > 0.3, "yes", "no"), name="y")


WHOLE, LABELS = mixed()
X, y = WHOLE.iloc[120:], LABELS.iloc[120:]
"""Rows that the classifier has not seen."""


@pytest.fixture(scope="module")
def classifier() -> ScarfClassifier:
    fitted: ScarfClassifier = small(n_trials=2, options=LEARNED).fit(WHOLE.iloc[:120], LABELS.iloc[:120])
    return fitted


@pytest.mark.parametrize(
    ("metric", "scoring", "seed"),
    [
        ("accuracy", "accuracy", 0),
        pytest.param("balanced_accuracy", "balanced_accuracy", 4, marks=pytest.mark.slow),
        ("auroc", "roc_auc", 4),
    ],
)
def test_it_is_scikit_learns_to_rounding(classifier: ScarfClassifier, metric: str, scoring: str, seed: int) -> None:
    found = classifier.importance(X, y, metric=metric, n_repeats=2, random_state=seed).frame.set_index("columns")
    other = permutation_importance(classifier, X, y, scoring=scoring, n_repeats=2, random_state=seed)
    theirs = pd.Series(other.importances_mean, X.columns)
    assert theirs.abs().max() > 0.05
    np.testing.assert_allclose(found["difference"], theirs[found.index], atol=1e-12)


def test_of_numbers_it_is_scikit_learns_too() -> None:
    rows, _ = table()
    regressor = small(is_regressor=True, options=LEARNED).fit(rows.iloc[:50], 3 * rows["a"].iloc[:50])
    new, numbers = rows.iloc[50:], 3 * rows["a"].iloc[50:]
    asked: dict[str, Any] = {"n_repeats": 2, "random_state": 1}
    found = regressor.importance(new, numbers, **asked).frame.set_index("columns")
    other = permutation_importance(regressor, new, numbers, **asked)
    np.testing.assert_allclose(found["difference"], pd.Series(other.importances_mean, new.columns)[found.index])
    by_error = regressor.importance(new, numbers, metric="rmse", **asked).frame.set_index("columns")
    other = permutation_importance(regressor, new, numbers, scoring="neg_root_mean_squared_error", **asked)
    rise = by_error["without"] - by_error["score"]
    np.testing.assert_allclose(rise, pd.Series(other.importances_mean, new.columns)[by_error.index])
    # The answer is about the part of the error without the column.
    np.testing.assert_allclose(by_error["difference"], rise / by_error["without"])


def test_a_column_that_decides_helps_and_the_others_do_not(classifier: ScarfClassifier) -> None:
    found = classifier.importance(X, y)
    frame = found.frame.set_index("columns")
    assert set(frame.index[:2]) == {"size", "kind"}
    assert frame.loc[["size", "kind"], "answer"].isin(["helps", "helps, size open"]).all()
    assert frame.loc["noise", "answer"] in ("cannot tell", "no practical difference")
    assert str(found).splitlines()[0].endswith("The claim is about this model on new rows like these.")
    assert re.search(r"this model, permuted: helps.*: (size|kind) \+\d", str(found))
    assert len(found.figure().axes[0].lines) > 2 * len(frame)
    codes = np.searchsorted(classifier.classes_, y)
    assert frame["score"].iloc[0] == pytest.approx(accuracy(classifier.predict_proba(X), codes))
    assert frame["score"].iloc[0] == pytest.approx(classifier.score(X, y))


def test_the_interval_is_that_of_the_rows_alone(classifier: ScarfClassifier) -> None:
    """One permutation and accuracy: the standard error of a mean of n differences, and one row more of each kind."""
    found = classifier.importance(X, y, n_repeats=1).frame.set_index("columns").loc["size"]
    order = np.arange(len(X))
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max + 1)
    np.random.RandomState(seed).shuffle(order)
    moved = X.assign(size=X["size"].to_numpy()[order])
    differences = (classifier.predict(X) == y).astype(float) - (classifier.predict(moved) == y).astype(float)
    assert found["difference"] == pytest.approx(differences.mean())
    half = (found["high"] - found["low"]) / 2
    plain = 2.01 * differences.std(ddof=1) / np.sqrt(len(X))
    assert plain < half < 1.25 * plain


def test_groups_are_permuted_together(classifier: ScarfClassifier) -> None:
    found = classifier.importance(X, y, groups={"both": ["size", "kind"]}).frame.set_index("columns")
    assert found.loc["size + kind", "difference"] >= found["difference"].drop("size + kind").max() - 0.05
    assert len(found) == 5


def test_an_array_and_labels_with_gaps_are_taken() -> None:
    rows, numbers = table()
    array, labels = rows[["a", "b"]].to_numpy(), numbers.astype(object).where(np.arange(len(rows)) >= 5, None)
    fitted = small().fit(array, numbers)
    found, other = (
        fitted.importance(*given, n_repeats=2).frame for given in ((array, labels), (array[5:], labels[5:]))
    )
    assert set(found["columns"]) == {"x0", "x1"}
    pd.testing.assert_frame_equal(found, other)


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({"metric": "rmse"}, y, "rmse measures number, and the model predicts another target."),
        ({"groups": [["size", "sise"]]}, y, "groups names 'sise', which is no column of the model; they are: size, d"),
        ({"n_repeats": 0}, y, "n_repeats must be at least 1, not 0."),
        ({}, y.replace("no", "maybe"), "y holds 'maybe', which is no class of the model"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    classifier: ScarfClassifier, options: dict[str, Any], labels: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        importance(classifier.model_, X, labels, **options)


@pytest.mark.slow
def test_a_finished_cell_is_judged_on_the_test_rows_of_its_trials(train_on: TrainOn) -> None:
    """Beside a loop over the trials, each with its own network and its own test rows."""
    cell = train_on("trials=2", "finetune.max_epochs=20", "pretrain=none")
    found = importance_of_cell(cell.folder, n_repeats=2, random_state=7).frame.set_index("columns")
    falls = []
    for trial in range(2):
        model, rows = load_model(cell.folder, trial=trial), load_rows(cell.folder, trial)
        tested = (rows.part == "test").to_numpy()
        features, target = rows.features[tested], rows.target[tested].astype(str)
        right = np.mean(model.predict(features) == target)
        for order in permutations(len(features), 2, 7 + trial):
            moved = features.assign(grade=features["grade"].to_numpy()[order])
            falls.append(right - np.mean(model.predict(moved) == target))
    assert found.loc["grade", "difference"] == pytest.approx(np.mean(falls), abs=1e-12)
    assert found.loc["grade", "trials"] == 2
    assert found["claim"].unique().tolist() == ["this table"]
    assert abs(found.loc["grade", "difference"]) > 0.02


def test_reading_warns_once_of_what_the_model_does_not_know(classifier: ScarfClassifier) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        classifier.importance(X.assign(kind=np.where(np.arange(len(X)) % 2, X["kind"], "z")), y)
    assert len([each for each in said if "taken as missing" in str(each.message)]) == 1
