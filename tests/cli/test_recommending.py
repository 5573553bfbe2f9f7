"""The recommendation at the end of an answer, on made-up results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.cli.recommending import BASELINE, Recommendation, recommend
from scarf_lightning.report.loading import CellResults
from scarf_lightning.report.report_options import ReportOptions
from tests.report.cell_results import results_of

TRIALS = 10
NONE, SCARF = ("control", "none"), ("control", "scarf")
LOGISTIC, XGBOOST, CONSTANT = ("logistic", "none"), ("xgboost", "none"), (BASELINE, "none")


def around(mean: float, seed: int = 0, spread: float = 0.01, trials: int = TRIALS) -> list[float]:
    """Values with exactly this mean."""
    values = np.random.default_rng(seed).normal(size=trials)
    return list(mean + spread * (values - values.mean()))


def results(values: Mapping[tuple[str, str], Sequence[float]], **more: Any) -> CellResults:
    """Cells of one table with all labels, by method and pre-training."""
    shared: dict[str, Any] = {"dataset": "customers", "regime": "full", "split": "random"}
    cells = []
    for (method, pretrain), its in values.items():
        network = "mlp" if method == "control" else None
        cells.append((shared | {"pretrain": pretrain, "method": method, "network": network}, its))
    found = results_of(cells, **more)
    found.folders.update({label: Path(f"results/{label}") for label in range(len(cells))})
    return found


def recommended(values: Mapping[tuple[str, str], Sequence[float]], **more: Any) -> Recommendation:
    found = recommend(results(values, **more), ReportOptions())
    assert found is not None
    return found


def test_the_best_mean_is_recommended_with_what_it_is_better_than() -> None:
    found = recommended(
        {
            NONE: around(0.79, 1),
            SCARF: around(0.80, 2),
            LOGISTIC: around(0.76, 3),
            XGBOOST: around(0.84, 4),
            CONSTANT: around(0.55, 5),
        }
    )

    assert found.name == "XGBoost"
    first = found.sentences[0]
    assert first.startswith("Use XGBoost: accuracy 0.84 (")
    assert "against 0.80 of the network pre-trained by SCARF (on the same splits +4.00 points of accuracy (" in first
    # The answer that needs no model is in the table alone.
    assert "constant" not in " ".join(found.sentences)
    assert found.expected["value"] == pytest.approx(0.84)
    assert found.expected["low"] < 0.84 < found.expected["high"]


def test_in_a_tie_the_simplest_model_is_recommended() -> None:
    alike = {NONE: around(0.809, 1), SCARF: around(0.804, 2), LOGISTIC: around(0.80, 3), XGBOOST: around(0.803, 4)}

    assert recommended(alike).name == "logistic"
    assert recommended({key: alike[key] for key in (NONE, XGBOOST)}).name == "XGBoost"


def test_at_equal_accuracy_logistic_regression_is_recommended_and_not_the_network() -> None:
    found = recommended({NONE: around(0.9801, 1), LOGISTIC: around(0.98, 2)})

    assert found.name == "logistic"
    assert found.sentences[0].startswith("Use logistic: accuracy 0.98 (")
    assert "against 0.98 of the network (on the same splits −0.01 points of accuracy (" in found.sentences[0]
    assert found.sentences[0].endswith("we cannot tell which is better, and the simpler one costs less).")


def test_a_lead_that_is_claimed_is_no_tie_however_small() -> None:
    # The lead is 0.9 points, about as much in every trial, so little is left to chance.
    values = around(0.80, 1)
    ahead = [value + 0.009 + 0.004 * (-1) ** place for place, value in enumerate(values)]

    assert recommended({NONE: ahead, LOGISTIC: values}).name == "the network"


def test_a_lead_without_practical_difference_is_a_tie() -> None:
    values = around(0.80, 1)

    assert recommended({NONE: [value + 0.004 for value in values], LOGISTIC: values}).name == "logistic"


def test_a_lead_above_the_smallest_difference_that_matters_is_no_tie() -> None:
    unsure = {NONE: around(0.83, 1, spread=0.1), LOGISTIC: around(0.80, 2, spread=0.1)}
    found = recommended(unsure)

    assert found.name == "the network"
    assert found.sentences[0].endswith("we cannot tell which is better).")


def test_a_tie_is_judged_on_the_trials_that_both_have() -> None:
    # In the trials that all three have the network leads by 3 points; in those that it shares with logistic regression
    # it is behind.
    network = [*around(0.83, 1, trials=5), *around(0.77, 2, trials=5)]
    values = {NONE: network, LOGISTIC: [*around(0.80, 3, trials=5), *around(0.802, 4, trials=5)]}

    assert recommended(values | {XGBOOST: around(0.70, 5, trials=5)}).name == "logistic"


def test_a_pre_training_that_leads_by_little_and_may_not_help_is_not_recommended() -> None:
    unsure = {NONE: around(0.80, 1, spread=0.05), SCARF: around(0.808, 2, spread=0.05)}
    found = recommended(unsure | {LOGISTIC: around(0.70, 3)})

    assert found.name == "no pre-training"
    assert found.sentences[0].startswith("Use the network with no pre-training: accuracy 0.80 (")
    assert found.sentences[1].startswith("We cannot tell whether pre-training helps the network: SCARF changes it by ")


def test_a_pre_training_that_leads_by_more_is_recommended_and_said_to_be_open() -> None:
    unsure = {NONE: around(0.80, 1, spread=0.05), SCARF: around(0.83, 2, spread=0.05)}
    found = recommended(unsure | {LOGISTIC: around(0.70, 3)})

    assert found.name == "SCARF"
    assert found.sentences[1].startswith("We cannot tell whether pre-training helps the network: SCARF changes it by ")


def test_a_pre_training_that_is_compared_with_nothing_may_be_recommended() -> None:
    beside_another = recommended({SCARF: around(0.83, 2), LOGISTIC: around(0.70, 3)})

    assert beside_another.cell == Path("results/0")
    assert recommended({SCARF: around(0.83, 2)}).cell == Path("results/0")


def test_models_are_compared_on_the_trials_that_all_have() -> None:
    # The later trials of logistic regression, which others have not, are easy ones.
    found = recommended({NONE: around(0.80, 1, trials=5), LOGISTIC: [*around(0.70, 2, trials=5), *[1.0] * 5]})

    assert found.name == "the network"
    assert "0.85 of logistic (on the same splits +10.00 points" in found.sentences[0]


def test_lower_is_better_for_errors() -> None:
    errors = results({NONE: around(3.0, 1, 0.1), ("ridge", "none"): around(2.0, 2, 0.1)}, metric="rmse")

    found = recommend(errors, ReportOptions(metric="rmse"))

    assert found is not None
    assert found.name == "ridge"
    assert found.sentences[0].startswith("Use ridge: RMSE 2.000 (")


def test_a_pre_training_that_cannot_reach_the_recommended_model_is_said_to_stay_behind() -> None:
    found = recommended({NONE: around(0.70, 1), SCARF: around(0.70, 2), XGBOOST: around(0.84, 4)})

    (sentence, *_) = found.sentences[1:]
    assert sentence.endswith("and it stays behind XGBoost either way.")


def test_a_pre_training_that_may_reach_it_is_not() -> None:
    found = recommended({NONE: around(0.80, 1, 0.08), SCARF: around(0.81, 2, 0.08), XGBOOST: around(0.84, 4)})

    assert found.sentences[1].startswith("We cannot tell whether pre-training helps the network: SCARF changes it by ")
    assert "stays behind" not in " ".join(found.sentences)


def test_a_pre_training_that_helps_says_how_much() -> None:
    found = recommended({NONE: around(0.70, 1), SCARF: around(0.80, 1), LOGISTIC: around(0.6, 3)})

    assert found.name == "SCARF"
    assert found.sentences[0].startswith("Use the network pre-trained by SCARF: accuracy 0.80 (")
    assert found.sentences[1].startswith("Pre-training the network by SCARF: helps, +10.00 points of accuracy (")
    assert len(found.sentences) == 2


def test_no_model_is_called_better_than_a_constant_that_beats_it() -> None:
    found = recommended({NONE: around(0.80, 1), LOGISTIC: around(0.81, 2), CONSTANT: around(0.85, 3)})

    assert found.sentences[0].startswith("No model is better than constant, which needs none (0.85). Use logistic")
    assert found.name == "logistic"


def test_several_tables_and_tables_without_a_trial_get_no_recommendation() -> None:
    one, other = ({"dataset": name, "regime": "full", "pretrain": "none", "method": "control"} for name in ("a", "b"))

    assert recommend(results_of([(one, [0.5]), (other, [0.6])]), ReportOptions()) is None
    few = one | {"regime": "few", "regime.labels": 20}
    assert recommend(results_of([(few, [0.5])]), ReportOptions()) is None
