"""Values of test rows: against the jackknife, and for AUROC against DeLong's variance by hand."""

import numpy as np
import pytest

from scarf_lightning.metrics import METRICS, Metric, metric_named
from scarf_lightning.verdicts import influence
from scarf_lightning.verdicts.influence import FORMULAS, added_values, jackknifed, row_values


def predictions_of(metric: Metric, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Predictions with ties and labels that they partly fit; one class in ten rows."""
    random = np.random.default_rng(3)
    if "number" in metric.targets:
        labels = random.normal(size=n)
        return (labels + random.normal(size=n)).round(1), labels
    labels = random.choice(3, n, p=[0.1, 0.3, 0.6])
    scores = random.normal(size=(n, 3)).round(1)
    scores[np.arange(n), labels] += 1
    probabilities = np.exp(scores)
    return probabilities / probabilities.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("name", FORMULAS)
def test_the_values_of_rows_are_those_of_the_jackknife(name: str) -> None:
    metric = metric_named(name)
    predictions, labels = predictions_of(metric)

    value = metric.function(predictions, labels)
    values, expected = row_values(metric, predictions, labels), jackknifed(metric, predictions, labels, value)

    assert values.mean() == pytest.approx(value, abs=1e-12)
    assert np.corrcoef(values, expected)[0, 1] > 0.998
    assert values.std() == pytest.approx(expected.std(), rel=0.05)


def test_the_values_of_auroc_have_the_variance_of_delong() -> None:
    """By hand: each positive's share of negatives below it, and each negative's share of positives above it."""
    random = np.random.default_rng(0)
    labels = (np.arange(50) < 15).astype(int)
    scores = random.normal(size=50).round(1) + labels
    positive, negative = scores[labels == 1], scores[labels == 0]
    placements = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    expected = placements.mean(axis=1).var(ddof=1) / 15 + placements.mean(axis=0).var(ddof=1) / 35

    values = row_values(metric_named("auroc"), np.column_stack([-scores, scores]), labels)

    assert values.mean() == pytest.approx(placements.mean())
    # The jackknife of the whole sample divides each side by one less than it has, as DeLong does.
    assert (values - values.mean()) @ (values - values.mean()) / 49**2 == pytest.approx(
        placements.mean(axis=1).var(ddof=0) * 15 / 14**2 + placements.mean(axis=0).var(ddof=0) * 35 / 34**2
    )
    assert ((values - values.mean()) ** 2).sum() / 49**2 == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("name", sorted({each.name for each in METRICS} - set(FORMULAS)))
def test_a_metric_without_a_formula_is_jackknifed(name: str) -> None:
    metric = metric_named(name)
    predictions, labels = predictions_of(metric, 60)
    without = [metric.function(np.delete(predictions, row, 0), np.delete(labels, row)) for row in range(60)]

    values = row_values(metric, predictions, labels)

    assert values.mean() == pytest.approx(metric.function(predictions, labels))
    assert values - values.mean() == pytest.approx(-59 * (without - np.mean(without)))


def test_of_a_mean_over_rows_the_jackknife_gives_the_rows_themselves() -> None:
    """An error rate, as a plugin may have it."""
    random = np.random.default_rng(0)
    probabilities, labels = random.random((400, 2)), random.integers(0, 2, 400)
    errors = (probabilities.argmax(axis=1) != labels).astype(float)
    plugin = Metric("error_rate", "errors", False, (0.0, 1.0), lambda p, y: float((p.argmax(axis=1) != y).mean()))

    assert row_values(plugin, probabilities, labels) == pytest.approx(errors)


def test_very_many_rows_are_not_jackknifed() -> None:
    predictions, labels = predictions_of(metric_named("r2"), influence.MOST_JACKKNIFED + 1)

    assert np.isnan(row_values(metric_named("r2"), predictions, labels)).all()
    assert np.isfinite(row_values(metric_named("mae"), predictions, labels)).all()


def test_an_added_row_moves_the_metric_as_it_says() -> None:
    """Balanced accuracy by hand: three of four rows of class 0 are right, one of two of class 1."""
    predicted, labels = np.array([0, 0, 0, 1, 1, 0]), np.array([0, 0, 0, 0, 1, 1])
    metric = metric_named("balanced_accuracy")
    before = (3 / 4 + 1 / 2) / 2

    found = added_values(metric, np.eye(3)[predicted] * 0.6 + 0.1, labels)

    assert found[0] == pytest.approx([7 * (4 / 5 + 1 / 2) / 2 - 6 * before, 7 * (3 / 5 + 1 / 2) / 2 - 6 * before])
    assert found[1] == pytest.approx([7 * (3 / 4 + 2 / 3) / 2 - 6 * before, 7 * (3 / 4 + 1 / 3) / 2 - 6 * before])
    assert np.isnan(found[2]).all(), "no row is of class 2"
    for name in ("auroc", "log_loss", "mae"):  # which use more than the predicted class
        other = metric_named(name)
        assert np.isnan(added_values(other, *predictions_of(other))).all()
