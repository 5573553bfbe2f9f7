"""The metric of a chosen model: of equal ones it is not the best one's luck, and without a choice it is as it was."""

import numpy as np
import pytest

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts.choice import level_of_choice
from scarf_lightning.verdicts.frame import Trials
from tools.benchmarks.chosen import WORTH, chosen, equal_models

ACCURACY = metric_named("accuracy")


def best(means: np.ndarray) -> int:
    return int(np.argmax(means))


@pytest.mark.parametrize(
    ("models", "labels", "trials", "draws"),
    [
        (10, 100, 5, 60),
        *(pytest.param(m, n, t, 200, marks=pytest.mark.slow) for m in (2, 10) for n, t in ((100, 30), (500, 5))),
    ],
)
def test_the_best_of_equal_models_is_said_to_be_as_good_as_they_are(
    models: int, labels: int, trials: int, draws: int
) -> None:
    """By the rows that chose it the best of ten had 3.9 points too many with a hundred labels and five trials."""
    by_itself, by_others = chosen(np.random.default_rng(1), draws, models, labels, trials)

    assert by_itself.total_error / draws > 0.003
    assert abs(by_others.total_error / draws) < 0.5 / labels**0.5 / draws**0.5 * 3
    assert by_others.covered / by_others.intervals > 0.9


def test_a_model_that_is_chosen_everywhere_has_the_level_of_all_its_trials() -> None:
    one, other = equal_models(np.random.default_rng(0), 2, 100, 5)
    worse = Trials({trial: value - 0.5 for trial, value in list(other.values.items())[:3]})

    assert level_of_choice([one, worse], 0, best, ACCURACY) == one.level(ACCURACY)
    assert level_of_choice([one], 0, best, ACCURACY) == one.level(ACCURACY)


def test_without_predictions_each_trial_is_measured_with_the_model_of_the_others() -> None:
    """The first leads where the second does not: without a trial the other one is chosen each time."""
    values = np.array([[0.9, 0.7, 0.8, 0.8], [0.7, 0.9, 0.8, 0.79]])
    first, second = (Trials(dict(enumerate(each.tolist()))) for each in values)
    picks = [best(np.delete(values, trial, axis=1).mean(axis=1)) for trial in range(4)]

    found = level_of_choice([first, second], 0, best, ACCURACY)

    assert picks == [1, 0, 0, 0]
    assert found.mean == pytest.approx(np.mean([values[pick, trial] for trial, pick in enumerate(picks)]))
    assert WORTH == 0.8
