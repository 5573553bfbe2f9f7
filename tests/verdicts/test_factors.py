"""Effects of factors and their interactions, against sums by hand and one contrast of row values."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts.factors import (
    Contrast,
    Factors,
    interactions,
    judge_contrast,
    main_effects,
)
from scarf_lightning.verdicts.frame import Trials
from scarf_lightning.verdicts.rows_and_fits import error_parts
from scarf_lightning.verdicts.trial_rows import RowsOfTrial, Split

ACCURACY, LOG_LOSS = metric_named("accuracy"), metric_named("log_loss")
TRIALS, ROWS = 6, 80
TWO_BY_TWO = {"a": [0, 1], "b": [0, 1]}
THREE = {"a": ["x", "y", "z"], "b": [0, 1], "c": [0, 1]}


def of_means(means: dict[tuple, float], spread: float = 0.01, trials: int = TRIALS) -> dict[tuple, Trials]:
    """Cells without predictions, whose trials go up and down around a mean."""
    signs = np.array([1.0, -1.0] * (trials // 2)) * spread
    return {setting: Trials(dict(enumerate((mean + signs).tolist()))) for setting, mean in means.items()}


def with_rows(seed: int, levels: dict[tuple, float]) -> tuple[dict[tuple, Trials], dict[tuple, np.ndarray]]:
    """Cells with predictions, and which of all rows each has right in each trial ``(T, ROWS)``; trials test half."""
    random = np.random.default_rng(seed)
    tested = [np.sort(random.permutation(ROWS)[: ROWS // 2]) for _ in range(TRIALS)]
    cells, right = {}, {}
    for setting, level in levels.items():
        its = random.random((TRIALS, ROWS)) < level + random.uniform(-0.2, 0.2, ROWS)
        rows = {
            trial: RowsOfTrial(test, its[trial, test].astype(float), np.array([[1.0, 0.0]]), test)
            for trial, test in enumerate(tested)
        }
        values = {trial: float(each.values.mean()) for trial, each in rows.items()}
        cells[setting] = Trials(values, rows, Split("random", 40.0))
        right[setting] = its
    return cells, right | {"tested": np.array(tested)}


def simple_effects(factors: Factors) -> list[Contrast]:
    """Each main effect within each setting of the other factors."""
    return [
        replace(effect, ones=(one,), others=(other,), weight=1.0)
        for effect in main_effects(factors)
        for one, other in zip(effect.ones, effect.others, strict=True)
    ]


def test_an_effect_is_the_mean_difference_over_the_settings_of_the_others() -> None:
    means = {(0, 0): 0.70, (0, 1): 0.80, (1, 0): 0.76, (1, 1): 0.78}
    cells = of_means(means)

    effects = {each.factors: judge_contrast(each, [cells], ACCURACY) for each in main_effects(TWO_BY_TWO)}
    (both,) = [judge_contrast(each, [cells], ACCURACY) for each in interactions(TWO_BY_TWO)]
    simple = [judge_contrast(each, [cells], ACCURACY).difference for each in simple_effects(TWO_BY_TWO)]

    assert effects[("a",)].difference == pytest.approx((0.06 - 0.02) / 2)
    assert effects[("b",)].difference == pytest.approx((0.10 + 0.02) / 2)
    assert both.difference == pytest.approx(0.02 - 0.10)
    assert simple == pytest.approx([0.06, -0.02, 0.10, 0.02])


def test_three_factors_have_each_value_and_each_two_factors() -> None:
    levels = dict.fromkeys(itertools.product(*THREE.values()), 0.5)
    for setting in levels:
        levels[setting] += 0.03 * (setting[0] == "z") + 0.05 * setting[1] + 0.04 * (setting[0] == "z") * setting[1]
    cells = of_means(levels)

    mains = {(each.factors, each.values): judge_contrast(each, [cells], ACCURACY) for each in main_effects(THREE)}
    both = {(each.factors, each.values): judge_contrast(each, [cells], ACCURACY) for each in interactions(THREE)}

    assert {key: each.difference for key, each in mains.items()} == {
        (("a",), ("y",)): pytest.approx(0.0),
        (("a",), ("z",)): pytest.approx(0.03 + 0.04 / 2),
        (("b",), (1,)): pytest.approx(0.05 + 0.04 / 3),
        (("c",), (1,)): pytest.approx(0.0),
    }
    assert both[("a", "b"), ("z", 1)].difference == pytest.approx(0.04)
    assert len(both) == 2 + 2 + 1
    others = [each.difference for key, each in both.items() if key != (("a", "b"), ("z", 1))]
    assert others == pytest.approx([0.0] * 4)


def test_the_error_of_an_effect_is_that_of_the_contrast_of_each_row() -> None:
    cells, right = with_rows(0, {setting: 0.6 + 0.1 * setting[0] for setting in itertools.product((0, 1), (0, 1))})
    tested = list(right.pop("tested"))
    (effect, _), (both,) = main_effects(TWO_BY_TWO), interactions(TWO_BY_TWO)

    of_effect = judge_contrast(effect, [cells], ACCURACY)
    of_both = judge_contrast(both, [cells], ACCURACY)

    mean = (right[1, 0].astype(float) + right[1, 1] - right[0, 0] - right[0, 1]) / 2
    twice = right[1, 1].astype(float) - right[0, 1] - right[1, 0] + right[0, 0]
    for found, rows, added in ((of_effect, mean, 1.0), (of_both, twice, 2.0)):
        values = [rows[trial, test] for trial, test in enumerate(tested)]
        expected = error_parts(values, tested, 40.0, np.array([[added, -added]]))
        assert found.parts is not None
        assert found.parts.error == pytest.approx(expected.error)
        assert found.difference == pytest.approx(expected.mean)
    assert (of_effect.won + of_effect.lost, of_effect.trials, of_effect.basis) == (TRIALS, TRIALS, "rows and fits")


def test_pooled_settings_have_a_shorter_interval_than_any_pair_of_cells() -> None:
    cells, _ = with_rows(1, dict.fromkeys(itertools.product((0, 1), (0, 1), (0, 1)), 0.7) | {})
    factors = {"a": [0, 1], "b": [0, 1], "c": [0, 1]}
    cells.pop("tested", None)

    def width(found) -> float:
        return found.high - found.low

    for effect in main_effects(factors):
        pooled = judge_contrast(effect, [cells], ACCURACY)
        alone = [each for each in simple_effects(factors) if each.factors == effect.factors]
        assert width(pooled) < min(width(judge_contrast(each, [cells], ACCURACY)) for each in alone)


def test_only_trials_that_all_settings_have_count() -> None:
    cells = of_means({(0, 0): 0.7, (0, 1): 0.7, (1, 0): 0.8, (1, 1): 0.8})
    cells[1, 1] = Trials({trial: value for trial, value in cells[1, 1].values.items() if trial != 3})
    cells[0, 0] = Trials(dict(cells[0, 0].values) | {99: 0.1})

    found = judge_contrast(main_effects(TWO_BY_TWO)[0], [cells], ACCURACY)

    assert found.trials == TRIALS - 1
    assert found.difference == pytest.approx(0.1)


def test_relative_effects_divide_by_the_reference_and_interactions_by_the_mean() -> None:
    means = {(0, 0): 0.4, (0, 1): 0.6, (1, 0): 0.3, (1, 1): 0.3}
    cells = of_means(means, spread=0.0)

    effect = judge_contrast(main_effects(TWO_BY_TWO)[0], [cells], LOG_LOSS)
    both = judge_contrast(interactions(TWO_BY_TWO)[0], [cells], LOG_LOSS)

    assert effect.difference == pytest.approx((0.5 - 0.3) / 0.5)
    assert both.difference == pytest.approx(((0.6 - 0.3) - (0.4 - 0.3)) / 0.4)


def test_over_tables_each_table_has_one_effect() -> None:
    tables = [
        of_means({(0, 0): 0.6, (0, 1): 0.7, (1, 0): 0.6 + gain, (1, 1): 0.7 + gain})
        for gain in np.linspace(0.02, 0.05, 8).tolist()
    ]

    found = judge_contrast(main_effects(TWO_BY_TWO)[0], tables, ACCURACY)

    assert (found.answer, found.claim, found.datasets) == ("helps", "tables like these", 8)
    assert found.average == pytest.approx(0.035)


def test_a_setting_that_is_missing_is_named() -> None:
    cells = of_means({(0, 0): 0.7, (0, 1): 0.7, (1, 0): 0.8})

    with pytest.raises(UsageError, match="No trial has the setting 1, 1; the factors need all"):
        judge_contrast(main_effects(TWO_BY_TWO)[0], [cells], ACCURACY)
