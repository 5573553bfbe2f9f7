"""Parameters as users of scikit-learn write them."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.class_weight import compute_sample_weight

from scarf_lightning import ScarfClassifier
from scarf_lightning.estimators.labels import labels_of_classes, weights_of
from tests.estimators.small import OF_NETWORKS, small, table

X, y = table()
HALVES = [(np.arange(40), np.arange(40, 80))]
"""One half of the rows trains and the other tests: each setting of a search is fitted once."""
GRIDS: dict[str, dict[str, Any]] = {
    "names": {"network": np.array(["mlp", "resnet"]), "options": [{"finetune.max_epochs": 1}]},
    "seeds": {"random_state": np.arange(2), "options": [OF_NETWORKS | {"finetune.batch_size": np.int32(16)}]},
    "weights": {"class_weight": [{0: 1, 1: 5}, "balanced", None]},
}


class TestSearches:
    @pytest.mark.parametrize(
        "name", [pytest.param(name, marks=() if name == "seeds" else pytest.mark.slow) for name in GRIDS]
    )
    def test_grids_of_numpys_values(self, name: str) -> None:
        search = GridSearchCV(small(), GRIDS[name], cv=HALVES, refit=False, error_score="raise").fit(X, y)
        assert set(search.best_params_) == set(GRIDS[name])

    def test_what_is_set_is_got(self) -> None:
        estimator = small(pretrain="scarf").set_params(corruption__rate=0.3, finetune__learning_rate=np.float64(0.1))
        assert estimator.get_params()["corruption__rate"] == 0.3
        assert estimator.get_params()["finetune__learning_rate"] == 0.1
        assert "corruption__rate" not in estimator.get_params(deep=False)
        assert clone(estimator).get_params() == estimator.get_params()
        assert ScarfClassifier().set_params(**estimator.get_params()).get_params() == estimator.get_params()
        with pytest.raises(ValueError, match="Invalid parameter 'n_trails'"):
            estimator.set_params(n_trails=3)


def test_a_dictionary_within_options_sets_the_options_of_a_section() -> None:
    nested = small(options={"finetune": {"max_epochs": 2}, "dataset": {"drop": ["c"]}})
    assert nested._config() == small(options={"finetune.max_epochs": 2, "dataset.drop": ["c"]})._config()


class TestWeights:
    def test_a_dictionary_weighs_as_the_rows_weights_do_and_equal_ones_change_nothing(self, small_fit: Any) -> None:
        unequal = small().fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0)).predict_proba(X)
        equal = small().fit(X, y, sample_weight=np.full(80, 3.0)).predict_proba(X)
        by_class = small(class_weight={1: np.float64(5)}).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(by_class, unequal)
        np.testing.assert_array_equal(equal, small_fit.predict_proba(X))
        assert (equal != unequal).any()

    def test_weights_are_multiplied_and_rows_without_a_label_have_the_mean(self) -> None:
        labels = labels_of_classes(np.array(["a", None, "b", "a"] * 5, dtype=object))
        own = np.arange(20.0)
        found = weights_of(labels, own, {"a": 2, "b": 0.5})
        expected = own.copy()
        expected[labels.is_known] *= compute_sample_weight({"a": 2, "b": 0.5}, labels.known)
        expected[~labels.is_known] *= 1.5
        np.testing.assert_allclose(found, expected)
        np.testing.assert_array_equal(own, np.arange(20.0), err_msg="the caller's array is not written to")

    @pytest.mark.parametrize(
        ("of_classes", "of_rows", "sentence"),
        [
            ({2: 1}, None, r"The classes, \[0, 1\], are not in class_weight"),
            ({0: -1}, None, r"class_weight must give each class a weight of 0 or more, not {0: -1}"),
            (None, -np.ones(80), "Negative values in data passed to `sample_weight`"),
            (None, np.ones((80, 2)), "1D array or scalar"),
            (None, np.ones(3), r"sample_weight.shape == \(3,\), expected \(80,\)"),
            (None, np.full(80, np.nan), "sample_weight contains NaN"),
        ],
    )
    def test_wrong_ones_are_refused(self, of_classes: Any, of_rows: Any, sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            small(class_weight=of_classes).fit(X, y, sample_weight=of_rows)
