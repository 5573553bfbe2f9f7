"""Other libraries' classifiers: on what they are trained, and with what."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as LinearRidge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from scarf_lightning.data.sources import DiabetesSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Few
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.methods import Method, SupervisedPhase
from scarf_lightning.methods.rivals import CatBoost, Logistic, Probe, RandomForest, Ridge, Rival, XGBoost
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.methods.libraries import BALANCED, PLAIN, assert_it_is_its_librarys, seed_of
from tests.stacks import MakeStack, task, unbalanced

PAPERS: dict[str, Any] = {
    "max_depth": 3, "n_estimators": 100, "learning_rate": 0.1, "tree_method": "exact", "base_score": 0.5,
}  # fmt: skip
FEW = PAPERS | {"n_estimators": 10}


def relabelled(stack: Stack, labels: Any) -> Stack:
    return replace(stack, data=replace(stack.data, labels=labels))


def typed(stack: Stack, table: Table, rows: Any) -> Any:
    """Rows of the first trial as they are preprocessed, with codes in categorical columns."""
    return torch.from_numpy(stack.data.preprocessing.apply(table.values[rows], 0)).float()


CLASSIFIERS: dict[str, tuple[Rival, Any]] = {
    "logistic": (Logistic(C=0.3), lambda seed: LogisticRegression(C=0.3, max_iter=10_000)),
    "random_forest": (
        RandomForest(n_estimators=10, max_features="half", max_depth=4),
        lambda seed: RandomForestClassifier(10, max_features=0.5, max_depth=4, random_state=seed),
    ),
    "xgboost": (
        XGBoost(n_estimators=10, encoding="onehot"),
        lambda seed: XGBClassifier(**FEW, n_jobs=1, random_state=seed),
    ),
    "xgboost as it comes": (
        XGBoost(n_estimators=10, encoding="onehot", tree_method="hist", base_score=None),
        lambda seed: XGBClassifier(n_estimators=10, max_depth=3, learning_rate=0.1, n_jobs=1, random_state=seed),
    ),
}
REGRESSORS: dict[str, tuple[Rival, Any]] = {
    "ridge": (Ridge(alpha=2.0), lambda seed: LinearRidge(alpha=2.0)),
    "random_forest": (
        RandomForest(n_estimators=10),
        lambda seed: RandomForestRegressor(10, max_features="sqrt", random_state=seed),
    ),
    "xgboost": (
        XGBoost(n_estimators=10, encoding="onehot"),
        lambda seed: XGBRegressor(**FEW | {"base_score": None}, n_jobs=1, random_state=seed),
    ),
}


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("logistic", BALANCED),
        ("random_forest", PLAIN),
        ("random_forest", BALANCED),
        ("xgboost", BALANCED),
        ("xgboost as it comes", PLAIN),
    ],
)
def test_it_is_its_librarys_on_encoded_labelled_rows(
    patients: Table, make_stack: MakeStack, name: str, phase: SupervisedPhase
) -> None:
    stack = unbalanced(make_stack(patients, [0, 3]))
    outcome = assert_it_is_its_librarys(*CLASSIFIERS[name], stack, phase=phase)
    assert stack.encoded(stack.data.labelled).shape == (2, 139, 12), "six numbers, four colours, smoker or not"
    assert (outcome.fit, outcome.fits.tolist()) == (None, [1, 1])
    assert (outcome.seconds > 0).all()


@pytest.mark.parametrize("name", REGRESSORS)
def test_rivals_of_numbers_are_those_of_their_own_libraries(name: str, make_stack: MakeStack) -> None:
    assert_it_is_its_librarys(*REGRESSORS[name], make_stack(DiabetesSource().load(), [0, 3]))


def test_xgboost_is_the_papers_classifier_on_codes_in_the_order_of_the_header(
    patients: Table, make_stack: MakeStack
) -> None:
    (m,) = (m for m, column in enumerate(patients.columns) if column.name == "colour")
    categories = patients.columns[m].categories
    assert categories is not None
    declared = replace(patients.columns[m], declared=tuple(categories[c] for c in (2, 0, 3, 1)))
    columns = (*patients.columns[:m], declared, *patients.columns[m + 1 :])
    stack = make_stack(replace(patients, columns=columns), [3])

    def codes(rows: Any) -> np.ndarray:
        found: np.ndarray = stack.raw(rows)[0].double().numpy()
        found[:, m] = np.array([1, 3, 0, 2])[found[:, m].astype(int)]
        return found

    found = XGBoost(n_estimators=10).run(stack, PLAIN).predictions[0]
    model = XGBClassifier(**FEW, n_jobs=1, random_state=seed_of(stack, 3, "boosted trees"))
    expected = model.fit(codes(stack.data.labelled), stack.data.labels[0]).predict_proba(codes(stack.data.test))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert XGBoost() == XGBoost(**PAPERS, encoding="ordinal"), "the paper's options"


@pytest.mark.parametrize(
    "method",
    [Logistic(), RandomForest(n_estimators=5), CatBoost(iterations=5), XGBoost(n_estimators=5), Probe()],
    ids=lambda method: method.name,
)
def test_a_class_that_no_label_shows_gets_no_probability_and_one_class_gets_all(stack: Stack, method: Method) -> None:
    two, one = np.where(stack.data.labels == 1, 2, stack.data.labels), np.full_like(stack.data.labels, 2)
    of_two, of_one = (method.run(relabelled(stack, labels), PLAIN).predictions[0] for labels in (two, one))
    assert of_two.shape == (40, 3)
    assert (of_two[:, 1] == 0).all()
    assert (of_two[:, [0, 2]] > 0).any(axis=0).all()
    np.testing.assert_allclose(of_two.sum(axis=1), 1, atol=1e-6)
    assert (of_one == [0, 0, 1]).all()


@pytest.mark.parametrize(("kind", "package"), [(CatBoost, "catboost"), (XGBoost, "xgboost")])
def test_without_the_package_a_sentence_names_the_extra(
    kind: type[Method], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"method={package} needs the package {package}: pip install '\.\[{package}\]'"
    with pytest.raises(UsageError, match=message):
        kind()
    with pytest.raises(ValueError, match=r"C=\S+: it takes a number in \(0, inf\)"):
        Logistic(C=-1.0)


EQUALS_OF_PROBES: dict[str, Any] = {
    "logistic": LogisticRegression(C=0.5, max_iter=10_000),
    "knn": KNeighborsClassifier(4),
    "ridge": LinearRidge(alpha=2.0),
}


@pytest.mark.parametrize(("model", "is_pretrained"), [("logistic", False), ("knn", True), ("ridge", False)])
def test_probing_is_scikit_learns_model_on_the_embeddings(
    patients: Table, make_stack: MakeStack, model: str, is_pretrained: bool
) -> None:
    """Of labelled rows; of numbers it is ridge regression, whose alpha is 1 / C."""
    stack = make_stack(patients if model != "ridge" else DiabetesSource().load(), [0, 1], regime=Few(30))
    weights = stack.pretrain(PretrainSettings(max_epochs=2), task()).part("encoder") if is_pretrained else None
    method = Probe("knn" if model == "knn" else "logistic", C=0.5, k=4)
    outcome = method.run(stack, SupervisedPhase(FinetuneSettings(), weights))
    encoder = stack.networks.encoder([0, 1], weights)
    for t in range(2):
        with torch.no_grad():
            train, test = (encoder(stack.raw(rows))[t].double() for rows in (stack.data.labelled, stack.data.test))
        scaler = StandardScaler().fit(train)
        own = EQUALS_OF_PROBES[model].fit(scaler.transform(train), stack.data.labels[t])
        expected = (own.predict if model == "ridge" else own.predict_proba)(scaler.transform(test))
        np.testing.assert_allclose(outcome.predictions[t], expected, rtol=1e-4, atol=1e-5)
