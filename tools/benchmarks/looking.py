"""Lines of calibration on looking again and again, in two kinds of tables, each with fits that matter less or more.

- *lucks*: the tables of `calibration`, whose training rows and seeds move a competitor by ``by_fits``.
- *margins*: a row is right if a sum is above zero, of an ease of its own, a luck that a competitor has with it in every
  trial, a luck of the trial, and the luck of a fit, whose standard deviation is ``by_fits``.

*looking after each trial* ends at sixty trials, and *advice* is followed from five trials on until there is an answer,
none is given, or a hundred trials are reached. *false* are sequences of looks of which any claims a direction where
there is none, and *direction* those whose last answer claims the one that is there. *without a memory* is one look at
the whole level, which no later one may follow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from scarf_lightning.verdicts import ErrorParts, Verdict
from scarf_lightning.verdicts.answers import HELPING, HURTING, MARGIN
from scarf_lightning.verdicts.looks import bounds
from scarf_lightning.verdicts.rows_and_fits import FEWEST_FREEDOM, MOST_IN_TRAINING, OF_BOUND
from scarf_lightning.verdicts.verdict import after_looks, judge_parts

from .calibration import LEVEL, ROWS, Random, World, draw
from .calibration_page import Line

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_TRAIN, N_TEST = 420, 120
EASE, LASTING, OF_TRIAL = 0.9, 0.6, 0.7
"""Standard deviations of a row's ease, of its lasting luck, and of its luck in one trial."""
MEAN_EASE = 0.85
GAIN = {"lucks": 0.055, "margins": 0.24}
"""By how much the first competitor is better where it is: about 5.5 points of accuracy."""
FEW, MANY, MOST_TRIALS = (5, 10, 20, 30), tuple(range(3, 61)), 100
SURELY = 1.1
"""A level above this factor of what a look may spend claims nothing, however levels are rounded."""


@dataclass(frozen=True)
class LookedAt:
    """A kind of table, and by how much the fits move a competitor there."""

    kind: str
    by_fits: float

    def __str__(self) -> str:
        return f"{self.kind}, fits {self.by_fits:g}"


LOOKED_AT = (LookedAt("lucks", 0.009), LookedAt("lucks", 0.035), LookedAt("lucks", 0.07),
             LookedAt("margins", 0.08), LookedAt("margins", 0.2), LookedAt("margins", 0.5))  # fmt: skip


@dataclass
class Looks:
    """Looks at one comparison, one after the other.

    Attributes:
        means: of the trials' differences.
        parts: of the error of the mean over the first trials, after each of them.
        known: the verdicts of single looks, by their trials.
    """

    means: Floats
    parts: Sequence[ErrorParts]
    known: dict[int, Verdict] = field(default_factory=dict)

    def alone(self, trials: int) -> Verdict:
        """The verdict of one look at the first trials, as if there were no other."""
        if trials not in self.known:
            self.known[trials] = judge_parts(self.parts[trials - 1], self.means[:trials], width=1.0)
        return self.known[trials]

    def looked(self, numbers: Sequence[int]) -> list[Verdict]:
        """The verdicts of looks at these numbers of trials, one after the other."""
        verdicts: list[Verdict] = []
        for trials in numbers:
            before = verdicts[-1].looks if verdicts else ()
            verdicts.append(after_looks(self.alone(trials), before, MARGIN))
        return verdicts

    def followed(self) -> list[Verdict]:
        """The verdicts of looks after each of many trials; none if no look has a level that it may claim at."""
        parts = self.parts[MANY[0] - 1 : MANY[-1]]
        distances = np.array([abs(each.mean) / each.error if each.error else np.inf for each in parts])
        levels = 2 * stdtr([each.freedom for each in parts], -distances)
        # Of twenty sequences one claims, and the verdicts of the others take most of the time.
        return self.looked(MANY) if (levels <= SURELY * of_each(MANY)).any() else []


def looking(random: Random, draws: int, world: LookedAt, gain: bool) -> list[Line]:
    """Answers of one look, of several, and of many, where nothing differs or where the first competitor gains."""
    truth = GAIN["lucks"] if gain else 0.0
    ways: dict[str, Callable[[Looks], list[Verdict]]] = {}
    for trials in (FEW[0], FEW[1], FEW[-1]):
        ways[f"one look at {trials} trials, without a memory"] = lambda looks, n=trials: [looks.alone(n)]
        ways[f"one look at {trials} trials"] = lambda looks, n=trials: looks.looked([n])
    ways["looks at 5, 10, 20 and 30 trials"] = lambda looks: looks.looked(FEW)
    if not gain:
        ways["looking after each trial from 3 to 60"] = Looks.followed
    lines = {way: Line(f"{way}, {world}", truth=truth) for way in ways}
    most = FEW[-1] if gain else MOST_TRIALS
    for _ in range(draws):
        differences, rows = drawn(random, world, most, gain)
        looks = Looks(differences.mean(axis=1), parts_after_each(differences, rows))
        for way, its in ways.items():
            verdicts = its(looks)
            line = lines[way]
            line.draws += 1
            line.direction += gain and verdicts[-1].answer in HELPING
            line.helps += gain and verdicts[-1].answer == "helps"
            wrong = HURTING if gain else (*HELPING, *HURTING)
            line.false += any(verdict.answer in wrong for verdict in verdicts)
    return list(lines.values())


