"""Estimators with few labels beside no pre-training: `python -m tools.benchmarks.estimator_few_labels --openml CACHE`.

Tables that the study did not use, and so did not choose the rule by which an estimator pre-trains: those that `make
corpus` installs and `python -m study.packaged` copies, and of OpenML. Of each, 20 % of the rows test; of the others as
many as are asked for keep their label, stratified, and the rest has none. Both estimators get the same rows. AUROC and,
of numbers, the rank correlation are in points; seconds are the processor time of one `fit`.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from scarf_lightning import ScarfClassifier, ScarfRegressor
from scarf_lightning.data.sources import OpenMLSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.engine.hardware import prepare_process
from study import packaged

from .estimator_defaults import of_codes

OPENML = {
    "wilt": 40983, "phoneme": 1489, "kc1": 1067, "churn": 40701, "pc3": 1050, "sick": 38, "kr-vs-kp": 3,
    "ozone-level-8hr": 1487, "mfeat-karhunen": 16, "splice": 46, "satimage": 182, "spambase": 44, "mfeat-pixel": 40979,
    "optdigits": 28, "pendigits": 32, "jm1": 1053,
}  # fmt: skip
RACED = ("housing", "griliches")
"""Tables of packages that helped to choose a recipe."""
LABELS = (20, 50, 100)
PARAMETERS = ("auto", "none")


def tables(kind: str, cache: Path | None) -> Iterator[Table]:
    """The tables with a kind of target."""
    for each in packaged.TABLES:
        if each.target_kind == kind and each.name not in RACED:
            yield each.source.load()
    if kind == Classes.name and cache is not None:
        for name, number in OPENML.items():
            yield OpenMLSource(number, cache, dataset_name=name).load()


def frame_of(table: Table) -> tuple[pd.DataFrame, pd.Series]:
    """The labelled rows of a table as an estimator takes them."""
    columns = {}
    for column, values in zip(table.columns, table.values.T, strict=True):
        columns[column.name] = values if column.categories is None else of_codes(values, column.categories)
    y = table.labels
    if isinstance(table.target, Classes):
        y = np.array(table.target.names, dtype=object)[y]
    return pd.DataFrame(columns)[table.is_labelled], pd.Series(y)[table.is_labelled]


def compared(X: pd.DataFrame, y: pd.Series, kind: str, n_labels: int, seed: int) -> list[tuple[float, float, bool]]:
    """The score in points, the seconds and the use of pre-training, of each value of `PARAMETERS`."""
    is_classes = kind == Classes.name
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y if is_classes else None
    )
    strata = y.iloc[train] if is_classes else None
    shown, _ = train_test_split(train, train_size=n_labels, random_state=seed, stratify=strata)
    labels = y.where(np.isin(np.arange(len(y)), shown)).iloc[train]
    found = []
    for pretrain in PARAMETERS:
        model = (ScarfClassifier if is_classes else ScarfRegressor)(pretrain=pretrain, random_state=seed)
        start = time.process_time()
        model.fit(X.iloc[train], labels)
        seconds = time.process_time() - start
        is_pretrained = pretrain != "none" and ("helps" in str(model.choice_))
        found.append((100 * score(model, X.iloc[test], y.iloc[test]), seconds, is_pretrained))
    return found


def score(model: ScarfClassifier | ScarfRegressor, X: pd.DataFrame, y: pd.Series) -> float:
    """The AUROC, one class against the rest, or the rank correlation."""
    if isinstance(model, ScarfRegressor):
        return float(spearmanr(model.predict(X), y).statistic)
    probabilities = pd.DataFrame(model.predict_proba(X), columns=model.classes_)
    return float(
        np.mean([roc_auc_score(y == name, probabilities[name]) for name in probabilities if (y == name).any()])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--openml", type=Path, help="a folder of the OpenML client's cache")
    parser.add_argument("--kind", choices=("classes", "number"), default="classes")
    parser.add_argument("--labels", type=int, nargs="*", default=LABELS)
    parser.add_argument("--splits", type=int, default=2, help="of each table and number of labels (default 2)")
    asked = parser.parse_args()
    prepare_process(threads=1)
    warnings.simplefilter("ignore")
    rows = []
    for table in tables(asked.kind, asked.openml):
        X, y = frame_of(table)
        for n_labels in asked.labels:
            for seed in range(asked.splits):
                auto, none = compared(X, y, asked.kind, n_labels, seed)
                rows.append((table.name, n_labels, auto[0], none[0], auto[1], none[1], auto[2]))
        print(f"{table.name}: {len(rows)} splits", flush=True)
    found = pd.DataFrame(rows, columns=["table", "labels", "auto", "none", "auto_s", "none_s", "pretrained"])
    print("| labels | by default | without pre-training | difference | pre-trained | seconds | without |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for n_labels, of_budget in found.groupby("labels"):
        means = of_budget.groupby("table")[["auto", "none", "auto_s", "none_s"]].mean()
        d = means["auto"] - means["none"]
        cells = [
            f"{n_labels}", f"{means['auto'].mean():.1f}", f"{means['none'].mean():.1f}",
            f"{d.mean():+.1f} ± {d.sem():.1f}".replace("-", "−"),
            f"{of_budget['pretrained'].sum()} of {len(of_budget)}",
            f"{of_budget['auto_s'].median():.1f}", f"{of_budget['none_s'].median():.1f}",
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |")
    print(f"{found['table'].nunique()} tables, {asked.splits} splits of each")


if __name__ == "__main__":
    main()
