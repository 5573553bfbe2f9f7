"""The choice between pre-training and training from scratch."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_rel

from scarf_lightning import load_model
from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.estimators import fitting
from scarf_lightning.estimators.fitting import row_losses
from scarf_lightning.training import CellTraining
from tests.estimators.small import small, table

X, y = table()


def test_pre_training_is_used_if_a_paired_t_test_of_the_rows_losses_says_so() -> None:
    for seed in range(40):
        random = np.random.default_rng(seed)
        without = random.exponential(size=50)
        with_it = without + random.normal(random.uniform(-0.3, 0.3), 0.5, 50)
        is_used, said = fitting._choice(with_it, without)
        test = ttest_rel(with_it, without)
        is_clear = test.pvalue < 0.05
        assert is_used == (is_clear and test.statistic < 0), seed
        begins = "Pre-training helps:" if is_used else "Pre-training hurts and is not used:"
        assert said.startswith(begins if is_clear else "No clear difference on 50 validation rows ("), seed


@pytest.mark.parametrize(
    ("with_it", "without", "is_used", "said"),
    [
        ([0.5, np.inf], [0.5, 0.7], False, "Pre-training hurts and is not used: loss on 2 validation rows inf"),
        ([0.5, 0.7], [0.5, np.inf], True, "Pre-training helps: "),
        ([0.5, np.inf], [0.5, np.inf], False, "Pre-training hurts"),
    ],
    ids=["it diverged", "the other diverged", "both diverged"],
)
def test_a_trial_that_diverged_is_the_worse_one(with_it: Any, without: Any, is_used: bool, said: str) -> None:
    found = fitting._choice(np.array(with_it), np.array(without))
    assert found[0] == is_used
    assert found[1].startswith(said)


def test_losses_of_rows() -> None:
    classes = row_losses(Classes(("a", "b")), np.array([[0.25, 0.75], [1.0, 0.0]]), np.array([1, 0]))
    np.testing.assert_allclose(classes, [-np.log(0.75), 0])
    np.testing.assert_allclose(row_losses(Number("y"), np.array([1.0, 2.0]), np.array([3.0, 2.0])), [4, 0])


@pytest.mark.parametrize("is_used", [True, False])
@pytest.mark.slow
def test_all_trials_choose_and_the_chosen_networks_are_those_of_the_phase_alone(
    is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = small(pretrain="scarf" if is_used else "none", n_trials=2).fit(X, y)
    assert alone.choice_ is None
    monkeypatch.setattr(fitting, "_choice", lambda *_: (is_used, "so it is"))
    monkeypatch.setattr(fitting, "ENOUGH", 16)
    fitted = small(pretrain="auto", n_trials=2).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), alone.predict_proba(X))
    assert fitted.trials_["log_loss"].tolist() == pytest.approx(alone.trials_["log_loss"].tolist(), rel=1e-6)
    assert fitted.choice_ == "so it is"


@pytest.mark.parametrize("is_regressor", [False, True])
def test_the_rows_that_no_network_trains_on_judge(is_regressor: bool, tmp_path: Any) -> None:
    fitted = small(is_regressor=is_regressor, pretrain="auto", n_trials=2).fit(X, X["a"] if is_regressor else y)
    assert fitted.choice_ == "16 validation rows are too few to tell: trained without pre-training, which is cheaper."
    assert fitted.trials_["trial"].tolist() == [0, 1]
    fitted.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), fitted.predict(X))


def test_too_few_rows_to_judge_train_both_if_the_network_from_scratch_diverges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    losses = fitting._losses

    def diverging(cell: CellTraining) -> Any:
        records, found = losses(cell)
        return records, np.full(len(found), np.inf) if cell.config.pretrain.name == "none" else found

    monkeypatch.setattr(fitting, "_losses", diverging)
    fitted = small(pretrain="auto", n_trials=2).fit(X, y)
    assert str(fitted.choice_).startswith("Pre-training helps: ")
    alone = small(pretrain="scarf", n_trials=2).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), alone.predict_proba(X))
