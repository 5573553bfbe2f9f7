"""Columns of the CSV files of a report: the one place that says what each of them holds."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from ..metrics import metrics
from ..verdicts.effects import Effect

OF_A_METRIC = {
    "{}": "mean of {label} over trials; of several datasets, the mean of their means",
    "{}_low": "lower end of the 95 % interval of {label}",
    "{}_high": "upper end of the 95 % interval of {label}",
}
"""Columns that a table has for a metric, whose name takes the place of the braces."""

OF_A_COMPARISON = {
    "context": "number of labels or seed that the competitor and its reference share",
    "reference": "competitor that it is compared with; empty for a reference",
    "answer": "one of six answers, claimed together with those of the page's others; reference for a reference",
    "answer_alone": "the answer if this were the only comparison",
    "claim": "what the answer is about: this table, or tables like these",
    "basis": "where the interval is from: rows and fits; the resampled t-test without predictions; the sign test",
    "not_learnt": "the sign that it, or its reference, has learnt nothing, so that there is no answer",
    "difference": "improvement over the reference, higher is better; over datasets that of the median one",
    "difference_low": "lower end of the 95 % interval of the difference",
    "difference_high": "upper end of that interval",
    "mean_difference": "over datasets, the mean improvement",
    "won": "trials, or datasets, on which it is better",
    "lost": "trials, or datasets, on which it is worse",
    "trials": "finished trials, of a comparison those that both sides have; of several datasets the fewest",
    "datasets": "datasets with a finished trial",
    "p_direction": "two-sided level at which the direction of this comparison alone is claimed",
    "reason": "why there is no answer: a side that has not learnt, or what a claim lacks",
}

OF_EFFECTS = {
    "what": "value, change, competitor or interaction", "against": "what it is compared with",
    "over": "settings of the other axes that it is a mean over", "context": OF_A_COMPARISON["context"],
    "n": "trials that both sides have, or datasets if there are several",
    "difference": "improvement, higher is better; of an interaction by how much an effect is larger; over datasets the "
    "median one's",
    "low": "lower end of the 95 % interval of the difference", "high": "upper end of that interval",
    "answer": "one of six answers, claimed together with those of its axis, or of its kind",
    "why": "what a claim lacks, or why there is no answer", "p": OF_A_COMPARISON["p_direction"],
    **{name: OF_A_COMPARISON[name] for name in ("claim", "basis", "trials", "datasets", "won", "lost")},
    "mean": "the mean improvement, also over datasets",
}  # fmt: skip
"""Columns of the frame of effects."""

TABLES: dict[str, Mapping[str, str]] = {
    "summary": {"competitor": "name of the competitor", **OF_A_METRIC, **OF_A_COMPARISON},
    "ablation": OF_EFFECTS | OF_A_METRIC,
    "effects": OF_EFFECTS,
    "means": {
        "context": OF_A_COMPARISON["context"], "mean": "mean of the metric of the setting",
        "mean_low": "lower end of its 95 % interval", "mean_high": "upper end of its 95 % interval",
        "datasets": "datasets that it is a mean over",
    },
    "levels": {
        "cell": "name of the cell", "metric": "name of the metric", "mean": "mean over trials",
        "mean_low": "lower end of its 95 % interval", "mean_high": "upper end of its 95 % interval",
        "trials": "trials that have the metric",
    },
    "metrics": {
        "competitor": "name of the competitor", "metric": "name of the metric",
        "difference": OF_A_COMPARISON["difference"],
        "difference_low": OF_A_COMPARISON["difference_low"], "difference_high": OF_A_COMPARISON["difference_high"],
    },
    "metric_table": {
        "dataset": "name of the dataset", "competitor": "name of the competitor",
        "mean": "mean of the metric over trials", "standard_error": "of the mean", "trials": "finished trials",
    },
    "worth": {
        "competitor": "name of the competitor", "reference": "competitor whose learning curve is inverted",
        "labels": "number of labels at which both are measured",
        "worth": "how many times these labels the reference needs for the competitor's metric",
        "worth_low": "lower end of its 95 % interval", "worth_high": "upper end of its 95 % interval",
        "least": "lower end of the continued curve in the same unit; a worth of it means less than",
        "most": "upper end of the continued curve in the same unit; a worth of it means more than",
        "curve": "measured, or continued beyond the labels at which the reference was measured",
        "n": "datasets",
    },
    "surviving-wins": {
        "competitor": "name of the competitor", "reference": "competitor that it is compared with",
        "test": "name of the test", "adjusted": "whether Holm's correction over datasets is made",
        "wins": "datasets won", "losses": "datasets lost", "ties": "datasets with equal means",
        "undecided": "datasets that the test does not decide",
    },
    "ranks": {
        "competitor": "name of the competitor", "mean rank": "mean of its ranks over datasets, 1 is best",
        "best on": "datasets on which no other is better", "datasets": "datasets on which all are ranked",
    },
    "wilcoxon": {
        "competitor": "name of the competitor", "reference": "competitor that it is compared with",
        "higher": "datasets with a higher mean", "lower": "datasets with a lower mean",
        "equal": "datasets with equal means", "p": "of Wilcoxon's signed-rank test",
        "p_holm": "p with Holm's correction over pairs",
    },
    "gain_table": {
        "row": "row of the grid", "column": "column of the grid",
        "kept_mean": "mean gain in percent over the datasets that the paper's filter keeps",
        "kept_datasets": "datasets that it keeps", "mean": "mean gain in percent over all datasets",
        "median": "median gain in percent", "datasets": "datasets with a gain", "missing": "datasets without one",
    },
    "sensitivity": {
        "x": "value of the option", "mean": "mean over datasets of the metric, in percent of the best value's",
        "low": "lower end of its 95 % interval", "high": "upper end of its 95 % interval",
        "datasets": "datasets with every value",
    },
    "missing": {
        "finished": "finished trials", "wanted": "trials that were asked for",
        "failure": "why the cell failed when it was last tried",
    },
    "cells": {
        "dataset_id": "number on OpenML", "finished": "finished trials", "diverged": "trials that diverged",
        "fingerprint": "name of the cell's folder in the results",
    },
    "damaged": {"record": "path of a record", "why": "why it cannot be used"},
    "versions": {"what": "package, or part of the machine", "version": "its version, or several with their counts"},
}  # fmt: skip
"""By kind of table its columns and what each holds. Beside them a table may have columns of options."""
ALIASES = {"epochs_table": "metric_table", "box_plot-gains": "gain_table"}
"""Kinds that have the columns of another."""
COUNTS = ("trials", "datasets", "won", "lost")
"""Columns of whole numbers, which a line of a reference lacks."""
OPTION = "value of the option; empty where the cell does not use it"


def kind_of(table: str) -> str:
    """The kind of a table from its name: ``02-win_matrix-ranks`` is "ranks"."""
    name = re.sub(r"^\d+-", "", table)
    for kind in (*ALIASES, *TABLES):
        if name == kind or name.endswith(f"-{kind}"):
            return ALIASES.get(kind, kind)
    return name


def meaning_of(table: str, column: str, options: Iterable[str] = ()) -> str:
    """Meaning of a column of a table; empty for a column that no schema has.

    Args:
        table: its name.
        column: its name.
        options: the columns of options that the table may have.
    """
    schema = TABLES.get(kind_of(table), {})
    if column in schema:
        return schema[column]
    for metric in metrics():
        for template in OF_A_METRIC:
            if template in schema and column == template.format(metric.name):
                return schema[template].format(label=metric.label)
    return OPTION if column in options else ""


def evidence_columns(effect: Effect) -> dict[str, Any]:
    """The answer on an effect and its evidence, by the columns that tables of levels have for them."""
    verdict, row = effect.verdict, effect.row
    return {name: row[name] for name in ("answer", "claim", "basis", "difference", "trials", "datasets")} | {
        "difference_low": verdict.low, "difference_high": verdict.high, "p_direction": row["p"],
        "answer_alone": verdict.answer, "reason": row["why"],
    }  # fmt: skip


def arrange_columns(table: str, frame: pd.DataFrame) -> pd.DataFrame:
    """A table's columns in the order of its schema; numbers of trials and of datasets are whole where some are missing.

    Raises:
        KeyError: a column has no place in the schema.
    """
    # Frames are put together from dictionaries, whose order depends on the first line.
    schema = list(TABLES[kind_of(table)])
    columns = list(map(str, frame.columns))
    columns.sort(key=lambda column: schema.index(_templates(schema, column)[0]))
    counts = [column for column in COUNTS if column in columns]
    return frame[columns].astype(dict.fromkeys(counts, "Int64"))


def _templates(schema: Sequence[str], column: str) -> list[str]:
    """The columns of a schema that a table's column is one of."""
    return [name for name in schema if name == column or column in {name.format(each.name) for each in metrics()}]


def documented(frames: Mapping[str, pd.DataFrame], options: Iterable[str]) -> pd.DataFrame:
    """A row for each column of these tables: ``file, column, meaning``."""
    known = set(options)
    rows = []
    for name, frame in frames.items():
        for column in map(str, frame.columns):
            rows.append((f"{name}.csv", column, meaning_of(name, column, known)))
    return pd.DataFrame(rows, columns=["file", "column", "meaning"])
