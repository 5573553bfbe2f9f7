"""How often answers are false, how often intervals hold the truth, and how often a true difference is found.

    python -m tools.benchmarks.calibration                   simulated tables, whose truth is known (`make calibration`)
    python -m tools.benchmarks.calibration --openml FOLDER   real tables, too, drawn from large ones in OpenML's cache

It writes docs/calibration.json and the tables of docs/calibration.md. Without ``--openml`` the lines of real tables
stay. Each line has random numbers of its own, so that a test can count a line again.

A simulated row has an ease and a luck of its own, which last from trial to trial for four rows in five. Two competitors
share the luck of seven rows in ten. Training rows and the seed move a competitor up or down. The truth is that of *this
table*: training sets are drawn from its rows, and new rows are like these.

- *classes* and *numbers*: a row is right or wrong, or has an error.
- *few*: 40 training rows have a label. *fixed*: all trials share their training and test rows. *time*: so do they, and
  half of the rows have the luck of the row before. *groups*: thirty groups of twenty rows share their luck and are
  tested together. *copies*: every second row is a copy of another, and they are tested together.
- *edges*: levels near the bound of a metric, see `edges`.
- *rare*: five rows in a hundred are positive, and two competitors give scores to all, so that every metric is known.
- *page*: many comparisons of which none differs; *until answered*: trials are added until there is an answer.
- *tables*: gains over tables, of a normal distribution, with three in four tables that gain nothing, or drawn from
  those on 34 tables. *next table*: what is predicted of one more.
- *by axis*: cells of a product of axes, see `products`.
- *looks*: looking again and again, see `looking`.

*false* are answers that contradict the truth: a direction that is not there, or a size that is not. *direction* are
true differences whose direction is found, whatever their size, and *beyond* those that are found to exceed the margin.
"""

import argparse
import math
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts import (
    Verdict,
    answers_together,
    judge,
    judge_rows,
    judge_tables,
    welch_test,
)
from scarf_lightning.verdicts.answers import (
    CANNOT_TELL,
    HELPING,
    HURTING,
    MARGIN,
)
from scarf_lightning.verdicts.centres import mean_levels, median_levels
from scarf_lightning.verdicts.looks import Look
from scarf_lightning.verdicts.scores import variance_of
from scarf_lightning.verdicts.trial_rows import (
    RowsOfTrial,
    Split,
    judge_trials,
    level_of_trials,
    rows_of_trial,
)
from scarf_lightning.verdicts.verdict import after_looks

from . import calibration_page
from .calibration_page import Line, is_false
from .edges import edge

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Random = np.random.Generator

ROWS, LABELLED = 600, 40
SHARED, LASTING = 0.7, 0.8
"""Chances that two competitors share a row's luck, and that a row keeps its luck from trial to trial."""
BY_ROWS, BY_SEED = 0.005, 0.009
"""Standard deviations of a trial that come from which training rows it has, with all labels, and from its seed."""
AS_BEFORE = 0.5
"""Chance in *time* that a row has the luck of the row before."""
GROUPS = 30
RARE = 0.05
REACH = 0.15
"""The largest true difference of comparisons that are given advice."""
ACCURACY, ERRORS = metric_named("accuracy"), metric_named("mae")
OF_CLASSES = ("accuracy", "balanced_accuracy", "f1", "auroc", "average_precision", "log_loss", "brier_score")
ROUNDS = (5, 10, 20, 30)
"""Numbers of trials at which a user looks who adds trials until there is an answer."""
BUDGETS = 4
LEVEL = 0.05
GAINS = Path(__file__).with_name("gains.csv")
"""The gains on 34 tables by which the constants of answers over tables were chosen, and their errors: a row a
competitor, number of labels and table, of five trials each."""
SHIFTS = (0.0, 1.2, 1.7)
"""By how much positives have higher scores in *rare*: not at all, and by the first and the second competitor."""


