"""How often answers are false, how often intervals hold the truth, and how often a true difference is found.

    python -m tools.benchmarks.calibration [DRAWS]     writes the table of docs/calibration.md (`make calibration`)

A table of 600 rows has three changes beside a base. A row has an ease that all share, one of its own for each of them,
and luck in each trial; a trial tests a fifth of the rows. Training rows and seed move the difference of a trial by a
standard deviation of 1.5 to 8 points (*fits*). Each line has random numbers of its own.

*false* are directions that are not there, where nothing differs: of one change alone, and of any of the three, as one
family. Answers are looked at after 10, 15, 20 and 30 trials, or after each trial from ten on; the first claim counts.
*found* are differences whose direction is claimed at ten trials, and *held* the intervals that hold the truth.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import Look, Trials, Verdict, after_looks, judge, needed_together
from scarf_lightning.verdicts.answers import SAME, UNDECIDED, decided
from scarf_lightning.verdicts.rows_and_fits import RowsOfTrial

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"
BEGIN, END = "<!-- counted -->\n", "<!-- end -->"
DRAWS, ROWS, CHANGES = 1000, 600, 3
FITS = (0.015, 0.03, 0.05, 0.08)
GAINS = (0.03, 0.05)
ACCURACY, NO_ROW = metric_named("accuracy"), np.full((1, 2), np.nan)
SOME, EACH = (10, 15, 20, 30), tuple(range(10, 31))
"""Numbers of trials after which answers are looked at."""
HARD, OWN, LUCK = 1.0, 0.6, 0.6
"""Standard deviations of what decides whether a row is right: shared by all, a competitor's own, and a trial's."""


@dataclass(frozen=True)
class Drawn:
    """Trials of a base and its changes.

    Attributes:
        rows: of the table that each trial tests, ``(T, n)``.
        differences: of each change from the base on them, ``(CHANGES, T, n)``.
    """

    rows: Integers
    differences: Floats

    def verdict(self, change: int, trials: int) -> Verdict:
        """The verdict on a change after some trials. No two rows are copies, and none is added."""
        tested = {}
        for trial, (rows, values) in enumerate(zip(self.rows, self.differences[change, :trials], strict=False)):
            tested[trial] = RowsOfTrial(rows, values, NO_ROW, rows)
        means = {trial: float(rows.values.mean()) for trial, rows in tested.items()}
        return judge([Trials(means, tested)], ACCURACY)


def draw(random: np.random.Generator, gain: float, fits: float, trials: int) -> Drawn:
    """Trials of changes that gain so much, where fits move a trial's difference by a standard deviation ``fits``."""
    total = (HARD**2 + OWN**2 + LUCK**2) ** 0.5
    base = norm.ppf(0.8) * total
    # How much a share of right rows changes with the centre.
    slope = norm.pdf(norm.ppf(0.8)) / total
    centres = np.array([base, *[norm.ppf(0.8 + gain) * total] * CHANGES])
    ease = random.normal(0, HARD, ROWS) + random.normal(0, OWN, (CHANGES + 1, ROWS))
    rows, right = [], []
    for _ in range(trials):
        tested = random.permutation(ROWS)[: ROWS // 5]
        moved = random.normal(0, fits / 2**0.5 / slope, CHANGES + 1)
        luck = random.normal(0, LUCK, (CHANGES + 1, len(tested)))
        rows.append(tested)
        right.append((centres + moved)[:, None] + ease[:, tested] + luck > 0)
    competitors = np.array(right, dtype=np.float64).transpose(1, 0, 2)
    return Drawn(np.array(rows), competitors[1:] - competitors[0])


def claims(verdicts: Mapping[int, Sequence[Verdict]], at: Sequence[int]) -> tuple[bool, bool]:
    """Whether a look claims a direction of the first change, alone; and of any of them, as a family.

    Args:
        verdicts: on each change, by the number of trials.
        at: the numbers of trials after which answers are looked at.
    """
    alone = several = False
    looks: list[Sequence[Look]] = [()] * CHANGES
    for trials in at:
        found = [after_looks(verdict, before) for verdict, before in zip(verdicts[trials], looks, strict=True)]
        looks = [verdict.looks for verdict in found]
        alone |= _is_direction(found[0].answer)
        needed = needed_together([verdict.levels for verdict in found])
        several |= any(_is_direction(decided(*each)) for each in zip(found, needed, strict=True))
        if alone and several:
            break
    return alone, several


def _is_direction(answer: str) -> bool:
    return answer not in (UNDECIDED, SAME)


def counted(gain: float, fits: float, draws: int) -> dict[str, float]:
    """The counts of one kind of table, in percent of the draws."""
    random = np.random.default_rng([round(1000 * gain), round(1000 * fits)])
    found: dict[str, list[bool]] = {}

    def note(name: str, is_so: bool) -> None:
        found.setdefault(name, []).append(is_so)

    for _ in range(draws):
        drawn = draw(random, gain, fits, EACH[-1])
        for trials in (10, 30):
            verdict = drawn.verdict(0, trials)
            note(f"held {trials}", verdict.low <= gain <= verdict.high)
        if gain:
            note("found 10", _is_direction(after_looks(drawn.verdict(0, 10), []).answer))
            continue
        verdicts = {trials: [drawn.verdict(change, trials) for change in range(CHANGES)] for trials in EACH}
        for name, at in (("some", SOME), ("each", EACH)):
            alone, several = claims(verdicts, at)
            note(f"one {name}", alone)
            note(f"axis {name}", several)
    return {name: 100 * float(np.mean(values)) for name, values in found.items()}


def table(draws: int) -> Iterator[str]:
    """The lines of the table."""
    worlds = [(gain, fits, draws) for gain in (0.0, *GAINS) for fits in FITS]
    with get_context("fork").Pool(2) as pool:
        results = dict(zip(worlds, pool.starmap(counted, worlds), strict=True))
    headings = ("fits, points", "one claim, false", "an axis, false", "3 points, found", "5 points, found")
    yield f"| {' | '.join(headings)} | held, 10 and 30 trials |"
    yield "|--:|--:|--:|--:|--:|--:|"
    for fits in FITS:
        none, three, five = (results[gain, fits, draws] for gain in (0.0, *GAINS))
        held = [min(each[f"held {trials}"] for each in (none, three, five)) for trials in (10, 30)]
        cells = [
            f"{100 * fits:g}",
            *(f"{none[f'{kind} some']:.1f}, {none[f'{kind} each']:.1f}" for kind in ("one", "axis")),
            *(f"{each['found 10']:.1f}" for each in (three, five)),
            " and ".join(f"{each:.1f}" for each in held),
        ]
        yield f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str]) -> None:
    """Count, and write the table into the page."""
    draws = int(arguments[0]) if arguments else DRAWS
    lines = "\n".join(table(draws))
    print(lines)
    before, _, rest = PAGE.read_text(encoding="utf8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{lines}\n\n{END}{after}", encoding="utf8")


if __name__ == "__main__":
    main(sys.argv[1:])
