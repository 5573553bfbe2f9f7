"""The tables of the second edition's page, in Markdown."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from scarf_lightning.errors import counted
from scarf_lightning.reporting.blocks import named, number, table, to_markdown
from scarf_lightning.verdicts import Interval

from ..results import NONE, SCARF
from ..writing import labels_in_words
from .comparisons import (
    ACCURACY,
    BEST,
    COMPETITORS,
    EXTREMES,
    LOG_LOSS,
    MEASURES,
    NETWORKS,
    ON_REALMLP,
    PAPER,
    REALMLP,
    RIVALS,
    RMSE,
    SWITCHTAB,
    Comparison,
    Measure,
    broken_rows,
    compare,
    confirming,
    explained,
    levels,
    parts_of_scarf,
    sanity,
)

HEADLINES = (ACCURACY, RMSE)
"""The metrics of the short tables: of classes the first, of numbers the second."""


def full_tables(
    trials: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    budgets: Sequence[str],
    measures: Sequence[Measure] = MEASURES,
) -> list[str]:
    """A table a pair: all that is known of it, a row a metric and budget."""
    written = []
    for competitor, reference in pairs:
        rows = []
        for measure in measures:
            for each in compare(trials, measure, competitor, reference, budgets):
                rows.append(
                    {
                        "metric": measure.label,
                        "labels": each.labels,
                        "answer": each.claimed,
                        "median": shown(each.median),
                        "mean": shown(each.mean),
                        "better / worse": f"{each.verdict.won} / {each.verdict.lost}",
                        "by more than 1": f"{(each.gains > 1).sum()} / {(each.gains < -1).sum()}",
                        "next table": _range(each.expected),
                    }
                )
        if rows:
            caption = f"Gain of {competitor} over {reference}."
            written.append(to_markdown(table("gains", caption, pd.DataFrame(rows))))
    return written


def beside(trials: pd.DataFrame, budgets: Sequence[str]) -> list[str]:
    """The competitors that are not of the study, beside no pre-training and beside SCARF."""
    of_the_study = {*COMPETITORS, BEST, SWITCHTAB, *(name for name, _ in parts_of_scarf())}
    others = sorted(set(trials["competitor"]) - of_the_study)
    pairs = [(name, reference) for name in others for reference in (NONE, SCARF)]
    return ["## Your own competitors", *short_tables(trials, pairs, budgets)] if pairs else []


def short_tables(trials: pd.DataFrame, pairs: Sequence[tuple[str, str]], budgets: Sequence[str]) -> list[str]:
    """A table a metric: a row a pair, with its median gain and answer at each budget."""
    written = []
    for measure in HEADLINES:
        rows = []
        for competitor, reference in pairs:
            compared = compare(trials, measure, competitor, reference, budgets)
            answers = {each.labels: _answered(each) for each in compared}
            if answers:
                rows.append({"competitor": competitor, "over": reference} | answers)
        if rows:
            shown_rows = pd.DataFrame(rows)
            written.append(to_markdown(table("pairs", _caption(measure), shown_rows, headings=_headings(budgets))))
    return written


def levels_table(trials: pd.DataFrame, measure: Measure) -> str:
    """The mean of a metric of each competitor at each budget."""
    means, n_tables = levels(trials, measure)
    if not n_tables:
        return ""
    percent = "" if measure.is_relative else ", in percent"
    caption = f"Mean {measure.label}{percent} over {counted(n_tables, 'table')}."
    formats = dict.fromkeys(means.columns, ".3f" if measure is LOG_LOSS else ".1f")
    return to_markdown(table("levels", caption, means.reset_index(), formats, _headings(list(means.columns))))


def sensitivity(trials: pd.DataFrame, budgets: Sequence[str]) -> list[str]:
    """Every answer of questions 1, 2 and 4 again, without some of the tables."""
    asked = [(SCARF, NONE), *((name, REALMLP) for name in ON_REALMLP), *((BEST, rival) for rival in RIVALS)]
    without = confirming(trials)
    written = []
    for measure in HEADLINES:
        rows = []
        for competitor, reference in asked:
            analyses = {
                "all tables": compare(trials, measure, competitor, reference, budgets),
                f"without the {EXTREMES} largest": compare(
                    trials, measure, competitor, reference, budgets, extremes=EXTREMES
                ),
            }
            if measure is ACCURACY:
                analyses["without CC18"] = compare(trials, measure, competitor, reference, budgets, without)
            for labels in budgets:
                row = {"competitor": competitor, "over": reference, "labels": labels}
                for name, compared in analyses.items():
                    for each in compared:
                        if each.labels == labels:
                            row[name] = _answered(each)
                if len(row) > 3:
                    rows.append(row)
        if rows:
            written.append(to_markdown(table("sensitivity", _caption(measure), pd.DataFrame(rows))))
    return written


def sanity_table(trials: pd.DataFrame) -> str:
    """One-class predictions of each competitor, and how far it is above guesses."""
    rows = sanity(trials)
    broken = [f"{competitor} with {labels_in_words(labels)}" for competitor, labels in broken_rows(trials)]
    said = f" Broken, and compared with nothing: {named(broken)}." if broken else " No row is broken."
    rows["share"] = 100 * rows["one_class"] / rows["trials"]
    ours = rows.loc[[name for name in rows.index if name in NETWORKS and name != PAPER]]
    share = 100 * ours["one_class"].sum() / ours["trials"].sum()
    caption = (
        "Trials of classes whose labels are of two classes and more, those of them that predict one class for every "
        "test row, and points of balanced accuracy above guesses with the fewest labels."
    )
    shown_rows = rows[["trials", "one_class", "share", "above_guesses"]].reset_index()
    headings = {"one_class": "one class", "share": "%", "above_guesses": "above guesses"}
    formats = {"share": ".1f", "above_guesses": "+.1f", "trials": ",.0f"}
    return (
        f"Of the networks that train by our recipe or as RealMLP, {share:.2f} % predict one class.{said}\n\n"
        + to_markdown(table("sanity", caption, shown_rows, formats, headings))
    )


def explained_table(trials: pd.DataFrame) -> str:
    """On how many tables of numbers each competitor is better than the mean of the labels."""
    counts = explained(trials)
    n_tables = trials.loc[trials["classes"] == 0, "dataset"].nunique()
    caption = f"Tables of numbers, of {n_tables}, on which the mean R2 is above that of the labels' mean, which is 0."
    return to_markdown(table("explained", caption, counts.reset_index(), headings=_headings(list(counts.columns))))


def shown(interval: Interval) -> str:
    """An interval with a decimal."""
    mean, low, high = (number(each, "+.1f") for each in interval)
    return mean if np.isnan(interval.low) else f"{mean} ({low} to {high})"


def _answered(comparison: Comparison) -> str:
    """A median gain with its interval, and the answer."""
    return f"{shown(comparison.median)}, {comparison.claimed}"


def _caption(measure: Measure) -> str:
    """The caption of a table of `_answered`."""
    return f"Median gain in {measure.unit} of {measure.label} with its 95 % interval, and the answer."


def _range(ends: tuple[float, float] | None) -> str | None:
    return None if ends is None else f"{number(ends[0], '+.1f')} to {number(ends[1], '+.1f')}"


def _headings(budgets: Sequence[str]) -> Mapping[str, str]:
    return {labels: labels_in_words(labels) for labels in budgets}
