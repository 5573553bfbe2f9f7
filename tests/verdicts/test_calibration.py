"""Simulations with known truth: each bound would have caught a rate that was found wrong."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from scarf_lightning.verdicts import error_parts
from tools.benchmarks import calibration_page
from tools.benchmarks.calibration import (
    Line,
    World,
    alike,
    counted,
    difference,
    is_false,
    jobs,
    level,
    page,
    rounds,
    scores,
    tables,
    welch,
    without_predictions,
)
from tools.benchmarks.looking import LOOKED_AT, N_TRAIN, drawn, looking, parts_after_each
from tools.benchmarks.products import product

FIGURES = calibration_page.read()
ONE_OF_EACH = (World(), World("numbers"), *(World(split=split) for split in ("fixed", "time", "groups", "copies")))
WORLDS = (*ONE_OF_EACH, World(few=True), World(by_seed=0.03), World(by_rows=0.02))


def random() -> np.random.Generator:
    return np.random.default_rng(1)


def covers(line: Line) -> float:
    return line.covered / line.intervals


def false(line: Line) -> float:
    return line.false / line.draws


@pytest.mark.parametrize(
    ("worlds", "draws", "most_false", "least_covered"),
    [(ONE_OF_EACH, 40, 0.12, 0.88), pytest.param(WORLDS, 120, 0.09, 0.90, marks=pytest.mark.slow)],
)
def test_answers_are_rarely_false_and_intervals_hold_the_truth_in_every_world(
    worlds: tuple[World, ...], draws: int, most_false: float, least_covered: float
) -> None:
    """Of seeds alone, a third of the answers on fixed splits were false; of rows one by one, time held 84 %."""
    for world in worlds:
        line = difference(random(), draws, 0.0, 10, world)
        assert false(line) < most_false, world
        assert covers(line) > least_covered, world
    for trials in (3, 10) if draws < 100 else (3, 10, 30):
        # s / sqrt(T) over overlapping splits held a level in 78 and 55 % at 10 and 30 trials.
        assert covers(level(random(), draws, trials)) > 0.90, trials


@pytest.mark.parametrize(
    ("draws", "trials", "truth", "least"),
    [
        (40, 10, 0.05, 0.75),
        pytest.param(120, 10, 0.02, 0.15, marks=pytest.mark.slow),
        pytest.param(120, 30, 0.02, 0.22, marks=pytest.mark.slow),
    ],
)
def test_predictions_find_a_difference(draws: int, trials: int, truth: float, least: float) -> None:
    """Trials alone found five points in 56 % and two in 8 and 10 %."""
    found = difference(random(), draws, truth, trials)
    alone = without_predictions(random(), draws, truth, trials)

    assert found.direction / found.draws > least
    assert found.direction > alone.direction


def test_rows_that_hardly_differ_are_not_called_equal() -> None:
    """Without the rows that no trial showed, 41 % of such answers would be false."""
    line = alike(random(), 120, 150, 0.02)

    assert line.false == 0
    assert covers(line) > 0.93


@pytest.mark.slow
def test_metrics_of_a_rare_class_are_held() -> None:
    """By trials alone, levels of balanced accuracy and AUROC were held in 76 to 88 %."""
    for line in scores(random(), 60, 10, ("balanced_accuracy", "auroc"), 300):
        assert covers(line) > 0.88
        assert line.false <= 0.1 * line.draws


@pytest.mark.slow
def test_pages_rounds_and_tables_are_rarely_false() -> None:
    """Uncorrected, 18 to 36 % of pages with 20 comparisons claimed a difference that is not there, and some 7 % of four
    budgets whose trials stopped at the first answer of 5 %."""
    assert false(page(random(), 40, 20, 10)) < 0.13
    until_answered = rounds(random(), 100, 0.0)
    assert false(until_answered) < 0.08
    assert covers(until_answered) > 0.92
    assert false(tables(random(), 50, 31, 0.0, "normal")[0]) < 0.1
    found, of_mean = tables(random(), 50, 31, 0.02, "normal")
    # The sign test needs more tables than a score of means, and is about the median.
    assert found.direction / found.draws > 0.65
    assert covers(of_mean) > 0.9
    few, many = (welch(random(), 120, trials).false for trials in (5, 30))
    assert many > few, "the paper's test is false more often with more trials"


@pytest.mark.parametrize(
    ("answer", "truth", "false"),
    [
        ("helps", 0.02, False), ("helps", 0.005, True), ("helps, size open", 0.005, False),
        ("helps, size open", 0.0, True), ("hurts", -0.005, True), ("hurts, size open", 0.01, True),
        ("no practical difference", 0.02, True), ("no practical difference", 0.005, False), ("cannot tell", 0.5, False),
    ],
)  # fmt: skip
def test_an_answer_is_false_if_its_direction_or_its_size_is(answer: str, truth: float, false: bool) -> None:
    assert is_false(answer, truth) == false


def test_the_page_shows_the_figures_of_the_file_which_holds_every_line_of_the_program() -> None:
    text = calibration_page.PAGE.read_text(encoding="utf-8")
    assert calibration_page.page(FIGURES, text) == text

    asked = [job[0] for job in jobs(FIGURES.draws)]
    assert list(dict.fromkeys(line.section for line in FIGURES.simulated)) == list(dict.fromkeys(asked))
    assert min(line.draws or line.intervals for line in FIGURES.simulated) > 0
    assert min(line.draws or line.intervals for line in FIGURES.real) >= 0.9 * FIGURES.tables > 0


def test_what_the_page_says_of_real_tables_is_in_the_file() -> None:
    text = " ".join(calibration_page.PAGE.read_text(encoding="utf-8").split())
    covered = {(line.section, line.what): line.covered / line.intervals for line in FIGURES.real}
    differences = [line for line in FIGURES.real if line.section == "real differences"]
    levels = [line for line in FIGURES.real if line.section == "real levels"]
    long = [line for line in levels if "30 trials" in line.what]
    held = [
        sum(line.covered for line in its) / sum(line.intervals for line in its) for its in (differences, levels, long)
    ]
    false, draws = sum(line.false for line in differences), sum(line.draws for line in differences)

    of_differences, of_levels, of_long = (f"{share:.1%}".replace("%", " %") for share in held)
    assert f"differences hold the truth in {of_differences} and those of levels in {of_levels} ({of_long} with" in text
    assert f"{false} of {draws:,} answers are false" in text
    assert f"and {FIGURES.tables} real tables" in text
    for metric, share in (("R2", 0.91), ("Spearman's correlation", 0.915), ("MAE", 0.93)):
        line = f"{metric}, demand, tree over tree on other columns, numbers, 600 rows, 10 trials"
        assert covered.pop(("real levels", line)) == pytest.approx(share)
    assert min(share for (section, _), share in covered.items() if section == "real levels") == pytest.approx(0.94)
    assert min(share for (section, _), share in covered.items() if section != "real levels") == pytest.approx(0.925)


@pytest.mark.parametrize(
    "kind",
    [alike, *(pytest.param(its, marks=pytest.mark.slow) for its in (difference, without_predictions, level))],
)
def test_the_figures_are_those_of_the_code_as_it_is(kind: object) -> None:
    """The cheapest line of a kind, counted again: a change of the statistics without `make calibration` differs."""
    known = {(line.section, line.what, line.truth): line for line in FIGURES.simulated}
    job = next(job for job in jobs(FIGURES.draws) if job[1] is kind)

    for line in counted(job):
        its = known[line.section, line.what, line.truth]
        # Sums may round differently on another processor.
        assert replace(line, total_width=0.0) == replace(its, total_width=0.0)
        assert line.total_width == pytest.approx(its.total_width)


@pytest.mark.slow
def test_answers_by_axis_hold_the_truth_and_pooled_settings_find_more_than_a_pair() -> None:
    lines = {line.what.split(",")[0]: line for line in product(random(), 40, (2, 2), 0.04, 0.0, 10, 0.009)}

    for name in ("effect of an axis", "one pair", "interaction"):
        assert false(lines[name]) <= 0.05, name
        assert covers(lines[name]) > 0.85, name
    assert lines["effect of an axis"].direction > lines["one pair"].direction
    assert lines["effect of an axis"].total_width < lines["one pair"].total_width < lines["interaction"].total_width


def test_the_error_after_each_trial_is_that_of_the_trials_so_far() -> None:
    """Two computations of the error's parts: all at once from sums over trials, and one by one."""
    differences, rows = drawn(random(), LOOKED_AT[4], 12, True)

    after = parts_after_each(differences, rows)

    for trials in (2, 3, 7, 12):
        expected = error_parts(list(differences[:trials]), list(rows[:trials]), N_TRAIN, np.array([[1.0, -1.0]]))
        assert asdict(after[trials - 1]) == pytest.approx(asdict(expected))


@pytest.mark.slow
def test_looking_again_and_again_is_rarely_false_and_one_look_costs_little() -> None:
    """Without a memory, looking after each trial was false in 8 to 35 %."""
    draws = 300
    world = LOOKED_AT[4]
    most = 0.05 + 2.5 * (0.05 * 0.95 / draws) ** 0.5
    of_nothing = {line.what.split(", margins")[0]: line for line in looking(random(), draws, world, False)}
    of_gain = {line.what.split(", margins")[0]: line for line in looking(random(), draws, world, True)}

    for way in (
        "looking after each trial from 3 to 60",
        "looks at 5, 10, 20 and 30 trials",
        "advice followed from 5 trials on",
    ):
        assert false(of_nothing[way]) <= most, way
    whole, single = (of_gain[f"one look at 30 trials{rest}"].direction for rest in (", without a memory", ""))
    assert whole >= single >= whole - 0.05 * draws
    assert of_gain["looks at 5, 10, 20 and 30 trials"].direction >= whole - 0.15 * draws
    first, whole_first = (of_gain[f"one look at 5 trials{rest}"].direction for rest in ("", ", without a memory"))
    assert 0 < first <= whole_first
