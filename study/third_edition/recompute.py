import numpy as np
import pandas as pd
from scipy.stats import binom

DRAWS, TRIALS, BUDGETS = 10_000, 5, [20, 50, 100, 500]
NAMES = {"SCARF, corruption.rate=0.3": "SCARF, rate 0.3", "SCARF, probe": "SCARF, frozen"}
every = pd.read_parquet("study/third_edition/trials.parquet").query("labels != 'all'").astype({"labels": int})
every = every.assign(log_loss=-every.log_loss, rmse=-np.log(every.rmse)).replace({"competitor": NAMES}, regex=True)
facts = pd.read_csv("study/third_edition/tables.csv", index_col="table").rename(lambda name: name.removeprefix("cc18-"))
learnt = every[every.n_label_classes > 0].assign(one=every.one_class * (every.n_label_classes > 1))
counts = learnt.groupby(["competitor", "labels"]).agg({"one": "sum", "worse_than_frequencies": "sum", "trial": "size"})


def means(metric, kind):  # a row a table, a column (labels, competitor), in percent
    known = every[every.dataset.isin(facts.index[facts.kind == kind])].dropna(subset=metric)
    known = known.groupby(["dataset", "labels", "competitor"])[metric].agg(["mean", "size"])
    return 100 * known["mean"].where(known["size"] >= TRIALS).unstack([1, 2])


def draws(f):  # how often each draw has each table, by the family that was drawn: (families, draws, tables)
    random, drawn = np.random.default_rng(0), np.zeros((max(f) + 1, DRAWS, len(f)))
    for of_turn in drawn:
        turn = random.integers(max(f) + 1, size=DRAWS)
        for rows, its in [(np.flatnonzero(turn == k), np.flatnonzero(f == k)) for k in range(max(f) + 1)]:
            of_turn[np.ix_(rows, its)] = random.multinomial(len(its), np.full(len(its), 1 / len(its)), size=len(rows))
    return drawn


def mean_error(g, weights):  # the mean over tables of each draw, and its standard error by families
    sums, n = weights @ g, weights.sum(axis=-1)
    mean = sums.sum(axis=0) / n.sum(axis=0)
    return mean, np.sqrt(len(n) / (len(n) - 1) * ((sums - n * mean) ** 2).sum(axis=0)) / n.sum(axis=0)


def answers(several):  # of (gains, families): means with the intervals of Holm's levels, and the answers
    known, levels = [], 0.05 / np.arange(len(several), 0, -1)
    for g, f in several:
        of_tables = (f == np.arange(max(f) + 1)[:, None, None]) * 1.0
        (mean, error), (m, e) = mean_error(g, of_tables), mean_error(g, draws(f))
        t = np.sort((m - mean)[e > 0] / e[e > 0])
        known.append((2 * (min(sum(t >= mean / error), sum(t <= mean / error)) + 1) / (len(t) + 1), *mean, *error, t))
    p = np.array([each[0] for each in known])
    claimed = np.argmax(np.append(np.sort(p) > levels, True))
    levels = levels[np.minimum(p.argsort(kind="stable").argsort(), claimed).clip(max=len(p) - 1)]
    ends = [(m, *(m - np.quantile(t, [1 - a / 2, a / 2]) * e)) for a, (_, m, e, t) in zip(levels, known)]
    return [(*each, "yes" if each[1] > 0 else "hurts" if each[2] < 0 else "cannot tell") for each in ends]


def median(g):  # the median gain with its interval by the sign test, and the range of the next table in 80 %
    place, k = int((binom.cdf(np.arange(len(g)), len(g), 0.5) <= 0.025).sum()), int((len(g) + 1) * 0.1 + 1e-9)
    ordered = np.r_[-np.inf, np.sort(g), np.inf]
    return np.median(g), *ordered[[place, -1 - place, k, -1 - k]]


def worth(means, competitor, reference, labels):  # times the labels that the reference needs, with its interval
    whole = means[[(labels, competitor), *((n, reference) for n in BUDGETS)]].dropna()
    weights = np.vstack([np.ones(len(whole)), draws(pd.factorize(facts.family[whole.index])[0]).sum(axis=0)])
    drawn = weights @ whole.values / weights.sum(axis=1)[:, None]
    found = [times(value, line) / labels for value, *line in drawn]
    return found[0], *np.quantile(found[1:], [0.025, 0.975], method="nearest")


def times(value, line):  # the labels at which a curve, straight in log labels and continued at both ends, has a value
    x, rising, slopes = np.log(BUDGETS), np.maximum.accumulate(line), np.diff(line) / np.diff(np.log(BUDGETS))
    over, under = max(value - rising[-1], 0), max(rising[0] - value, 0)
    beyond = over / max(slopes[-1], 1e-300) if over else -under / max(slopes[0], 1e-300) if under else 0
    return np.exp(np.interp(value, rising, x) + beyond)
