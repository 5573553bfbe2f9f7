import numpy as np
import pandas as pd
from scipy.stats import binom, spearmanr, t

trials = every = pd.read_parquet("study/second_edition/trials.parquet").replace(".* regr.*", "linear model", regex=True)
networks = every[~every.competitor.str.contains("linear|forest|Boost|Switch|corruption=|views=|loss=")]  # of the study
for _, known in networks.groupby(["labels", networks.classes > 0]):
    means = known.pivot_table("accuracy" if known.classes.any() else "spearman", "dataset", "competitor").dropna()
    best = known.merge((means.sum() - means).idxmax(axis=1).reset_index(name="competitor"))  # on the other tables
    trials = pd.concat([trials, best.assign(competitor="best network")])


def gains(metric, new, old, labels, without=()):  # of each table, in points or percent
    known = trials.query("labels == @labels and dataset not in @without and competitor in [@new, @old]")
    means = known.pivot_table(metric, ["dataset", "trial"], "competitor").dropna().groupby("dataset").mean()
    return 100 * np.round((means[new] - means[old]) / (-means[old] if metric in ("log_loss", "rmse") else 1), 12).values


def median(g):  # the median gain, and its interval by the sign test
    place = int((binom.cdf(np.arange(len(g)), len(g), 0.5) <= 0.025).sum())
    return np.median(g), np.sort(g)[place - 1], np.sort(g)[-place]


def row(g):  # median gain, mean with its bootstrap-t interval, better, worse, by more than 1, and the next table
    n, k, drawn = len(g), (len(g) + 1) // 20, g[np.random.default_rng(0).integers(len(g), size=(2000, len(g)))]
    away = (drawn.mean(axis=1) - g.mean()) / drawn.std(axis=1, ddof=1).clip(0.1 * g.std(ddof=1)) * np.sqrt(n)
    ends = np.maximum(np.quantile(away, [1 - 0.025 / 3, 0.025 / 3]) * [1, -1], t.ppf(1 - 0.025 / 3, n - 1))
    mean = [g.mean(), *(g.mean() + ends * [-1, 1] * g.std(ddof=1) / np.sqrt(n))[: 2 * (n >= 25)]]
    return [*median(g), *mean, sum(g > 0), sum(g < 0), sum(g > 1), sum(g < -1), *np.sort(g)[[k - 1, -k]][: 2 * k]]


def correlations(labels, five=("rows", "columns", "categorical_share", "classes", "accuracy")):  # of SCARF's gain
    facts = every.query("labels == @labels and competitor == 'no pre-training' and classes > 0")
    facts, g = facts.pivot_table(five, "dataset"), gains("accuracy", "SCARF", "no pre-training", labels)
    tests = facts.assign(both=facts.accuracy + g / 200).apply(lambda fact: pd.Series(spearmanr(fact, g), ["r", "p"])).T
    return tests.r, (tests.p[list(five)].sort_values() * [5, 4, 3, 2, 1]).cummax().clip(upper=1)  # levels after Holm


print(np.round(row(gains("accuracy", "SCARF", "no pre-training", "20")), 1), *correlations("20"))
tables = every.pivot_table(["accuracy", "auroc", "log_loss", "spearman", "r2"], "dataset", ["labels", "competitor"])
print(tables.mean().unstack("labels"), (tables.r2 > 0).sum().unstack("labels"))
learnt = every[every.n_label_classes > 1].eval("above_guesses = balanced_accuracy - 1 / classes")
print(learnt.groupby("competitor").one_class.agg(["size", "sum"]))
print(learnt[learnt.labels == "20"].pivot_table("above_guesses", "dataset", "competitor").mean())
once = every.drop_duplicates(["dataset", "competitor", "trial", "pretrain_seconds"])  # budgets share a pre-training
print(once.groupby("competitor").pretrain_seconds.mean(), once.pretrain_seconds.sum(), every.finetune_seconds.sum())
