"""Rank correlations of the gain with facts of the tables, which tell what tables that gain have in common."""

from collections.abc import Sequence

import pandas as pd
from scipy import stats

from scarf_lightning.reporting.blocks import named, number, table, to_markdown
from scarf_lightning.verdicts import holm

from ..results import FACTS, NONE, SCARF
from ..writing import LEVEL, labels_in_words, level_in_words
from .comparisons import ACCURACY, Comparison, compare

COUPLED = """\
The score without pre-training is part of the gain, so chance in it alone lowers that correlation (Chiolero et al. 2013,
DOI 10.3389/fpubh.2013.00029). The mean of the scores with and without pre-training is free of this (Oldham 1962, J.
Chronic Dis. 15, 969–977); it stands beside, outside the protocol."""


def in_common(trials: pd.DataFrame, budgets: Sequence[str]) -> str:
    """Rank correlations of SCARF's gain in accuracy with what is known of the tables, and what survives Holm's
    correction over the five of a budget."""
    rows, sentences = [], []
    for labels in budgets:
        for comparison in compare(trials, ACCURACY, SCARF, NONE, [labels]):
            tests = correlations(trials, comparison)
            adjusted = holm([p for _, p in tests.values()])
            row = {"labels": labels}
            kept = []
            for (fact, (correlation, _)), p in zip(tests.items(), adjusted, strict=True):
                row[fact] = f"{number(correlation, '+.2f')} ({level_in_words(p)})"
                if p <= LEVEL:
                    kept.append(fact)
            row["mean of both scores"] = number(uncoupled(trials, comparison), "+.2f")
            rows.append(row)
            sentences.append(
                f"With {labels_in_words(labels)} the gain goes with {named(kept) if kept else 'none of them'}."
            )
    if not rows:
        return ""
    caption = "Spearman's correlation of SCARF's gain in accuracy over tables, with p after Holm's correction."
    return "\n\n".join([" ".join(sentences), COUPLED, to_markdown(table("common", caption, pd.DataFrame(rows)))])


def correlations(trials: pd.DataFrame, comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Spearman's correlation of gains with each fact of the tables, and its level."""
    facts = facts_of(trials, comparison)
    known = {
        "rows": facts["rows"],
        "columns": facts["columns"],
        "share of categories": facts["categorical_share"],
        "classes": facts["classes"],
        "score without pre-training": facts[comparison.measure.name],
    }
    tests = {}
    for name, values in known.items():
        test = stats.spearmanr(comparison.gains, values)
        tests[name] = (float(test.statistic), float(test.pvalue))
    return tests


def uncoupled(trials: pd.DataFrame, comparison: Comparison) -> float:
    """Spearman's correlation of gains in points with the mean of the scores with pre-training and without it.

    The score without pre-training is part of the gain; the mean of both is not coupled with it (Oldham 1962).
    """
    score = facts_of(trials, comparison)[comparison.measure.name]
    return float(stats.spearmanr(comparison.gains, score + comparison.gains / 200).statistic)


def facts_of(trials: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """The facts of the tables of a comparison, and the mean score of the reference on each: a row a table."""
    reference = trials[(trials["competitor"] == comparison.reference) & (trials["labels"] == comparison.labels)]
    return reference.groupby("dataset")[[*FACTS, comparison.measure.name]].mean().loc[list(comparison.tables)]
