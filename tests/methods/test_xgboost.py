import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xgboost import XGBClassifier

from scarf_lightning.data.regimes import Semi25
from scarf_lightning.data.table import Table
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.xgboost import XGBoost
from scarf_lightning.settings import FitSettings
from tests.stacks import MakeStack

SUPERVISION = SupervisedPhase(FitSettings())


def relabelled(stack: Stack, labels: np.ndarray) -> Stack:
    return replace(stack, data=replace(stack.data, labels=labels))


PAPERS: dict[str, Any] = {
    "max_depth": 3,
    "n_estimators": 100,
    "learning_rate": 0.1,
    "tree_method": "exact",
    "base_score": 0.5,
}


def declaring(table: Table, name: str, declared: tuple[str, ...]) -> Table:
    columns = tuple(replace(c, declared=declared) if c.name == name else c for c in table.columns)
    return replace(table, columns=columns)


def test_it_is_the_papers_classifier_on_codes_in_the_order_of_the_header(
    patients: Table, make_stack: MakeStack
) -> None:
    (m,) = (m for m, column in enumerate(patients.columns) if column.name == "colour")
    categories = patients.columns[m].categories
    assert categories is not None
    declared = tuple(categories[c] for c in (2, 0, 3, 1))
    table = declaring(patients, "colour", declared)
    rank = np.array([1, 3, 0, 2])
    stack = make_stack(table, [0, 3])
    outcome, of_sorted = XGBoost().run(stack, SUPERVISION), XGBoost(order="sorted").run(stack, SUPERVISION)
    for t, trial in enumerate((0, 3)):
        train, test = (stack.raw(rows)[t].double().numpy() for rows in (stack.data.labelled, stack.data.test))
        seed = stack.streams.seed_of(trial, "boosted trees") % 2**31
        for found, order in ((of_sorted, np.arange(4)), (outcome, rank)):
            codes = [
                np.column_stack([*x[:, :m].T, order[x[:, m].astype(int)], *x[:, m + 1 :].T]) for x in (train, test)
            ]
            direct = XGBClassifier(**PAPERS, n_jobs=1, random_state=seed).fit(codes[0], stack.data.labels[t])
            np.testing.assert_allclose(found.probabilities[t], direct.predict_proba(codes[1]), atol=1e-6)
    assert not np.allclose(outcome.probabilities, of_sorted.probabilities)


def test_one_hot_columns_can_be_had_instead(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 3])
    outcome = XGBoost(encoding="onehot").run(stack, SUPERVISION)
    as_it_comes = XGBoost(encoding="onehot", tree_method="hist", base_score=None).run(stack, SUPERVISION)
    one_hot = stack.encoded(stack.data.labelled)
    assert one_hot.shape == (2, 139, 12), "six numbers, four colours, smoker or not"
    for t, trial in enumerate((0, 3)):
        seed = stack.streams.seed_of(trial, "boosted trees") % 2**31
        usual = {name: value for name, value in PAPERS.items() if name not in ("tree_method", "base_score")}
        for found, options in ((outcome, PAPERS), (as_it_comes, usual)):
            direct = XGBClassifier(**options, n_jobs=1, random_state=seed)
            direct.fit(one_hot[t], stack.data.labels[t])
            expected = direct.predict_proba(stack.encoded(stack.data.test)[t])
            np.testing.assert_allclose(found.probabilities[t], expected, atol=1e-6)
    assert outcome.fit is None
    assert outcome.fits.tolist() == [1, 1]
    assert (outcome.seconds > 0).all()


def test_under_semi25_it_sees_the_labelled_rows_alone(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [2], regime=Semi25())
    rows = stack.data.labelled[0]
    assert len(rows) == 35
    assert not np.isin(rows, stack.data.train[0, :35]).all(), "they are not the first of the training rows"

    seed = stack.streams.seed_of(2, "boosted trees") % 2**31
    direct = XGBClassifier(**PAPERS, n_jobs=1, random_state=seed)
    direct.fit(stack.encoded(rows[None])[0], patients.labels[rows])
    expected = direct.predict_proba(stack.encoded(stack.data.test)[0])
    found = XGBoost(encoding="onehot").run(stack, SUPERVISION).probabilities[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_it_comes_out_alike_twice(patients: Table, make_stack: MakeStack) -> None:
    one, two = (XGBoost().run(make_stack(patients, [1]), SUPERVISION).probabilities for _ in range(2))
    assert np.array_equal(one, two)


def test_the_papers_options_are_the_defaults() -> None:
    assert XGBoost() == XGBoost(**PAPERS, encoding="ordinal", order="declared")


def test_a_class_that_no_label_shows_gets_no_probability(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    labels = np.where(stack.data.labels == 1, 2, stack.data.labels)
    probabilities = XGBoost(n_estimators=5).run(relabelled(stack, labels), SUPERVISION).probabilities[0]
    assert probabilities.shape == (40, 3)
    assert (probabilities[:, 1] == 0).all()
    assert (probabilities[:, [0, 2]] > 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_one_class_only(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    probabilities = XGBoost().run(relabelled(stack, np.full_like(stack.data.labels, 2)), SUPERVISION).probabilities
    assert (probabilities[0] == [0, 0, 1]).all()


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(UsageError, match=r"method=xgboost needs the package xgboost: install it with .*\[xgboost\]"):
        XGBoost()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": 0}, "max_depth"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"base_score": 1.0}, "base_score"),
        ({"tree_method": "gpu"}, "tree_method must be one of exact, approx, hist, not gpu"),
        ({"encoding": "onehot_drop_last"}, "encoding must be one of ordinal, onehot, not onehot_drop_last"),
        ({"order": "random"}, "order must be one of declared, sorted, not random"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        XGBoost(**options)
