"""The choice between pre-training and training from scratch, and the state in which a fit leaves the process."""

import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import ttest_rel

from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.estimators import fitting
from scarf_lightning.estimators.fitting import row_losses
from tests.estimators.small import small, table


def test_pre_training_is_used_if_a_paired_t_test_of_the_rows_losses_says_so() -> None:
    for seed in range(40):
        random = np.random.default_rng(seed)
        without = random.exponential(size=50)
        with_it = without + random.normal(random.uniform(-0.3, 0.3), 0.5, 50)

        is_used, said = fitting._choice(with_it, without, "validation rows")

        test = ttest_rel(with_it, without)
        is_clear = test.pvalue < 0.05
        assert is_used == (is_clear and test.statistic < 0), seed
        begins = "Pre-training helps:" if is_used else "Pre-training hurts and is not used:"
        assert said.startswith(begins if is_clear else "No clear difference on 50 validation rows ("), seed


def test_a_trial_that_diverged_is_the_worse_one_and_one_loss_tells_nothing() -> None:
    some, infinite = np.array([0.5, 0.7]), np.array([0.5, np.inf])

    assert fitting._choice(infinite, some, "trials")[0] is False
    assert fitting._choice(some, infinite, "trials")[0] is True
    assert fitting._choice(infinite, infinite, "trials")[0] is False
    assert fitting._choice(np.array([0.1]), np.array([0.9]), "trials") == (
        False,
        "No clear difference on 1 trial (0.1 with pre-training, 0.9 without): trained without pre-training, which is "
        "cheaper.",
    )


@pytest.mark.parametrize(("n", "is_enough"), [(29, False), (30, True)])
def test_few_rows_tell_nothing(n: int, is_enough: bool) -> None:
    without = np.linspace(0.4, 0.6, n)

    is_used, said = fitting._choice(without - np.linspace(0.1, 0.2, n), without, "validation rows")

    assert is_used == is_enough
    assert said.startswith("Pre-training helps:" if is_enough else "29 validation rows are too few to tell (0.35 with ")


def test_losses_of_rows() -> None:
    classes = row_losses(Classes(("a", "b")), np.array([[0.25, 0.75], [1.0, 0.0]]), np.array([1, 0]))
    np.testing.assert_allclose(classes, [-np.log(0.75), 0])
    np.testing.assert_allclose(row_losses(Number("y"), np.array([1.0, 2.0]), np.array([3.0, 2.0])), [4, 0])


@pytest.mark.parametrize("is_used", [True, False])
def test_the_chosen_networks_are_those_of_the_phase_alone(is_used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    monkeypatch.setattr(fitting, "_choice", lambda *_: (is_used, "so it is"))

    fitted = small(pretrain="auto", n_trials=4).fit(X, y)

    alone = small(pretrain="scarf" if is_used else "none", n_trials=4).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), alone.predict_proba(X))
    assert fitted.choice_ == "so it is"
    assert alone.choice_ is None


@pytest.mark.parametrize("is_regressor", [False, True])
def test_the_rows_that_no_network_trains_on_judge(is_regressor: bool) -> None:
    X, y = table()

    fitted = small(is_regressor=is_regressor, pretrain="auto", n_trials=2).fit(X, X["a"] if is_regressor else y)

    assert str(fitted.choice_).startswith("16 validation rows are too few to tell (")


class TestTheProcess:
    def test_gradients_are_computed_even_if_the_caller_has_switched_them_off(self, small_fit: Any) -> None:
        X, y = table()
        expected = small_fit.predict_proba(X)
        for off in (torch.inference_mode, torch.no_grad):
            with off():
                fitted = small().fit(X, y)
                np.testing.assert_array_equal(fitted.predict_proba(X), expected)
            np.testing.assert_array_equal(fitted.predict_proba(X), expected)

    def test_loggers_of_others_keep_their_levels(self) -> None:
        X, y = table()
        levels = {"pytorch_lightning": logging.DEBUG, "lightning_fabric": logging.NOTSET}
        before = {name: logging.getLogger(name).level for name in levels}
        try:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
            small().fit(X, y)
            assert {name: logging.getLogger(name).level for name in levels} == levels
        finally:
            for name, level in before.items():
                logging.getLogger(name).setLevel(level)


def test_more_rows_than_weights_are_kept_in_the_order_of_trials() -> None:
    X, y = table()
    fitted = small(n_trials=3).fit(X, y)

    assert fitted.trials_["trial"].tolist() == [0, 1, 2]
    assert isinstance(fitted.trials_, pd.DataFrame)
