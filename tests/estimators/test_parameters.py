"""Parameters as users of scikit-learn write them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.utils.class_weight import compute_sample_weight

from scarf_lightning import ScarfClassifier, ScarfTransformer, load_model
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.labels import labels_of_classes
from scarf_lightning.estimators.parameters import plain
from scarf_lightning.estimators.preparing import weights_of
from tests.estimators.small import OF_NETWORKS, small, table

X, y = table()
HALVES = [(np.arange(40), np.arange(40, 80))]
"""One half of the rows trains and the other tests: each setting of a search is fitted once."""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.str_("a"), "a"),
        (np.bool_(True), True),
        (np.array([1, 2]), [1, 2]),
        (np.array(3), 3),
        (pd.Index(["a"]), ["a"]),
        (pd.Series([1.5]), [1.5]),
        (Path("a/b"), "a/b"),
        (torch.device("cpu"), "cpu"),
        (("a", np.int8(1)), ["a", 1]),
        (range(2), [0, 1]),
        ({np.str_("a"): np.array([1])}, {"a": [1]}),
        (None, None),
    ],
)
def test_values_are_those_of_python(value: Any, expected: Any) -> None:
    found = plain(value)

    assert found == expected
    assert type(found) is type(expected)


class TestSearches:
    @pytest.mark.parametrize(
        "grid",
        [
            {"finetune__learning_rate": np.logspace(-4, -2, 2)},
            {"n_trials": np.arange(1, 3)},
            {"network": np.array(["mlp", "resnet"])},
            {"random_state": np.arange(2), "options": [OF_NETWORKS | {"finetune.batch_size": np.int32(16)}]},
            {"class_weight": [{0: 1, 1: 5}, "balanced", None]},
            {"device": [torch.device("cpu")], "options": [{**OF_NETWORKS, "dataset.drop": np.array(["c"])}]},
        ],
        ids=["logspace", "arange", "names", "seeds", "weights", "devices"],
    )
    def test_grids_of_numpys_values(self, grid: dict[str, Any]) -> None:
        if "network" in grid:
            grid["options"] = [{"finetune.max_epochs": 1}]

        search = GridSearchCV(small(), grid, cv=HALVES, refit=False, error_score="raise").fit(X, y)

        assert set(search.best_params_) == set(grid)

    def test_distributions_of_scipy(self) -> None:
        drawn = {
            "finetune__learning_rate": loguniform(1e-4, 1e-2),
            "finetune__weight_decay": uniform(0, 0.1),
            "n_trials": randint(1, 3),
        }

        search = RandomizedSearchCV(
            small(), drawn, n_iter=2, cv=HALVES, refit=False, error_score="raise", random_state=0
        ).fit(X, y)

        assert set(search.best_params_) == set(drawn)

    def test_what_is_set_is_got(self) -> None:
        estimator = small(pretrain="scarf").set_params(corruption__rate=0.3, finetune__learning_rate=np.float64(0.1))

        assert estimator.get_params()["corruption__rate"] == 0.3
        assert estimator.get_params()["finetune__learning_rate"] == 0.1
        assert "corruption__rate" not in estimator.get_params(deep=False)
        assert clone(estimator).get_params() == estimator.get_params()
        assert ScarfClassifier().set_params(**estimator.get_params()).get_params() == estimator.get_params()
        with pytest.raises(ValueError, match="Invalid parameter 'n_trails'"):
            estimator.set_params(n_trails=3)


class TestEpochs:
    @pytest.mark.parametrize("recipe", ["practical", "paper"])
    def test_a_number_of_epochs_that_is_set_is_the_largest(self, recipe: str) -> None:
        fitted = small(recipe=recipe, options={"finetune.max_epochs": 2}).fit(X, y)

        assert fitted.trials_["finetune_epochs"].tolist() == [2]

    def test_a_recipe_and_a_number_of_steps_that_is_set_go_on_counting(self) -> None:
        chosen = small()._config
        assert chosen().finetune.min_steps == 3, "as many as there are epochs"
        assert small(options={"finetune.max_epochs": 500})._config().finetune.min_steps == 300
        assert small(options={"finetune.min_steps": 7})._config().finetune.min_steps == 7
        assert ScarfClassifier()._config().finetune.min_steps == 300


class TestClassWeight:
    def test_a_dictionary_weighs_as_the_rows_weights_do(self, small_fit: Any) -> None:
        weights = {0: 1, 1: 5}
        expected = small().fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0)).predict_proba(X)

        np.testing.assert_array_equal(small(class_weight=weights).fit(X, y).predict_proba(X), expected)
        np.testing.assert_array_equal(small(class_weight={1: np.float64(5)}).fit(X, y).predict_proba(X), expected)
        assert (small_fit.predict_proba(X) != expected).any()

    def test_weights_are_multiplied_and_rows_without_a_label_have_the_mean(self) -> None:
        labels = labels_of_classes(np.array(["a", None, "b", "a"] * 5, dtype=object), None)
        own = np.arange(20.0)

        found = weights_of(labels, own, {"a": 2, "b": 0.5})

        of_classes = compute_sample_weight({"a": 2, "b": 0.5}, labels.known)
        expected = own.copy()
        expected[labels.is_known] *= of_classes
        expected[~labels.is_known] *= 1.5
        np.testing.assert_allclose(found, expected)
        np.testing.assert_array_equal(own, np.arange(20.0), err_msg="the caller's array is not written to")

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            ({"class_weight": {2: 1}}, r"The classes, \[0, 1\], are not in class_weight"),
            ({"class_weight": {0: -1}}, "class_weight gives 0 the weight -1, not 0 or more"),
            ({"class_weight": "fair"}, r"finetune\.class_weight must be one of none, balanced, not fair"),
        ],
    )
    def test_wrong_ones_are_refused(self, given: dict[str, Any], sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            small(**given).fit(X, y)

    @pytest.mark.parametrize(
        ("weights", "sentence"),
        [
            (-np.ones(80), "sample_weight holds the negative weight -1"),
            (np.ones((80, 2)), "1D array or scalar"),
            (np.ones(3), r"sample_weight.shape == \(3,\), expected \(80,\)"),
            (np.full(80, np.nan), "sample_weight contains NaN"),
        ],
    )
    def test_wrong_weights_of_rows_are_refused(self, weights: Any, sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            small().fit(X, y, sample_weight=weights)


class TestPaths:
    def test_the_users_home(self, small_fit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))

        small_fit.save("~/m")

        assert (tmp_path / "m" / "model.json").exists()
        for path in ("~/m", Path("~/m"), tmp_path / "m"):
            np.testing.assert_array_equal(load_model(path).predict(X), small_fit.predict(X))

    @pytest.mark.parametrize(
        ("path", "sentence"),
        [
            (None, "The place of a model must be a path, not None"),
            (3, "must be a path, not 3"),
            ("a\0b", "can be no path: it holds a NUL character"),
            ("a\ud800b", "or half a character"),
            ("~nobody-of-this-name/m", "has no meaning here"),
        ],
    )
    def test_what_is_no_path_is_refused(self, path: Any, sentence: str, small_fit: Any) -> None:
        for use in (load_model, small_fit.save, small_fit.model_.to_onnx):
            with pytest.raises(UsageError, match=sentence):
                use(path)

    def test_a_working_folder_that_is_gone(
        self, small_fit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gone = tmp_path / "gone"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()

        with pytest.raises(UsageError, match=r"The working folder is deleted; change to another one with os\.chdir"):
            small(network="resnet", options={"finetune.max_epochs": 1}, split="stratified").fit(X, y)
        with pytest.raises(UsageError, match="m cannot be written: No such file or directory"):
            small_fit.save("m")
        with pytest.raises(UsageError, match="m is no model: there is no such folder"):
            load_model("m")
        small_fit.save(tmp_path / "m")
        np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), small_fit.predict(X))


def test_tuning_belongs_to_scikit_learn() -> None:
    with pytest.raises(UsageError, match="options: tune keeps no networks; search with GridSearchCV"):
        small(options={"tune": 2}).fit(X, y)


def test_an_encoder_may_be_a_path(tmp_path: Path) -> None:
    encoder = {name: value for name, value in OF_NETWORKS.items() if name.startswith("network.encoder")}
    of_pretraining = {"pretrain.max_epochs": 1, "network.pretrain_head.width": 8}
    ScarfTransformer(device="cpu", options=encoder | of_pretraining).fit(X).save(tmp_path / "m")
    options = {"network.head.width": 8, "finetune.max_epochs": 2}

    fitted = ScarfClassifier(device="cpu", n_trials=1, encoder=tmp_path / "m", options=options).fit(X, y)

    assert fitted.trials_["finetune_epochs"].tolist() == [2]