# Simulated tables ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """A kind of table, see the module."""

    target: str = "classes"
    split: str = "random"
    few: bool = False
    by_rows: float = BY_ROWS
    by_seed: float = BY_SEED
    rows: int = ROWS

    def __str__(self) -> str:
        said = [self.target, *([self.split] if self.split != "random" else []), *(["few"] if self.few else [])]
        said += [f"{self.rows} rows"] if self.rows != ROWS else []
        said += [f"seeds {100 * self.by_seed:g} points"] if self.by_seed != BY_SEED else []
        said += [f"training rows {100 * self.by_rows:g} points"] if self.by_rows != BY_ROWS else []
        return ", ".join(said)


@dataclass(frozen=True)
class Drawn:
    """Trials of two competitors on one table.

    Attributes:
        first, second: values of the test rows, by trial.
        units: of these rows, by trial.
        n_trained: rows that train with a label.
        of_table: by how much the rows of this table change the difference.
        of_first: by how much they change the first competitor.
        are_rows: whether units are rows or copies of one, not groups or blocks.
    """

    first: list[Floats]
    second: list[Floats]
    units: list[Integers]
    n_trained: float
    of_table: float
    of_first: float
    are_rows: bool

    def verdict(self, trials: int | None = None) -> Verdict:
        """The verdict on the first trials, or on all."""
        differences = [a - b for a, b in zip(self.first, self.second, strict=True)]
        unseen = np.array([[1.0, -1.0]]) if self.are_rows else np.empty((0, 2))
        found = slice(trials)
        return judge_rows(differences[found], self.units[found], n_trained=self.n_trained, unseen=unseen, width=1.0)