@cache
def of_each(numbers: tuple[int, ...]) -> Floats:
    """The level by itself at which each look at these numbers of trials claims."""
    return np.asarray(2 * ndtr(-np.array(bounds(numbers, LEVEL))))


def drawn(random: Random, world: LookedAt, trials: int, gain: bool) -> tuple[Floats, Integers]:
    """The differences of the test rows and their numbers, ``(trials, N_TEST)`` each."""
    by = GAIN[world.kind] * gain
    if world.kind == "lucks":
        found = draw(random, by, trials, World(by_rows=0.0, by_seed=world.by_fits))
        return np.array(found.first) - np.array(found.second), np.array(found.units)
    ease = random.normal(MEAN_EASE, EASE, ROWS)
    lasting = random.normal(0.0, LASTING, (2, ROWS))
    lasting[0] += by
    rows = np.array([random.permutation(ROWS)[:N_TEST] for _ in range(trials)])
    fits = random.normal(0.0, world.by_fits, (2, trials, 1))
    sums = ease[rows] + lasting[:, rows] + fits + random.normal(0.0, OF_TRIAL, (2, trials, N_TEST))
    right = (sums > 0).astype(np.float64)
    return right[0] - right[1], rows


def parts_after_each(differences: Floats, rows: Integers, n_trained: int = N_TRAIN) -> list[ErrorParts]:
    """`error_parts` of the first trial, of the first two, and so on, of differences -1, 0 and 1 of rows that are their
    own units; for all at once, because sixty looks at each of thousands of tables take hours one by one.

    Args:
        differences, rows: as `drawn` gives them.
        n_trained: rows that a trial trains on.
    """
    trials, n_test = differences.shape
    means = differences.mean(axis=1)
    counts = np.arange(1.0, trials + 1)
    mean = np.cumsum(means) / counts
    # A column a row of the table, zero where a trial did not test it.
    places = np.arange(trials)[:, None], rows
    values, shares, deviations = (np.zeros((trials, rows.max() + 1)) for _ in range(3))
    values[places] = differences - means[:, None]
    shares[places] = 1 / n_test
    deviations[places] = values[places] / n_test
    tested = np.cumsum(shares, axis=0)
    n_units = (tested > 0).sum(axis=1)

    totals = np.cumsum(deviations + shares * means[:, None], axis=0) - mean[:, None] * tested
    totals /= counts[:, None]
    added = np.sqrt(1 + mean**2) / n_units
    squares = (totals**2).sum(axis=1) + added**2
    of_units = squares * n_units / (n_units - 1)
    fourth = (totals**4).sum(axis=1) + added**4 - squares**2 / (n_units + 1)
    most = n_units.astype(np.float64)
    freedom = np.where(fourth <= 2 * squares**2 / most, most, np.maximum(2 * squares**2 / fourth, 1.0))

    own = counts / n_test
    common = ((tested**2).sum(axis=1) - own) / np.maximum(counts - 1, 1) / own
    within = np.cumsum((deviations**2).sum(axis=1)) * n_test / (n_test - 1) / counts
    explained = within * (1 - common)
    spread = np.array([0.0, *(means[: n + 1].var(ddof=1) for n in range(1, trials))])
    fits_variance = np.maximum(spread - explained, 0.0) / counts
    uncertain = np.maximum(fits_variance, FEWEST_FREEDOM * np.maximum(spread, explained) / counts)

    times = tested * n_test
    around = np.cumsum(values**2, axis=0) - np.cumsum(values, axis=0) ** 2 / np.maximum(times, 1)
    repeats = np.maximum(times - 1, 0).sum(axis=1)
    of_unit = around.sum(axis=1) / np.maximum(repeats, 1)
    n_rows = np.where(common > 0, n_test / np.maximum(common, 1e-12), n_test * counts)
    in_training = np.minimum(np.minimum(n_trained / n_rows, 1 - n_test / n_rows), MOST_IN_TRAINING)
    rows_variance = of_units + OF_BOUND * of_unit * in_training / (1 - in_training) / n_units

    found = []
    for place in range(trials):
        of_both = rows_variance[place] ** 2 / freedom[place]
        of_both += uncertain[place] ** 2 / place if place else 0.0
        total = rows_variance[place] + fits_variance[place]
        parts = ErrorParts(
            mean=float(mean[place]),
            rows_variance=float(rows_variance[place]),
            fits_variance=float(fits_variance[place]),
            freedom=float(max(total**2 / of_both, 1.0)),
            trials=place + 1,
            n_tested=int(n_units[place]),
            n_test=float(n_test),
            common=float(common[place]),
            varies=True,
            reach=float(1 + abs(mean[place])),
            rows_freedom=float(freedom[place]),
            uncertain_fits=float(uncertain[place]),
        )
        found.append(parts)
    return found
