from itertools import product
import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata, t

trials = pd.read_parquet("study/second_edition/trials.parquet").replace(".* regression", "linear model", regex=True)
whole = trials[~trials.competitor.str.contains("corruption=|views=|loss=")]  # without the exchanged parts of SCARF
networks = whole[~whole.competitor.str.contains("linear|forest|Boost")]
for labels, metric in product(trials.labels.unique(), ["accuracy", "spearman"]):  # the network best on other tables
    means = networks[networks.labels == labels].pivot_table(metric, "dataset", "competitor").dropna()
    best = ((means.sum() - means) / (len(means) - 1)).idxmax(axis=1).rename("competitor").reset_index()
    trials = pd.concat([trials, networks[networks.labels == labels].merge(best).assign(competitor="best network")])


def gains(metric, new, old, labels, without=(), extremes=0):  # of each table, in points or percent
    part = trials[(trials.labels == labels) & ~trials.dataset.isin(without)]
    wide = part.pivot(index=["dataset", "trial"], columns="competitor", values=metric)[[new, old]].dropna()
    scale = -wide[old].groupby("dataset").mean() if metric in ("log_loss", "rmse") else 1
    g = 100 * (wide[new] - wide[old]).groupby("dataset").mean() / scale
    return g[g.abs().rank(method="first", ascending=False) > extremes]


def scores(g, value):  # the sum of signed normal scores, and the levels of a centre above the value and below it
    signed = np.sign(g - value) * norm.ppf(0.5 + rankdata(abs(g - value)) / (len(g) + 1) / 2)
    total, z = signed.sum(), signed.sum() / max(np.sqrt((signed**2).sum()), 1e-300)
    if len(g) > 12:
        return total, norm.cdf(-z), norm.cdf(z)
    sums = np.array(list(product([-1, 1], repeat=len(g)))) @ abs(signed)  # all signs of few tables
    return total, (sums >= total - 1e-9).mean(), (sums <= total + 1e-9).mean()


def typical(g):
    steps = np.unique(np.add.outer(g, g) / 2)
    middles = [steps[0] - 1, *(steps[1:] + steps[:-1]) / 2, steps[-1] + 1]
    total, above, below = np.array([scores(g, value) for value in middles]).T
    centre = (steps[(total > 1e-9).sum() - 1] + steps[(total >= -1e-9).sum() - 1]) / 2
    return centre, steps[(above <= 0.025).sum() - 1], steps[(below > 0.025).sum() - 1]


def mean(g):  # with its bootstrap-t interval
    n, drawn = len(g), g[np.random.default_rng(0).integers(len(g), size=(2000, len(g)))]
    away = (drawn.mean(axis=1) - g.mean()) / drawn.std(axis=1, ddof=1).clip(0.1 * g.std(ddof=1)) * np.sqrt(n)
    ends = np.maximum(np.quantile(away, [0.975, 0.025]) * [1, -1], t.ppf(0.975, n - 1)) * g.std(ddof=1) / np.sqrt(n)
    return (g.mean(), g.mean() - ends[0], g.mean() + ends[1]) if n >= 25 else (g.mean(), np.nan, np.nan)


def row(*comparison, **tables):  # typical and mean with their intervals, the counts, and the range of a next table
    g = gains(*comparison, **tables).to_numpy()
    k, counts = (len(g) + 1) // 20, [sum(g > 0), sum(g < 0), sum(g > 1), sum(g < -1)]
    return [*typical(g), *mean(g), *counts, *(np.sort(g)[[k - 1, -k]] if k else [np.nan] * 2)]


print(pd.DataFrame({n: row("accuracy", "SCARF", "no pre-training", n) for n in whole.labels.unique()}).T.round(1))
print(whole.pivot_table("accuracy", "dataset", ["labels", "competitor"]).dropna().mean().unstack("labels").round(3))
facts = whole.groupby("dataset")[["rows", "columns", "categorical_share", "classes"]].first()
print(facts.corrwith(gains("accuracy", "SCARF", "no pre-training", "20"), method="spearman").round(2))
print(whole[whole.n_label_classes > 1].groupby("competitor").one_class.agg(["size", "sum"]))
