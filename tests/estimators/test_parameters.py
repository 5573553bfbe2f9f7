"""Parameters as users of scikit-learn write them, and the training of a classifier whose user chooses nothing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit

from scarf_lightning import ScarfClassifier, ScarfRegressor
from scarf_lightning.estimators.parameters import MANY, MOST, SOME, default_for
from scarf_lightning.options import Config
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


ROWS = pd.DataFrame(np.random.default_rng(5).normal(size=(MOST.fewest, 2)), columns=["a", "b"])
LABELS = (ROWS["a"] > 0).astype(int)


def config_of(n: int, **parameters: Any) -> Config:
    """The cell of a fit on so many labelled rows."""
    return ScarfClassifier(**parameters)._read(ROWS[:n], LABELS[:n], None).config


def test_each_training_begins_at_its_number_of_labels() -> None:
    labels = (1, 399, 400, 699, 700, 1999, 2000, 10**6)
    assert [default_for(n) for n in labels] == [None, None, SOME, SOME, MANY, MANY, MOST, MOST]


@pytest.mark.parametrize(
    ("n_labels", "recipe", "network", "pretrain", "epochs"),
    [
        (MOST.fewest, "realmlp_s", "realmlp", "none", 256),
        (MANY.fewest, "realmlp_s", "realmlp", "none", 64),
        (SOME.fewest, "practical", "mlp", "none", None),
        (SOME.fewest - 1, "practical", "mlp", "scarf", None),
    ],
)
def test_the_cell_is_chosen_by_the_number_of_labels(
    n_labels: int, recipe: str, network: str, pretrain: str, epochs: int | None
) -> None:
    config = config_of(n_labels)
    assert (config.recipe, config.network.name, config.pretrain.name) == (recipe, network, pretrain)
    assert epochs in (None, config.finetune.max_epochs)
    assert config.folds_on(n_labels) == (0 if epochs else 3)


@pytest.mark.parametrize(
    ("parameters", "recipe"),
    [
        ({"pretrain": "none"}, "realmlp_s"),
        ({"options": {"dataset.drop": ["b"]}}, "realmlp_s"),
        ({"class_weight": "balanced", "metric": "auroc", "n_trials": 2}, "realmlp_s"),
        ({"recipe": "practical"}, "practical"),
        ({"recipe": "realmlp"}, "realmlp"),
        ({"pretrain": "scarf"}, "practical"),
        ({"network": "resnet"}, "practical"),
        ({"options": {"finetune.max_epochs": 5}}, "practical"),
    ],
)
def test_a_choice_about_the_training_keeps_the_recipe(parameters: dict[str, Any], recipe: str) -> None:
    assert config_of(MANY.fewest, **parameters).recipe == recipe


def test_rows_without_a_label_are_what_pre_training_is_for() -> None:
    rows = pd.concat([ROWS, ROWS[:1] + 1], ignore_index=True)
    labels = pd.concat([LABELS, pd.Series([None])], ignore_index=True)

    unlabelled = ScarfClassifier()._read(rows, labels, None).config
    numbers = ScarfRegressor()._read(ROWS, ROWS["a"], None).config
    assert [(each.recipe, each.pretrain.name) for each in (unlabelled, numbers)] == [("practical", "scarf")] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "n", "said", "least"),
    [
        (load_breast_cancer, 455, "455 labels are enough for folds of the labels without pre-training.", 0.955),
        (load_digits, 1437, "1,437 labels are enough for 64 epochs of RealMLP-TD-S without pre-training.", 0.98),
    ],
)
def test_it_learns_as_well_as_the_authors_network(load: Any, n: int, said: str, least: float) -> None:
    """On five splits it has 0.979 and 0.987 on average; `RealMLP_TD_S_Classifier` of pytabkit 0.974 and 0.985."""
    rows, labels = load(return_X_y=True, as_frame=True)
    train, test = next(StratifiedShuffleSplit(1, test_size=0.2, random_state=0).split(rows, labels))

    model = ScarfClassifier().fit(rows.iloc[train], labels.iloc[train])

    assert (len(train), model.choice_) == (n, said)
    assert model.score(rows.iloc[test], labels.iloc[test]) >= least


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [20, 100, 500])
def test_probabilities_are_hardly_worse_than_the_class_frequencies_where_there_is_nothing_to_learn(
    n_labels: int,
) -> None:
    random = np.random.default_rng(n_labels)
    X = pd.DataFrame(random.normal(size=(n_labels + 5000, 12))).add_prefix("x")
    y = (random.random(len(X)) < 0.25).astype(int)

    classifier = ScarfClassifier(pretrain="none").fit(X[:n_labels], y[:n_labels])

    frequency = y[:n_labels].mean()
    predicted = classifier.predict_proba(X[n_labels:])[:, 1]
    assert log_loss(y[n_labels:], predicted) < log_loss(y[n_labels:], np.full(5000, frequency)) + 0.03
