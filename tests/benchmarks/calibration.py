"""How often verdicts are false, how often intervals hold the truth, and how often a true difference is found.

    python -m tests.benchmarks.calibration            the table of docs/calibration.md (`make calibration`)

Tables whose truth is known are drawn, and trials are drawn from them as training draws them. A row of a table has an
ease and a luck of its own. Training rows and the seed move a classifier up or down. A trial measures two competitors on
its test rows. With random splits the trials of a table overlap as real ones do; the truth is that of any table of the
kind, or where a line says so that of *this table*, which training sets are drawn from. *Fixed* trials share their
training and test rows; the truth is that of these training rows. In *time*, rows share their luck with the ones before.
With *few* labels 40 training rows have one. A target is *classes* (a row is right or wrong) or *numbers* (a row has an
error). Over datasets, true differences vary, evenly or so that few gain much (*skewed*).
"""

import argparse
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from scarf_lightning.report.statistics import (
    Verdict,
    answers_together,
    fixed_error,
    judge,
    judge_fixed,
    mean_interval,
    overlap_ratio,
)
from scarf_lightning.report.statistics.intervals import share_of_test
from scarf_lightning.sweeping.folders import SWEEPS, read_sweep

Floats = NDArray[np.float64]
ROWS, LABELLED = 600, 40
SHARED, LASTING = 0.7, 0.8
"""Chances that two competitors share a row's luck, and that a row keeps its luck from trial to trial."""
BY_ROWS, BY_SEED = 0.005, 0.009
"""Standard deviations of a trial that come from which training rows it has, with all labels, and from its seed."""
AS_BEFORE = 0.5
"""Chance in *time* that a row has the luck of the row before."""
ROUNDS, BUDGETS = read_sweep("answer", SWEEPS).rounds, 4
"""Trials of the rounds of `sweeps=answer`, and label budgets."""
UNDECIDED = "cannot tell yet"
HARSHER = (0.01, 0.02)
"""As `BY_ROWS`, in worlds where they matter more. Overlap then hides more of the variance."""


@dataclass(frozen=True)
class Drawn:
    """Trials of two competitors on one table.

    Attributes:
        values: of both, ``(2, T)``.
        by_row: differences on the test rows, ``(T, n)``; of fixed splits only these share rows.
        first_by_row: values of the first on the test rows, ``(T, n)``.
        n_train, n_labelled: training rows of a trial, and those with a label.
        of_table: what the rows of this table add to the true difference.
    """

    values: Floats
    by_row: Floats
    first_by_row: Floats
    n_train: int
    n_labelled: int
    of_table: float

    def ratio(self, by_row: Floats) -> float:
        """That of the corrected interval, of a difference or of a level on the test rows."""
        return overlap_ratio(by_row.shape[1], self.n_train, self.n_labelled, share_of_test(by_row))

    def first(self, trials: int) -> "Drawn":
        """The first trials alone."""
        parts = (self.values[:, :trials], self.by_row[:trials], self.first_by_row[:trials])
        return Drawn(*parts, self.n_train, self.n_labelled, self.of_table)


def draw(
    random: np.random.Generator,
    truth: float,
    trials: int,
    *,
    fixed: bool = False,
    time: bool = False,
    few: bool = False,
    target: str = "classes",
    by_rows: float = BY_ROWS,
) -> Drawn:
    """Trials on one table; the first competitor is better by ``truth``."""
    fixed = fixed or time
    n_train, n_test = round(0.7 * ROWS), round(0.2 * ROWS)
    n_labelled = LABELLED if few else n_train
    ease = random.uniform(0.6, 1.0, ROWS)
    influence = 0 if fixed else by_rows * math.sqrt(n_train)
    moves = random.normal(size=(2, ROWS)) * influence
    lasting = lucks(random)
    order = np.arange(ROWS) if time else random.permutation(ROWS)
    if time:
        lasting = lasting[:, np.maximum.accumulate(np.where(random.random(ROWS) < AS_BEFORE, 0, order))]
    both = np.empty((2, trials, n_test))
    for trial in range(trials):
        order = order if fixed else random.permutation(ROWS)
        labelled = order[:n_train] if not few else random.permutation(order[:n_train])[:n_labelled]
        seed = random.normal(size=2) * BY_SEED
        level = moves[:, labelled].mean(axis=1) + seed + np.array([0.0, -truth])
        test = order[-n_test:]
        rows = ease[test] + level[:, None]
        luck = np.where(random.random(n_test) < LASTING, lasting[:, test], lucks(random)[:, test])
        both[:, trial] = luck < rows if target == "classes" else rows + (luck - 0.5)
    values = both.mean(axis=2)
    of_table = moves.mean(axis=1)
    return Drawn(values, both[0] - both[1], both[0], n_train, n_labelled, float(of_table[0] - of_table[1]))


