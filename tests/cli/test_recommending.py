"""The recommendation at the end of an answer, on made-up results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.cli.recommending import BASELINE, Recommendation, _carrier_sentences, _carriers, recommend
from scarf_lightning.estimators.carrying import Carrier
from scarf_lightning.metrics import metric_named
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.results import read_cell
from tests.reporting.cell_results import results_of

NONE, SCARF = ("control", "none"), ("control", "scarf")
LOGISTIC, XGBOOST, CONSTANT = ("logistic", "none"), ("xgboost", "none"), (BASELINE, "none")
OPEN = "We cannot tell whether pre-training helps the network: SCARF changes it by "
Values = Mapping[tuple[str, str], Sequence[float]]


def around(mean: float, seed: int = 0, spread: float = 0.01, trials: int = 10) -> list[float]:
    """Values with exactly this mean."""
    values = np.random.default_rng(seed).normal(size=trials)
    return list(mean + spread * (values - values.mean()))


def results(values: Values, **more: Any) -> CellResults:
    """Cells of one table with all labels, by method and pre-training."""
    shared: dict[str, Any] = {"dataset": "customers", "regime": "full", "split": "random"}
    cells = []
    for (method, pretrain), its in values.items():
        network = "mlp" if method == "control" else None
        cells.append((shared | {"pretrain": pretrain, "method": method, "network": network}, its))
    found = results_of(cells, **more)
    found.folders.update({label: Path(f"results/{label}") for label in range(len(cells))})
    return found


def recommended(values: Values, metric: str = "accuracy") -> Recommendation:
    found = recommend(results(values, metric=metric), ReportOptions(metric=metric))
    assert found is not None
    return found


def test_the_best_mean_is_recommended_with_what_it_is_better_than() -> None:
    networks = {NONE: around(0.79, 1), SCARF: around(0.80, 2)}
    found = recommended({**networks, LOGISTIC: around(0.76, 3), XGBOOST: around(0.84, 4), CONSTANT: around(0.55, 5)})

    assert found.name == "XGBoost"
    first = found.sentences[0]
    assert first.startswith("Use XGBoost: accuracy 0.84 (")
    assert "against 0.80 of the network pre-trained by SCARF (on the same splits +4.00 points of accuracy (" in first
    # The answer that needs no model is in the table alone.
    assert "constant" not in " ".join(found.sentences)
    assert found.expected["value"] == pytest.approx(0.84)
    assert found.expected["low"] < 0.84 < found.expected["high"]


ALIKE = {NONE: around(0.809, 1), SCARF: around(0.804, 2), LOGISTIC: around(0.80, 3), XGBOOST: around(0.803, 4)}
ONE = around(0.80, 1)
IN_FIVE_TRIALS = [*around(0.83, 1, trials=5), *around(0.77, 2, trials=5)]


@pytest.mark.parametrize(
    ("values", "name", "words"),
    [
        # In a tie the simplest model is recommended,
        (ALIKE, "logistic", ["Use logistic: accuracy 0.80 ("]),
        ({key: ALIKE[key] for key in (NONE, XGBOOST)}, "XGBoost", ["Use XGBoost: "]),
        # at equal accuracy, too.
        (
            {NONE: around(0.9801, 1), LOGISTIC: around(0.98, 2)}, "logistic",
            ["Use logistic: accuracy 0.98 (",
             "against 0.98 of the network (on the same splits −0.01 points of accuracy (",
             "we cannot tell which is better, and the simpler one costs less)."],
        ),
        # A lead of 0.9 points, about as much in every trial, leaves little to chance and is no tie; one of 0.4 is.
        ({NONE: [x + 0.009 + 0.004 * (-1) ** n for n, x in enumerate(ONE)], LOGISTIC: ONE}, "the network", []),
        ({NONE: [x + 0.004 for x in ONE], LOGISTIC: ONE}, "logistic", []),
        # A lead above the smallest difference that matters is no tie.
        (
            {NONE: around(0.83, 1, spread=0.1), LOGISTIC: around(0.80, 2, spread=0.1)}, "the network",
            ["we cannot tell which is better)."],
        ),
        # A tie is judged on the trials that both have: in those the network is behind, and leads in those of all three.
        (
            {NONE: IN_FIVE_TRIALS, LOGISTIC: [*around(0.80, 3, trials=5), *around(0.802, 4, trials=5)],
             XGBOOST: around(0.70, 5, trials=5)},
            "logistic", [],
        ),
        # Models are compared on the trials that all have: the later ones of logistic regression are easy.
        (
            {NONE: around(0.80, 1, trials=5), LOGISTIC: [*around(0.70, 2, trials=5), *[1.0] * 5]}, "the network",
            ["0.85 of logistic (on the same splits +10.00 points"],
        ),
        # The baseline has the trials of the first round alone, and takes none from the models: trees lead in ten.
        (
            {LOGISTIC: around(0.80, 1), XGBOOST: [*around(0.78, 2, trials=5), *around(0.90, 3, trials=5)],
             CONSTANT: around(0.55, 4, trials=5)},
            "XGBoost", ["Use XGBoost: accuracy 0.84 ("],
        ),
        # It is compared on the trials that both have: in those it is better, and the later ones are easy.
        (
            {LOGISTIC: [*around(0.80, 1, trials=5), *around(0.95, 2, trials=5)], CONSTANT: around(0.85, 3, trials=5)},
            "logistic", ["No model is better than constant, which needs none (0.85). Use logistic"],
        ),
        # No model is called better than a constant that beats it.
        (
            {NONE: around(0.80, 1), LOGISTIC: around(0.81, 2), CONSTANT: around(0.85, 3)}, "logistic",
            ["No model is better than constant, which needs none (0.85). Use logistic"],
        ),
    ],
)  # fmt: skip
def test_the_model_is_the_best_or_in_a_tie_the_simplest(values: Values, name: str, words: list[str]) -> None:
    found = recommended(values)

    assert found.name == name
    for each in words:
        assert each in found.sentences[0]


@pytest.mark.parametrize(
    ("values", "name", "first", "second"),
    [
        # A lead by little that may not help; one by more, whose size is open; and one that helps.
        (
            {NONE: around(0.80, 1, 0.05), SCARF: around(0.808, 2, 0.05), LOGISTIC: around(0.70, 3)},
            "no pre-training", "Use the network with no pre-training: accuracy 0.79 (0.73 to 0.85) on rows", OPEN,
        ),
        ({NONE: around(0.80, 1, 0.05), SCARF: around(0.83, 2, 0.05), LOGISTIC: around(0.70, 3)}, "SCARF", "Use ", OPEN),
        (
            {NONE: around(0.70, 1), SCARF: around(0.80, 1), LOGISTIC: around(0.6, 3)}, "SCARF",
            "Use the network pre-trained by SCARF: accuracy 0.80 (",
            "Pre-training the network by SCARF helps, +10.00 points of accuracy (",
        ),
        # One that may reach the recommended model does not stay behind.
        (
            {NONE: around(0.80, 1, 0.08), SCARF: around(0.81, 2, 0.08), XGBOOST: around(0.84, 4)},
            "XGBoost", "Use ", OPEN,
        ),
    ],
)  # fmt: skip
def test_a_pre_training_is_recommended_if_it_leads_by_enough(
    values: Values, name: str, first: str, second: str
) -> None:
    found = recommended(values)

    assert found.name == name
    assert len(found.sentences) == 2
    assert found.sentences[0].startswith(first)
    assert found.sentences[1].startswith(second)
    assert "stays behind" not in found.sentences[1]


def test_a_pre_training_that_cannot_reach_the_recommended_model_is_said_to_stay_behind() -> None:
    found = recommended({NONE: around(0.70, 1), SCARF: around(0.70, 2), XGBOOST: around(0.84, 4)})

    assert found.sentences[1].endswith("and it stays behind XGBoost either way.")


def test_a_pre_training_that_is_compared_with_nothing_may_be_recommended() -> None:
    assert recommended({SCARF: around(0.83, 2), LOGISTIC: around(0.70, 3)}).cell == Path("results/0")
    assert recommended({SCARF: around(0.83, 2)}).cell == Path("results/0")


def test_lower_is_better_for_errors() -> None:
    found = recommended({NONE: around(3.0, 1, 0.1), ("ridge", "none"): around(2.0, 2, 0.1)}, metric="rmse")

    assert found.name == "ridge"
    assert found.sentences[0].startswith("Use ridge: RMSE 2.000 (")


def test_several_tables_and_tables_without_a_trial_get_no_recommendation() -> None:
    one, other = ({"dataset": name, "regime": "full", "pretrain": "none", "method": "control"} for name in ("a", "b"))

    assert recommend(results_of([(one, [0.5]), (other, [0.6])]), ReportOptions()) is None
    few = one | {"regime": "few", "regime.labels": 20}
    assert recommend(results_of([(few, [0.5])]), ReportOptions()) is None


def test_a_column_that_carries_a_model_is_said_with_its_share_and_the_way_out() -> None:
    carrier = Carrier("signed on", level=0.97, without=0.9, share=0.93)
    said = (
        "Column 'signed on' carries that figure: alone it gives accuracy 0.97, which is 93 % of the gain over one "
        "answer for all rows (0.90)"
    )

    (alone,) = _carrier_sentences([carrier], [], metric_named("accuracy"))
    (beside_note,) = _carrier_sentences([carrier], ["Column 'signed on' is filled ..."], metric_named("accuracy"))

    assert alone.startswith(f"{said}; ")
    assert "dataset.drop=[signed on]" in alone
    assert beside_note == f"{said}."


@pytest.mark.slow
@pytest.mark.parametrize("change", ["removed", "changed"])
def test_a_table_that_is_not_the_one_of_the_trials_is_said_to_leave_carriers_unknown(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=60), "b": random.normal(size=60)})
    frame["y"] = np.where(frame["a"] > 0, "yes", "no")
    file = tmp_path / "mine.csv"
    frame.to_csv(file, index=False)
    monkeypatch.chdir(tmp_path)
    trained = scarf_lightning.run(
        "dataset=mine.csv", "dataset.target=y", "method=logistic", "pretrain=none", "trials=3"
    )
    cell = read_cell(tmp_path / "results" / trained["fingerprint"][0])
    found, unknown = _carriers(cell, ReportOptions(metric="accuracy"))
    assert ([each.column for each in found], unknown) == (["a"], [])

    if change == "removed":
        file.unlink()
    else:
        frame.iloc[::-1].to_csv(file, index=False)
    found, (sentence,) = _carriers(cell, ReportOptions(metric="accuracy"))

    assert found == []
    assert sentence.startswith("Whether one column carries that figure is unknown, because ")
    assert ("cannot be read" in sentence) == (change == "removed")
    assert ("mine.csv has changed" in sentence) == (change == "changed")