def draw(random: Random, truth: float, trials: int, world: World = World()) -> Drawn:
    """Trials on one table of a world; the first competitor is better by ``truth``."""
    n = world.rows
    n_train, n_test = round(0.7 * n), round(0.2 * n)
    is_fixed = world.split in ("fixed", "time")
    n_labelled = LABELLED if world.few else n_train
    ease = random.uniform(0.6, 1.0, n)
    moves = np.zeros((2, n)) if is_fixed else random.normal(size=(2, n)) * world.by_rows * math.sqrt(n_train)
    lasting = _lucks(random, n)
    groups = np.arange(n)
    order = random.permutation(n)
    if world.split == "time":
        order = np.arange(n)
        lasting = lasting[:, np.maximum.accumulate(np.where(random.random(n) < AS_BEFORE, 0, order))]
    elif world.split in ("groups", "copies"):
        groups = np.arange(n) % GROUPS if world.split == "groups" else np.arange(n) // 2
        ease, lasting = ease[groups], lasting[:, groups]
    first, second, units = [], [], []
    for _ in range(trials):
        if not is_fixed:
            # Rows of a group, or copies, stay together.
            order = np.argsort(random.permutation(groups.max() + 1)[groups], kind="stable")
        labelled = random.permutation(order[:n_train])[:n_labelled]
        level = moves[:, labelled].mean(axis=1) + random.normal(size=2) * world.by_seed - np.array([0.0, truth])
        test = order[-n_test:]
        chances = ease[test] + level[:, None]
        luck = np.where(random.random(n) < LASTING, lasting, _lucks(random, n)[:, groups])[:, test]
        values = (luck < chances).astype(np.float64) if world.target == "classes" else chances + luck - 0.5
        first.append(values[0])
        second.append(values[1])
        units.append(test * 10 // n if world.split == "time" else groups[test])
    if world.split == "time":
        units = [np.repeat(np.arange(10), np.diff(np.linspace(0, n_test, 11).astype(int)))] * trials
    of_table = moves.mean(axis=1)
    return Drawn(
        first,
        second,
        units,
        n_trained=0 if is_fixed else n_labelled,
        of_table=float(of_table[0] - of_table[1]),
        of_first=float(of_table[0]),
        are_rows=world.split not in ("time", "groups"),
    )


def _lucks(random: Random, n: int) -> Floats:
    """The luck of two competitors on each row, ``(2, n)``."""
    luck = random.random((2, n))
    luck[1] = np.where(random.random(n) < SHARED, luck[0], luck[1])
    return luck


def difference(random: Random, draws: int, truth: float, trials: int, world: World = World()) -> Line:
    """Answers on one difference on this table."""
    line = Line(f"difference, {trials} trials, {world}", truth=truth)
    for _ in range(draws):
        drawn = draw(random, truth, trials, world)
        verdict = drawn.verdict()
        line.count(verdict, verdict.answer, truth + drawn.of_table)
    return line


def without_predictions(random: Random, draws: int, truth: float, trials: int) -> Line:
    """As `difference`, by the corrected resampled t-test."""
    line = Line(f"difference, {trials} trials, no predictions", truth=truth)
    for _ in range(draws):
        drawn = draw(random, truth, trials)
        means = [a.mean() - b.mean() for a, b in zip(drawn.first, drawn.second, strict=True)]
        verdict = judge(np.array([means]), n_test=len(drawn.first[0]), width=1.0)
        line.count(verdict, verdict.answer, truth + drawn.of_table)
    return line


def welch(random: Random, draws: int, trials: int) -> Line:
    """The paper's test where nothing differs."""
    line = Line(f"Welch's test, {trials} trials", truth=0.0)
    for _ in range(draws):
        drawn = draw(random, 0.0, trials, World(by_rows=0.0))
        values = np.array([[its.mean() for its in side] for side in (drawn.first, drawn.second)])
        means, variances = values.mean(axis=1), variance_of(values)
        line.draws += 1
        line.false += bool(welch_test(means[0], variances[0], trials, means[1], variances[1], trials).p < 0.05)
    return line


def level(random: Random, draws: int, trials: int, world: World = World()) -> Line:
    """Intervals of one competitor's own metric."""
    line = Line(f"level, {trials} trials, {world}")
    metric = ACCURACY if world.target == "classes" else ERRORS
    split = Split({"groups": "group", "time": "time"}.get(world.split, "random"))
    for _ in range(draws):
        drawn = draw(random, 0.0, trials, world)
        rows = []
        for values, units in zip(drawn.first, drawn.units, strict=True):
            are_classes = world.target == "classes"
            added = np.array([[1.0, 0.0]]) if are_classes else np.full((1, 2), np.nan)
            shown = np.array([[values.any(), not values.all()]]) if are_classes else None
            # In time each row has a number of its own; blocks are made from them.
            its = np.arange(len(units)) if world.split == "time" else units
            rows.append(RowsOfTrial(its, values, added, units, shown=shown))
        line.count_interval(level_of_trials(rows, metric, split), 0.8 + drawn.of_first)
    return line


def scores(random: Random, draws: int, trials: int, names: Sequence[str], rows: int = ROWS) -> list[Line]:
    """Levels and differences of every metric of classes where five rows in a hundred are positive."""
    metrics = [metric_named(name) for name in names]
    truths = {metric.name: _truth_of_scores(random, metric, rows) for metric in metrics}
    found = []
    for metric in metrics:
        of_level = Line(f"level, {metric.label}, {trials} trials, rare, {rows} rows")
        first, second = truths[metric.name]
        size = second if metric.is_relative else 1.0
        true = metric.sign * (first - second) / size
        of_difference = Line(f"difference, {metric.label}, {trials} trials, rare, {rows} rows", truth=true)
        for _ in range(draws):
            ones, others = _scored_trials(random, metric, trials, rows)
            of_level.count_interval(level_of_trials(ones, metric), first)
            measured = float(np.mean([its.values.mean() for its in others])) if metric.is_relative else 1.0
            verdict = judge_trials(ones, others, metric, size=measured)
            of_difference.count(verdict, verdict.answer, true)
        found += [of_level, of_difference]
    return found


def _scored_trials(
    random: Random, metric: Metric, trials: int, rows: int
) -> tuple[list[RowsOfTrial], list[RowsOfTrial]]:
    labels = np.zeros(rows, dtype=np.int64)
    labels[: round(RARE * rows)] = 1
    lasting = _lasting_scores(random, rows)
    found: tuple[list[RowsOfTrial], list[RowsOfTrial]] = ([], [])
    for _ in range(trials):
        test = random.permutation(rows)[: rows // 5]
        for side, its in enumerate(_probabilities(random, lasting[:, test], labels[test])):
            tested = rows_of_trial(metric, its, labels[test], test)
            if tested is not None:
                found[side].append(tested)
    return found


def _truth_of_scores(random: Random, metric: Metric, rows: int, draws: int = 2000) -> tuple[float, float]:
    """The mean metric of both competitors on new test sets of that size."""
    values = []
    for _ in range(draws):
        labels = (random.permutation(rows)[: rows // 5] < round(RARE * rows)).astype(np.int64)
        both = _probabilities(random, _lasting_scores(random, len(labels)), labels)
        values.append([metric.function(its, labels) for its in both])
    first, second = np.nanmean(values, axis=0)
    return float(first), float(second)


def _lasting_scores(random: Random, n: int) -> Floats:
    """The part of both competitors' scores that a row has in all trials, most of it shared, ``(2, n)``."""
    return random.normal(size=n) * 0.7 + random.normal(size=(2, n)) * 0.4


def _probabilities(random: Random, lasting: Floats, labels: Integers) -> list[Floats]:
    """Probabilities of two classes by two competitors in one trial, each ``(n, 2)``."""
    found = []
    for shift, its in zip(SHIFTS[1:], lasting, strict=True):
        score = shift * labels + its + random.normal(size=len(labels)) * 0.4 + random.normal() * 0.1
        positive = 1 / (1 + np.exp(-2.5 * (score - 1.6)))
        found.append(np.column_stack([1 - positive, positive]))
    return found


def alike(random: Random, draws: int, rows: int, truth: float) -> Line:
    """Competitors that agree on every row of a table but a share ``truth``, which the first alone has right."""
    line = Line(f"difference of two that mostly agree, table of {rows} rows, 10 trials", truth=truth)
    for _ in range(draws):
        differs = (random.random(rows) < truth).astype(np.float64)
        units = [random.permutation(rows)[: rows // 5] for _ in range(10)]
        verdict = judge_rows([differs[its] for its in units], units, unseen=np.array([[1.0, -1.0]]), width=1.0)
        line.count(verdict, verdict.answer, truth)
    return line


def page(random: Random, draws: int, comparisons: int, trials: int) -> Line:
    """Pages of comparisons of which none differs: how many claim a direction."""
    line = Line(f"page of {comparisons} comparison{'s' * (comparisons > 1)}, {trials} trials", truth=0.0)
    for _ in range(draws):
        found = [draw(random, 0.0, trials, World(by_rows=0.0)).verdict() for _ in range(comparisons)]
        line.draws += 1
        line.false += any(answer in (*HELPING, *HURTING) for answer in answers_together(found))
    return line


def rounds(random: Random, draws: int, truth: float) -> Line:
    """A competitor over three numbers of labels and all: comparisons get more trials until they are answered.

    False if any of the four is, found if any of them helps.
    """
    line = Line(f"{BUDGETS} label budgets, {ROUNDS[0]} to {ROUNDS[-1]} trials until answered", truth=truth)
    for _ in range(draws):
        drawn = [draw(random, truth, ROUNDS[-1], World(few=budget > 0, by_rows=0.0)) for budget in range(BUDGETS)]
        seen: list[list[Look]] = [[] for _ in drawn]
        trials = [ROUNDS[0]] * BUDGETS
        found = [looked(*each) for each in zip(drawn, trials, seen, strict=True)]
        for n in ROUNDS[1:]:
            answers = answers_together(found)
            trials = [n if answer == CANNOT_TELL else of_it for answer, of_it in zip(answers, trials, strict=True)]
            found = [looked(*each) for each in zip(drawn, trials, seen, strict=True)]
        claims = [str(answer) for answer in answers_together(found)]
        line.draws += 1
        line.false += any(is_false(claim, truth) for claim in claims)
        line.direction += any(claim in HELPING for claim in claims)
        line.helps += "helps" in claims
        for verdict in found:
            line.count_interval(verdict.interval, truth)
    return line


def looked(drawn: Drawn, trials: int, seen: list[Look]) -> Verdict:
    """The verdict of a look, which is added to those that were taken before."""
    verdict = after_looks(drawn.verdict(trials), seen, MARGIN)
    if all(look.trials != trials for look in seen):
        seen.append(Look(trials, verdict.levels, verdict.difference > 0, MARGIN))
    return verdict


# Over tables --------------------------------------------------------------------------------------------------------

Gains = Callable[[Random, int], Floats]
"""Draws the true gains of some tables, around zero."""


def normal_gains(random: Random, tables: int) -> Floats:
    """Gains of a normal distribution."""
    return random.normal(size=tables) * 0.03


def skewed_gains(random: Random, tables: int) -> Floats:
    """Three in four tables gain nothing; the others make up a mean of 1.5 points, which is taken off."""
    return np.where(random.random(tables) < 0.75, 0.0, random.exponential(0.06, tables)) - 0.015


def gains_named(name: str) -> Gains:
    """``normal``, ``skewed``, or those of a competitor on 34 tables, such as ``VIME with 20`` labels, around their
    mean."""
    if name == "normal":
        return normal_gains
    if name == "skewed":
        return skewed_gains
    gains, _ = gains_of_study(*name.split(" with "))
    return lambda random, tables: random.choice(gains, tables) - gains.mean()


def gains_of_study(competitor: str, labels: str) -> tuple[Floats, Floats]:
    """The gains of a competitor over the same network without pre-training, and their standard errors, both ``(D,)``.

    They are mean gains in accuracy on the tables of `GAINS`.
    """
    gains = pd.read_csv(GAINS, dtype={"labels": str})
    found = gains[(gains["competitor"] == competitor) & (gains["labels"] == labels)]
    return found["gain"].to_numpy(), found["error"].to_numpy()


def tables(random: Random, draws: int, n: int, mean: float, name: str) -> list[Line]:
    """Answers over tables, whose claim is about the median one, and intervals of the mean gain."""
    gains_of = gains_named(name)
    said = f"spread of {name} labels" if " with " in name else name
    line, of_mean = Line(f"{n} tables, {said}", truth=mean), Line(f"mean over {n} tables, {said}", truth=mean)
    for _ in range(draws):
        gains = mean + gains_of(random, n)
        measured = gains[:, None] + random.normal(size=(n, 5)) * 0.01
        verdict = judge_tables(measured, np.full(n, 0.01 / math.sqrt(5)))
        line.draws += 1
        line.direction += verdict.answer in HELPING
        line.helps += verdict.answer == "helps"
        line.false += verdict.answer in HURTING if mean > 0 else verdict.answer in (*HELPING, *HURTING)
        of_mean.count_interval(verdict.average, mean)
    return [line, of_mean] if of_mean.intervals else [line]


def centres(random: Random, draws: int, n: int, name: str) -> list[Line]:
    """Directions of the median table and of the mean, each over gains on 34 tables that are shifted to zero."""
    gains, _ = gains_of_study(*name.split(" with "))
    of_median = Line(f"median of {n} tables, spread of {name} labels", truth=0.0, draws=draws)
    of_mean = Line(f"mean over {n} tables, spread of {name} labels", truth=0.0, draws=draws)
    for _ in range(draws):
        drawn = random.choice(gains, n)
        of_median.false += 2 * min(median_levels(drawn, float(np.median(gains)))) <= LEVEL
        of_mean.false += 2 * min(mean_levels(drawn, float(gains.mean()))) <= LEVEL
    return [of_median, of_mean]


Job = tuple[str, Callable[..., Line | list[Line]], int, tuple[Any, ...]]
"""The section of a line, the function that counts it, its draws, and its arguments."""


def jobs(draws: int) -> Iterator[Job]:
    """All lines of simulated tables."""
    half = draws // 2
    for trials in (3, 5, 10, 30):
        for truth in (0.0, 0.02, 0.05):
            yield "one table", difference, draws, (truth, trials)
        yield "one table", level, draws, (trials,)
    worlds = [World("numbers"), World(few=True), World(split="fixed"), World(split="time"), World(split="groups"),
              World(split="copies"), World(by_seed=0.03), World(by_rows=0.02), World(rows=150)]  # fmt: skip
    for world in worlds:
        for truth in (0.0, 0.05):
            yield "kinds", difference, draws, (truth, 10, world)
        yield "kinds", level, draws, (10, world)
    for trials in (10, 30):
        for truth in (0.0, 0.05):
            yield "trials alone", without_predictions, draws, (truth, trials)
    for trials in (5, 10, 30):
        yield "trials alone", welch, draws, (trials,)
    for trials, rows in ((5, 300), (10, 600)):
        yield "metrics", scores, half, (trials, OF_CLASSES, rows)
    for trials in (3, 5, 10, 30):
        yield "edges", edge, draws, ("r2", "numbers", 150, trials)
    # The rows vary at ten trials, and the trials at 300 rows.
    sizes = ((100, 10), (300, 10), (1000, 10), (300, 3), (300, 30))
    for name, kind in (
        ("accuracy", "balanced"),
        ("accuracy", "rare"),
        ("balanced_accuracy", "rare"),
        ("auroc", "balanced"),
        ("auroc", "rare"),
    ):
        for rows, trials in sizes:
            yield "edges", edge, draws, (name, kind, rows, trials)
    for rows in (50, 150, 600):
        for truth in (0.0, 0.02):
            yield "agree", alike, draws, (rows, truth)
    for comparisons in (1, 5, 20):
        yield "pages", page, half, (comparisons, 10)
    for truth in (0.0, 0.02, 0.05):
        yield "pages", rounds, half, (truth,)
    for name in ("SCARF with 20", "VIME with 20", "VIME with 50", "SCARF AE with 50"):
        yield "centres", centres, draws, (34, name)
    # A product takes these worlds too.
    from .products import product

    for sizes, effect, both, trials, by_seed in (
        ((2, 2), 0.0, 0.0, 10, BY_SEED),
        ((2, 2), 0.03, 0.0, 10, BY_SEED),
        ((2, 2), 0.03, 0.06, 10, 0.03),
        ((3, 2, 2), 0.0, 0.0, 10, BY_SEED),
        ((3, 2, 2), 0.03, 0.0, 10, 0.03),
    ):
        yield "by axis", product, half, (sizes, effect, both, trials, by_seed)
    # So do tables that are looked at again and again.
    from .looking import LOOKED_AT, looking

    for looked_at in LOOKED_AT:
        for gain in (False, True):
            yield "looks", looking, 5 * draws // 2, (looked_at, gain)
    for n in (6, 10, 31, 69):
        for mean in (0.0, 0.02):
            yield "over tables", tables, draws, (n, mean, "normal")
    yield "over tables", tables, draws, (31, 0.015, "skewed")
    for name in ("SCARF with 20", "VIME with 20", "VIME with 50", "SCARF AE with 50"):
        yield "over tables", tables, draws, (34, 0.02, name)


def counted(job: Job) -> list[Line]:
    """The lines of a job, by random numbers of its own, which depend on nothing but what is drawn."""
    section, count, draws, arguments = job
    key = f"{count.__name__} {arguments}".encode()
    found = count(np.random.default_rng(zlib.crc32(key)), draws, *arguments)
    lines = found if isinstance(found, list) else [found]
    return [replace(line, section=section) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400, help="of each line; half as many of pages, rounds, metrics")
    parser.add_argument("--openml", default=os.environ.get("OPENML_CACHE_DIR"), help="folder of OpenML's cache")
    parser.add_argument("--section", help="count the lines of this table of the page alone")
    parser.add_argument("--tables", type=int, default=60, help="tables that are drawn from each real population")
    given = parser.parse_args()
    figures = calibration_page.read()
    if given.draws:
        lines: list[Line] = []
        for job in jobs(given.draws):
            if given.section in (None, job[0]):
                lines += _shown(counted(job))
        if given.section is not None:
            # The other lines stay as they are, in the order of the page.
            others = [line for line in figures.simulated if line.section != given.section]
            order = list(dict.fromkeys(section for section, *_ in jobs(given.draws)))
            every = sorted([*others, *lines], key=lambda line: order.index(line.section))
            calibration_page.write(replace(figures, simulated=every))
            return
        figures = replace(figures, draws=given.draws, simulated=lines)
    if given.openml:
        from .real_tables import real_lines

        found = [line for each in real_lines(Path(given.openml), given.tables) for line in _shown([each])]
        figures = replace(figures, tables=given.tables, real=found)
    calibration_page.write(figures)


def _shown(lines: list[Line]) -> list[Line]:
    for line in lines:
        print(line, flush=True)
    return lines


if __name__ == "__main__":
    main()