def lucks(random: np.random.Generator) -> Floats:
    """The luck of two competitors on each row, ``(2, ROWS)``."""
    luck = random.random((2, ROWS))
    luck[1] = np.where(random.random(ROWS) < SHARED, luck[0], luck[1])
    return luck


def verdict_of(drawn: Drawn, *, fixed: bool = False, time: bool = False) -> Verdict:
    differences = drawn.values[0] - drawn.values[1]
    if fixed or time:
        error, freedom = fixed_error(drawn.by_row, in_time=time)
        return judge_fixed(differences, error, freedom, n_test=drawn.by_row.shape[1], width=1.0)
    ratio, n_test = drawn.ratio(drawn.by_row), drawn.by_row.shape[1]
    return judge(differences[None], test_to_train=ratio, n_test=n_test, width=1.0, predicts=False)


def first_verdict_of(drawn: Drawn) -> Verdict:
    """That of release 0.1, which counts all training rows as labelled."""
    return judge((drawn.values[0] - drawn.values[1])[None], predicts=False)


def gains_of(random: np.random.Generator, datasets: int, mean: float, *, skewed: bool) -> Floats:
    """True differences of datasets with this mean; skewed: three in four gain nothing."""
    if skewed:
        return np.where(random.random(datasets) < 0.75, 0.0, random.exponential(4 * mean, datasets))
    return mean + random.normal(size=datasets) * 0.02


@dataclass
class Line:
    """One line of the table: counts of what happened."""

    what: str
    truth: float
    draws: int = 0
    false: int = 0
    found: int = 0
    covered: int = 0
    intervals: int = 0
    found_first: int | None = None

    def row(self) -> str:
        def share(k: int, n: int) -> str:
            return f"{100 * k / n:.1f} ± {100 * math.sqrt(max(k, 1) * max(n - k, 1) / n) / n:.1f}" if n else "–"

        found = share(self.found, self.draws) if self.truth else "–"
        first = share(self.found_first, self.draws) if self.truth and self.found_first is not None else "–"
        covers, false = share(self.covered, self.intervals), share(self.false, self.draws)
        return f"| {self.what} | {100 * self.truth:g} | {false} | {covers} | {found} | {first} |"


def one_dataset(
    random: np.random.Generator,
    draws: int,
    truth: float,
    trials: int,
    *,
    this_table: bool = False,
    **world: bool | str | float,
) -> Line:
    """Verdicts on a difference, and whether their intervals hold it; that of any table, or of this one."""
    named = _named(world)
    named += [f"training rows {100 * float(world['by_rows']):.1f} points"] if "by_rows" in world else []
    line = Line(f"difference{' on this table' if this_table else ''}, {trials} trials, {', '.join(named)}", truth)
    shares_rows = {name: bool(world.get(name)) for name in ("fixed", "time")}
    for _ in range(draws):
        drawn = draw(random, truth, trials, **world)  # type: ignore[arg-type]
        count(line, verdict_of(drawn, **shares_rows), truth + drawn.of_table * this_table)
        if not any(shares_rows.values()):
            line.found_first = (line.found_first or 0) + (first_verdict_of(drawn).answer == "helps")
    return line


def alike(random: np.random.Generator, draws: int, rows: int, truth: float) -> Line:
    """Competitors that agree on every row of a table but a share ``truth``, which the first alone has right."""
    line = Line(f"difference of two that mostly agree, table of {rows} rows, 10 trials", truth)
    n_test = rows // 5
    for _ in range(draws):
        differs = random.random(rows) < truth
        values = np.array([differs[random.permutation(rows)[:n_test]].mean() for _ in range(10)])
        count(line, judge(values[None], n_test=n_test, width=1.0, predicts=False), truth)
    return line


def level(random: np.random.Generator, draws: int, trials: int, **world: bool | str) -> Line:
    """Whether the interval of a cell's own metric holds it."""
    line, truth = Line(f"level, {trials} trials, {', '.join(_named(world))}", 0.0), 0.8
    for _ in range(draws):
        drawn = draw(random, 0.0, trials, **world)  # type: ignore[arg-type]
        values = drawn.values[0]
        if world.get("fixed") or world.get("time"):
            error, freedom = fixed_error(drawn.first_by_row, in_time=bool(world.get("time")))
            half = float(stdtrit(freedom, 0.975)) * error
            low, high = values.mean() - half, values.mean() + half
        else:
            _, low, high = mean_interval(values, drawn.ratio(drawn.first_by_row))
        line.intervals += 1
        line.covered += low <= truth <= high
    return line


def _named(world: Mapping[str, Any]) -> list[str]:
    return [str(world.get("target", "classes")), *(name for name in ("fixed", "time", "few") if world.get(name))]


