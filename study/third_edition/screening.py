"""The rule of inclusion of the third edition, measured: `python -m study.third_edition.screening openml=CACHE`.

It writes the facts of every candidate of tables.yaml to tables.csv, with the reason why one takes no part, and lists
them in data.md, which has the rule. What the file has already is not measured again.
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from scarf_lightning.cli.commands import answered
from scarf_lightning.data.copies import first_alike
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from study.third_edition.tables import StudyTable, copy_all, tables

FILE = Path(__file__).with_name("tables.csv")
PAGE = Path(__file__).with_name("data.md")
LIST = "## The candidates\n"
"""The heading of the page's list, which ends it."""
FEWEST_ROWS, MOST_ROWS = 650, 70_000
"""500 labels, and a test set beside them; what a processor trains in the time that there is."""
FEWEST_COLUMNS = 4
MOST_CLASSES = 12
"""20 labels have each of them."""
RAREST_CLASS, RAREST_SHARE = 20, 0.01
MOST_COPIES = 0.5
LEAST_AUROC, LEAST_R2 = 0.6, 0.1
ROWS_OF_SIGNAL = 2000
"""Rows that are drawn of a larger table to measure its signal."""
OPTIONS: dict[str, Any] = {"n_estimators": 50, "min_samples_leaf": 5, "random_state": 0, "n_jobs": 1}


def main(arguments: Sequence[str]) -> None:
    """Measure the candidates that the file lacks.

    Raises:
        UsageError: no cache of OpenML is named, or the packages are not installed.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    if set(given) != {"openml"}:
        raise UsageError("Name the cache of OpenML's client: openml=CACHE.")
    copy_all(tables())
    facts: list[dict[str, Any]] = []
    if FILE.exists():
        facts = [dict(row) for _, row in pd.read_csv(FILE, keep_default_na=False).iterrows()]
    known = {each["table"] for each in facts}
    for each in tables():
        if each.name not in known:
            facts.append(facts_of(each, each.source(Path(given["openml"])).load()))
            _in_order(facts).to_csv(FILE, index=False)
    frame = _in_order(facts)
    frame.to_csv(FILE, index=False)
    PAGE.write_text(page_with(frame), encoding="utf-8")
    counts = frame[frame["left_out"] == ""]["kind"].value_counts()
    sys.stdout.write(
        f"{FILE.name}: {len(frame)} candidates, {counts.get('classes', 0)} tables of classes and "
        f"{counts.get('number', 0)} of numbers take part.\n"
    )


def _in_order(facts: list[dict[str, Any]]) -> pd.DataFrame:
    """The facts of the candidates that tables.yaml has, in its order."""
    frame = pd.DataFrame(facts).set_index("table")
    names = [each.name for each in tables() if each.name in frame.index]
    return frame.loc[names].reset_index()


def page_with(facts: pd.DataFrame) -> str:
    """The page of the data with the list of all candidates."""
    text, _, _ = PAGE.read_text(encoding="utf-8").partition(LIST)
    header = ["table", "package", "file", "target", "family", "rows", "columns", "classes", "signal", "left out"]
    lines = ["| " + " | ".join(header) + " |", "| --- " * len(header) + "|"]
    for each, row in zip(tables(), facts.to_dict("records"), strict=True):
        cells = [each.name, each.package, each.file, each.target, each.family]
        cells += [f"{row['rows']:,}", row["columns"], row["classes"] or "", f"{row['signal']:.2f}", row["left_out"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return f"{text}{LIST}\n" + "\n".join(lines) + "\n"


def facts_of(study_table: StudyTable, table: Table) -> dict[str, Any]:
    """What the rule asks of a table, and the reason why it takes no part, if it does not."""
    is_labelled = table.target.is_labelled(table.labels)
    values, labels = table.values[is_labelled], table.labels[is_labelled]
    target = table.target
    counts = np.bincount(labels.astype(int)) if isinstance(target, Classes) else np.array([], dtype=int)
    facts: dict[str, Any] = {
        "table": study_table.name,
        "kind": study_table.target_kind,
        "family": study_table.family,
        "rows": len(values),
        "columns": len(table.columns),
        "categorical_share": round(float(np.mean([each.is_categorical for each in table.columns])), 3),
        "gaps": round(float(np.isnan(values).mean()), 3),
        "classes": len(counts),
        "rarest": int(counts.min()) if len(counts) else 0,
        "copies": round(float(np.mean(first_alike(values) != np.arange(len(values)))), 3),
        "signal": round(_signal(values, labels, is_number=not len(counts)), 3),
    }
    return {**facts, "left_out": why_not(facts)}


def why_not(facts: dict[str, Any]) -> str:
    """The first reason by which a table takes no part, or nothing."""
    is_number = facts["kind"] == "number"
    reasons = {
        f"fewer than {FEWEST_ROWS} rows": facts["rows"] < FEWEST_ROWS,
        f"more than {MOST_ROWS:,} rows": facts["rows"] > MOST_ROWS,
        f"fewer than {FEWEST_COLUMNS} columns": facts["columns"] < FEWEST_COLUMNS,
        f"more than {MOST_CLASSES} classes": facts["classes"] > MOST_CLASSES,
        "a rare class": not is_number and facts["rarest"] < max(RAREST_CLASS, RAREST_SHARE * facts["rows"]),
        "copies": facts["copies"] > MOST_COPIES,
        "no signal": not facts["signal"] >= (LEAST_R2 if is_number else LEAST_AUROC),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _signal(values: Any, labels: Any, is_number: bool) -> float:
    """AUROC, one class against the rest, or R2 of a random forest on five folds."""
    random = np.random.default_rng(0)
    drawn = np.sort(random.permutation(len(values))[:ROWS_OF_SIGNAL])
    x, y = values[drawn], labels[drawn]
    # Forests take a gap as a value.
    if is_number:
        predicted = cross_val_predict(RandomForestRegressor(**OPTIONS), x, y, cv=KFold(5, shuffle=True, random_state=0))
        return float(r2_score(y, predicted))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        # A class that a fold lacks.
        warnings.simplefilter("ignore")
        predicted = cross_val_predict(RandomForestClassifier(**OPTIONS), x, y, cv=folds, method="predict_proba")
    if predicted.shape[1] == 2:
        return float(roc_auc_score(y, predicted[:, 1]))
    return float(roc_auc_score(y, predicted, multi_class="ovr"))


if __name__ == "__main__":
    sys.exit(answered(main))
