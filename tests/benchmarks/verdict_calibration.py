"""How often verdicts are wrong, and whether what they ask for settles them.

    python -m tests.benchmarks.verdict_calibration

Three worlds in which the truth is known. In *normal* the differences of trials are normal, and correlated as splits of
one table are by Nadeau and Bengio's estimate; in *quiet* they are so too, and spread a tenth as far. In *rows* a table
has 569 rows, each trial draws 70 % of them to train and 20 % for the test, its training rows move each classifier, and
these are right on a row or not: accuracies are counts, and the correlation of overlapping splits is what it is.
True differences of datasets spread around their mean: normally, or in *rows* with the heavy tails of Student's t with
three degrees of freedom.
"""

import argparse
from collections import Counter
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from scarf_lightning.report.statistics import TEST_TO_TRAIN
from scarf_lightning.report.statistics.verdict import ANSWERS, ROPE, SIZES, Verdict, judge_datasets, judge_trials

Floats = NDArray[np.float64]

Simulated = tuple[Verdict, Verdict | None, float]

WORLDS = ("normal", "quiet", "rows")
TRUTHS = (0.0, 0.005, 0.02, 0.05, 0.15)
TRIALS = (3, 5, 10, 30)
DATASETS = (2, 6, 18, 69)
SPREAD = {"normal": 0.02, "quiet": 0.002, "rows": 0.02}
"""Standard deviation of the differences of trials in *normal* and *quiet*, and the scale of those of datasets."""
ROWS = 569
CORRELATION = TEST_TO_TRAIN / (1 + TEST_TO_TRAIN)


def of_table(random: np.random.Generator, world: str, truth: float, trials: int) -> Floats:
    """Values of competitor and reference, ``(2, trials)``, on one table."""
    if world != "rows":
        shared = random.normal(size=(2, 1)) * np.sqrt(CORRELATION)
        own = random.normal(size=(2, trials)) * np.sqrt(1 - CORRELATION)
        return 0.8 + np.array([[truth], [0]]) + SPREAD[world] / np.sqrt(2) * (shared + own)
    train, test = round(0.7 * ROWS), round(0.2 * ROWS)
    influence = random.normal(size=(2, ROWS)) * 0.01 * np.sqrt(train)
    ease = random.uniform(0.6, 1, size=ROWS)
    values = np.empty((2, trials))
    for trial in range(trials):
        order = random.permutation(ROWS)
        chance = ease[order[-test:]] + influence[:, order[:train]].mean(axis=1)[:, None]
        chance += np.array([[0.0], [-truth]])
        luck, other = random.random((2, test))
        luck_of_reference = np.where(random.random(test) < 0.7, luck, other)
        values[:, trial] = (luck < chance[0]).mean(), (luck_of_reference < chance[1]).mean()
    return values


def of_tables(random: np.random.Generator, world: str, truth: float, datasets: int, trials: int) -> Floats:
    """As `of_table`, ``(datasets, 2, trials)``, of tables whose true differences vary."""
    around = random.standard_t(3, size=datasets) if world == "rows" else random.normal(size=datasets)
    return np.array([of_table(random, world, truth + SPREAD[world] * each, trials) for each in around])


def welch_wins(values: Floats) -> tuple[int, int]:
    """Datasets won and lost by the paper's procedure; ``values`` is ``(datasets, 2, trials)``."""
    test = stats.ttest_ind(values[:, 0], values[:, 1], axis=1, equal_var=False)
    significant = test.pvalue < 0.05
    return int((significant & (test.statistic > 0)).sum()), int((significant & (test.statistic < 0)).sum())


def one_dataset(random: np.random.Generator, world: str, truth: float, n: int) -> Simulated:
    """The verdict on n trials, the one on as many as it asks for, and the datasets that Welch's test decides."""
    values = of_table(random, world, truth, SIZES[-1])
    differences = values[0] - values[1]
    verdict = judge_trials(differences[:n])
    later = judge_trials(differences[: verdict.more]) if verdict.more else None
    return verdict, later, sum(welch_wins(values[None, :, :n]))


def many_datasets(random: np.random.Generator, world: str, truth: float, n: int) -> Simulated:
    """As `one_dataset`, of n datasets with five trials each."""
    values = of_tables(random, world, truth, SIZES[-1], 5)
    differences = values[:, 0] - values[:, 1]
    verdict = judge_datasets(differences[:n])
    later = judge_datasets(differences[: verdict.more]) if verdict.more else None
    return verdict, later, sum(welch_wins(values[:n])) / n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400, help="of each setting; of many datasets a quarter")
    draws = parser.parse_args().draws
    random = np.random.default_rng(0)
    print(f"{draws} draws of each; region of practical equivalence ±{100 * ROPE:g} points. Percent of verdicts:")
    print(f"{'':34}{'  '.join(ANSWERS)}  Welch decides")
    for simulate, what, sizes, n_draws in (
        (one_dataset, "trials", TRIALS, draws),
        (many_datasets, "datasets", DATASETS, draws // 4),
    ):
        asked: list[bool] = []
        unlikely: list[float] = []
        for world, n, truth in product(WORLDS, sizes, TRUTHS):
            found = [simulate(random, world, truth, n) for _ in range(n_draws)]
            answers = Counter(verdict.answer for verdict, _, _ in found)
            asked += [later.answer != "cannot tell yet" for _, later, _ in found if later is not None]
            unlikely += [v.chance for v, _, _ in found if v.more is None and not np.isnan(v.chance)]
            shares = "  ".join(f"{100 * answers[answer] / n_draws:{len(answer)}.1f}" for answer in ANSWERS)
            decided = 100 * np.mean([each for _, _, each in found])
            name = f"{world}, {n} {what}, +{100 * truth:g} points"
            print(f"{name:34}{shares}  {decided:13.1f}", flush=True)
        settled = f", which settled {100 * np.mean(asked):.1f} %" if asked else ""
        print(f"More {what} asked for: {len(asked)} times{settled}", flush=True)
        chance = f", with a chance of {100 * np.mean(unlikely):.0f} % on average" if unlikely else ""
        print(f"Not asked for, as too unlikely to settle it: {len(unlikely)} times{chance}", flush=True)


if __name__ == "__main__":
    main()