def over_datasets(random: np.random.Generator, draws: int, datasets: int, mean: float, *, skewed: bool) -> Line:
    """Verdicts over datasets with five trials each, and whether the interval of the mean gain holds it."""
    line = Line(f"mean over {datasets} datasets{', skewed' if skewed else ''}", mean)
    for _ in range(draws):
        gains = gains_of(random, datasets, mean, skewed=skewed)
        values = gains[:, None] + random.normal(size=(datasets, 5)) * 0.01
        found = judge(values, predicts=False)
        line.draws += 1
        line.found += found.answer == "helps"
        line.false += is_false(found.answer, mean)
        line.intervals += not math.isnan(found.average.low)
        line.covered += found.average.low <= mean <= found.average.high
    return line


def pages(random: np.random.Generator, draws: int, comparisons: int, trials: int) -> Line:
    """Pages that compare many things none of which differs: how many claim one in their headline."""
    line = Line(f"headline of {comparisons} comparison{'s' * (comparisons > 1)}, {trials} trials", 0.0)
    for _ in range(draws):
        found = [verdict_of(draw(random, 0.0, trials)) for _ in range(comparisons)]
        line.draws += 1
        line.false += any(answer in ("helps", "hurts") for answer in answers_together(found))
    return line


def answers(random: np.random.Generator, draws: int, truth: float) -> Line:
    """What `sweeps=answer` claims of one competitor with three numbers of labels and with all: a comparison gets more
    trials until it is decided, and the claims of the competitor hold together. False if any of the four is."""
    line = Line(f"answer over {BUDGETS} label budgets, {ROUNDS[0]} to {ROUNDS[-1]} trials", truth)
    for _ in range(draws):
        drawn = [draw(random, truth, ROUNDS[-1], few=budget > 0) for budget in range(BUDGETS)]
        trials, claims = [0] * BUDGETS, [UNDECIDED] * BUDGETS
        for n in ROUNDS:
            trials = [n if claim == UNDECIDED else of_it for claim, of_it in zip(claims, trials, strict=True)]
            found = [verdict_of(each.first(of_it)) for each, of_it in zip(drawn, trials, strict=True)]
            claims = [str(claim) for claim in answers_together(found)]
        line.draws += 1
        line.false += any(is_false(claim, truth) for claim in claims)
        line.found += "helps" in claims
        for verdict in found:
            line.intervals += 1
            line.covered += verdict.low <= truth <= verdict.high
    return line


def is_false(answer: str, truth: float, rope: float = 0.01) -> bool:
    """Whether an answer contradicts the truth."""
    return (
        (answer == "helps" and truth <= 0)
        or (answer == "hurts" and truth >= 0)
        or (answer == "no practical difference" and abs(truth) > rope)
    )


def count(line: Line, verdict: Verdict, truth: float) -> None:
    line.draws += 1
    line.false += is_false(verdict.answer, truth)
    line.found += verdict.answer == "helps"
    line.intervals += not math.isnan(verdict.low)
    line.covered += verdict.low <= truth <= verdict.high


def lines(draws: int) -> Iterator[Line]:
    """All lines of the table."""
    random = np.random.default_rng(0)
    for target in ("classes", "numbers"):
        for trials in (5, 10, 30):
            for truth in (0.0, 0.05):
                yield one_dataset(random, draws, truth, trials, target=target)
            yield level(random, draws, trials, target=target)
        for name in ("fixed", "time", "few"):
            for truth in (0.0, 0.05):
                yield one_dataset(random, draws, truth, 10, target=target, **{name: True})
            yield level(random, draws, 10, target=target, **{name: True})
    for datasets in (6, 10, 33, 69):
        for mean in (0.0, 0.02):
            yield over_datasets(random, draws, datasets, mean, skewed=False)
    for datasets in (10, 33, 69):
        yield over_datasets(random, draws, datasets, 0.015, skewed=True)
    for this_table in (True, False):
        for by_rows in HARSHER:
            for trials in (5, 10, 30):
                for truth in (0.0, 0.05):
                    yield one_dataset(random, draws, truth, trials, this_table=this_table, by_rows=by_rows)
    for rows in (50, 150, 600):
        for truth in (0.0, 0.02):
            yield alike(np.random.default_rng(2), draws, rows, truth)
    for comparisons in (1, 5, 20):
        yield pages(random, draws // 2, comparisons, 10)
    for truth in (0.0, 0.02, 0.05):
        yield answers(np.random.default_rng(1), draws // 2, truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="of each line; of pages and answers half as many")
    draws = parser.parse_args().draws
    print(f"{draws} draws a line; percent ± standard error.\n")
    print("| what | true difference, points | false claims | intervals that hold the truth | found | release 0.1 |")
    print("|---|--:|--:|--:|--:|--:|")
    for line in lines(draws):
        print(line.row(), flush=True)


if __name__ == "__main__":
    main()
