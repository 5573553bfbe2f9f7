"""Any estimator with the interface of scikit-learn, by its name."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB

from scarf_lightning.data.sources import DiabetesSource, WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Few
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.methods.named_estimator import NamedEstimator
from scarf_lightning.results import columns, fingerprint
from tests.cells import DATA_HASH, identity_of
from tests.composing import config_of
from tests.methods.libraries import BALANCED, PLAIN, assert_it_is_its_librarys
from tests.stacks import MakeStack


class Spy(ClassifierMixin, BaseEstimator):
    """Keeps what it is given; knows no weights, and predicts the first class."""

    seen: list[tuple[Any, Any]] = []  # noqa: RUF012

    def __init__(self, shift: int = 0) -> None:
        self.shift = shift

    def fit(self, x: Any, y: Any) -> "Spy":
        Spy.seen.append((x, y))
        self.classes_ = np.unique(y)
        return self

    def predict(self, x: Any) -> Any:
        return np.zeros(len(x), dtype=int)

    def predict_proba(self, x: Any) -> Any:
        return np.eye(len(self.classes_))[self.predict(x)][self.shift :]


SPY = f"{__name__}.Spy"
SVC = "sklearn.svm.SVC"
OF_BOOSTING = {"n_estimators": 5, "subsample": 0.5}
EQUALS: dict[str, tuple[dict[str, Any], Any]] = {
    "boosting": (
        {"estimator": "sklearn.ensemble.GradientBoostingClassifier", "options": OF_BOOSTING},
        lambda seed: GradientBoostingClassifier(**OF_BOOSTING, random_state=seed),
    ),
    "no name": ({"options": {"n_estimators": 7}}, lambda seed: ExtraTreesClassifier(7, random_state=seed)),
    "a seed of one's own": (
        {"options": {"n_estimators": 3, "random_state": 5, "n_jobs": 2}},
        lambda seed: ExtraTreesClassifier(3, random_state=5),
    ),
    "no name, for numbers": ({"options": {"n_estimators": 7}}, lambda seed: ExtraTreesRegressor(7, random_state=seed)),
}


@pytest.mark.parametrize("case", EQUALS)
def test_it_is_the_estimator_on_encoded_labelled_rows(patients: Table, make_stack: MakeStack, case: str) -> None:
    """Without a name it is extra trees of the target."""
    arguments, library = EQUALS[case]
    stack = make_stack(DiabetesSource().load() if "numbers" in case else patients, [0, 3], regime=Few(40))
    assert_it_is_its_librarys(NamedEstimator(**arguments), library, stack, rounding=1e-12)


def test_weights_reach_it_where_it_knows_them(stack: Stack) -> None:
    method = NamedEstimator(estimator="sklearn.naive_bayes.GaussianNB")
    assert_it_is_its_librarys(method, lambda _: GaussianNB(), stack, phase=BALANCED, rounding=1e-7)
    with pytest.raises(UsageError, match="Spy knows no weights of rows"):
        NamedEstimator(estimator=SPY).run(stack, BALANCED)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"estimator": "nowhere.Thing"}, "method.estimator=nowhere.Thing: nowhere is not installed; name a class"),
        (
            {"estimator": "sklearn.nothing.SVC"},
            "No module named 'sklearn.nothing'; name a class of an installed package",
        ),
        ({"estimator": "sklearn.svm.l1_min_c"}, "is no estimator: it needs fit, predict, get_params."),
        ({"estimator": "sklearn.preprocessing.StandardScaler"}, "is no estimator: it needs fit, predict, get_params."),
        (
            {"estimator": SVC, "options": {"gama": 2}},
            "sklearn.svm.SVC refuses method.options: SVC.__init__() got an unexpected keyword argument 'gama'",
        ),
    ],
)
def test_what_is_no_such_estimator_is_refused_before_it_trains(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        NamedEstimator(**options)


@pytest.mark.parametrize(
    ("options", "is_number", "said"),
    [
        ({"estimator": "sklearn.linear_model.Ridge"}, False, "sklearn.linear_model.Ridge has no predict_proba"),
        ({"options": {"max_depth": -1}}, False, "refuses these rows, or its options: The 'max_depth' parameter of"),
        ({"estimator": SPY, "options": {"shift": 1}}, False, "Spy predicts 39 of 40 rows."),
        ({"estimator": SVC}, True, "sklearn.svm.SVC is a classifier, and the target is a number"),
    ],
)
def test_what_does_not_serve_the_target_is_refused(
    patients: Table, make_stack: MakeStack, options: dict[str, Any], is_number: bool, said: str
) -> None:
    stack = make_stack(DiabetesSource().load() if is_number else patients, [0])
    with pytest.raises(UsageError, match=re.escape(said)) as refused:
        NamedEstimator(**options).run(stack, PLAIN)
    assert str(refused.value).count("refuses") == ("refuses" in said)


def test_its_name_and_its_options_are_its_identity() -> None:
    def name_of(*options: str) -> str:
        return fingerprint(identity_of(config_of("method=sklearn", f"method.estimator={SVC}", *options), DATA_HASH))

    both = "method.options={C:2,kernel:rbf}"
    other = "method.estimator=sklearn.naive_bayes.GaussianNB"
    assert name_of(both) == name_of("method.options={kernel:rbf,C:2.0}")
    assert len({name_of(), name_of(both), name_of("method.options={C:3,kernel:rbf}"), name_of(other)}) == 4
    found = columns(config_of("method=sklearn", f"method.estimator={SVC}", both))
    assert (found["method.estimator"], found["method.options"]) == (SVC, "{C:2,kernel:rbf}")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["RealMLP_TD_S_Classifier", "TabM_D_Classifier"])
def test_a_network_of_pytabkit_is_one_line(model: str, make_stack: MakeStack) -> None:
    """The commands of docs/rivals.md."""
    pytest.importorskip("pytabkit", reason="pytabkit is not installed")
    method = NamedEstimator(f"pytabkit.{model}", {"device": "cpu"}, "categories")
    stack = make_stack(WdbcSource().load(), [0], regime=Few(100, validation="inside"))
    predictions = method.run(stack, PLAIN).predictions[0]
    assert (predictions.argmax(axis=1) == stack.table.labels[stack.data.test[0]]).mean() > 0.9
