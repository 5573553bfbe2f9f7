"""Trainings of a classifier by the number of labels, from study/many_labels.csv: `python -m study.many_labels`.

    python -m study.many_labels openml=CACHE [splits=0,1,2,3,4] [file=FILE]

measures them, as study/many_labels.md says, into a file that has a row for each table, budget, split and candidate.
What the file has already is left out.
"""

import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scarf_lightning import ScarfClassifier
from scarf_lightning.cli.commands import answered
from scarf_lightning.data.sources.openml import OpenMLSource
from scarf_lightning.data.targets import Classes
from scarf_lightning.engine.hardware import prepare_process
from scarf_lightning.errors import UsageError, counted
from scarf_lightning.metrics import accuracy, calibration_error, log_loss
from scarf_lightning.reporting.blocks import table as block
from scarf_lightning.reporting.blocks import to_markdown
from study.second_recipe import mean_and_error

FILE = Path(__file__).with_name("many_labels.csv")
TABLES = {
    "balance-scale": 11, "mfeat-fourier": 14, "credit-approval": 29, "eucalyptus": 188, "MiceProtein": 40966,
    "tic-tac-toe": 50, "pc1": 1068, "segment": 40984, "car": 40975, "semeion": 1501,
}  # fmt: skip
"""Their numbers at OpenML."""
WITH_MANY = ("car", "semeion")
"""Tables that take part from 1,000 labels on."""
SEVERAL = ("balance-scale", "mfeat-fourier", "eucalyptus", "MiceProtein", "segment")
"""Those that take part with few labels and have more than two classes."""
MANY = 1000
BUDGETS = (400, MANY, 200, 700)
"""In the order in which they are measured; the last rows of a table for `MANY`."""
SHARE = 0.8
"""Rows of a table that train where all do."""
FEWEST_TEST_ROWS = 100
TODAY = "today"
PRACTICAL = "practical"
TRAINED_TODAY = {"recipe": "practical", "pretrain": "auto", "n_trials": 3}
HELPS = "Pre-training helps"
"""The beginning of the choice of a fit that uses pre-training."""
N_NETWORKS = 3
OF_MANY = "realmlp_s 256"
"""The recipe of RealMLP-TD-S as it is, with which the others are compared where labels are many."""
MEASURES = {
    "accuracy": ("accuracy", 100, 1),
    "log_loss": ("log-loss", 1, 3),
    "calibration": ("calibration error", 1, 3),
}
"""By the heading of a measure, its factor and its digits."""
CAPTION = (
    "The row without signs has accuracy in percent, log-loss and calibration error; the others have their differences "
    "to it on the same splits, with standard errors over tables. Seconds are those of one fit on the processor."
)
KEY = ["dataset", "labels", "split", "candidate"]


class Candidate(NamedTuple):
    """A training without pre-training, the smallest budget that it is tried with, and the first that is too large."""

    parameters: Mapping[str, Any]
    fewest: int = 0
    too_many: int = MANY + 1


def practical(steps: int) -> Candidate:
    """The practical recipe with so many steps, which the number of steps ends below 1,000 labels alone."""
    return Candidate({"recipe": "practical", "options": {"finetune.fixed_steps": steps}}, too_many=MANY)


def realmlp(epochs: int, fewest: int = 0) -> Candidate:
    """RealMLP-TD-S with so many epochs."""
    return Candidate({"recipe": "realmlp_s", "options": {"finetune.max_epochs": epochs}}, fewest)


CANDIDATES = {
    PRACTICAL: Candidate({"recipe": "practical"}),
    "realmlp_s 256": realmlp(256),
    "realmlp_s 128": realmlp(128, 400),
    "realmlp_s 64": realmlp(64, 700),
    "practical 150": practical(150),
    "practical 100": practical(100),
}
"""By the recipe and the number of epochs or steps."""


class Rows(NamedTuple):
    """Rows that train and rows that test."""

    X: pd.DataFrame
    y: NDArray[np.object_]
    train: NDArray[np.int64]
    test: NDArray[np.int64]


def main(arguments: Sequence[str]) -> None:
    """Measure, or print the tables.

    Raises:
        UsageError: an argument is unknown.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    if set(given) - {"openml", "splits", "file"}:
        raise UsageError("Name the cache of OpenML, openml=FOLDER, and splits=0,1 or file=FILE; or give no argument.")
    file = Path(given.get("file", FILE))
    if "openml" in given:
        splits = [int(each) for each in given.get("splits", "0,1,2,3,4").split(",")]
        measure(Path(given["openml"]), splits, file)
    found = pd.read_csv(file)
    sys.stdout.write(tables(found) + several_classes(found))


def measure(cache: Path, splits: Sequence[int], file: Path) -> None:
    """Add what is missing to a file, split by split, so that it has whole tables of fewer splits at any time."""
    prepare_process(threads=1)
    warnings.simplefilter("ignore")
    read = {name: table(name, cache) for name in TABLES}
    done: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    if file.exists():
        for *of_row, candidate in pd.read_csv(file)[KEY].itertuples(index=False):
            done[tuple(of_row)].add(candidate)
    for split in splits:
        for labels in BUDGETS:
            for name, (X, y) in read.items():
                rows = rows_of(X, y, labels, split, is_small=name not in WITH_MANY)
                if rows is None:
                    continue
                where = {"dataset": name, "labels": labels, "split": split}
                finished = done[name, labels, split]
                found = pd.DataFrame([where | each for each in fits(rows, labels, split, finished)])
                # What is done has no rows, whose columns are not known.
                if len(found):
                    found.to_csv(file, mode="a", header=not file.exists(), index=False, float_format="%.6g")


def table(name: str, cache: Path) -> tuple[pd.DataFrame, NDArray[np.object_]]:
    """Features, with categories as such, and labels."""
    read = OpenMLSource(TABLES[name], cache, dataset_name=name).load()
    assert isinstance(read.target, Classes)
    columns: dict[str, Any] = {}
    for column, values in zip(read.columns, read.values.T, strict=True):
        columns[column.name] = values
        if column.categories is not None:
            codes = np.nan_to_num(values, nan=-1).astype(int)
            columns[column.name] = pd.Categorical.from_codes(codes.tolist(), pd.Index(column.categories))
    return pd.DataFrame(columns), np.array(read.target.names, dtype=object)[read.labels]


def rows_of(X: pd.DataFrame, y: NDArray[np.object_], labels: int, split: int, *, is_small: bool) -> Rows | None:
    """The rows of a split; None if the table takes no part in a budget."""
    from sklearn.model_selection import StratifiedShuffleSplit

    n_train = round(SHARE * len(y)) if labels == MANY else labels
    takes_part = n_train >= MANY if labels == MANY else is_small
    if not takes_part or len(y) - n_train < FEWEST_TEST_ROWS:
        return None
    cut = StratifiedShuffleSplit(1, train_size=n_train, test_size=len(y) - n_train, random_state=split)
    train, test = next(cut.split(X, y))
    return Rows(X, y, train, test)


def fits(rows: Rows, labels: int, split: int, done: Set[str]) -> Iterator[dict[str, Any]]:
    """The measures of each candidate that is not done."""
    scratch = None
    if labels < MANY and TODAY not in done:
        today, seconds = fitted(rows, TRAINED_TODAY)
        yield {"candidate": TODAY, "networks": N_NETWORKS} | of_networks(today, rows, N_NETWORKS, seconds)
        # Where pre-training is not used, these are the networks of the practical recipe without it, bit for bit.
        if not str(today.choice_).startswith(HELPS):
            scratch = today
    for name, candidate in CANDIDATES.items():
        if name in done or not candidate.fewest <= labels < candidate.too_many:
            continue
        parameters = {"pretrain": "none", **candidate.parameters}
        three = one = np.nan
        if name == PRACTICAL and scratch is not None and split > 0:
            model = scratch
        else:
            model, three = fitted(rows, parameters | {"n_trials": N_NETWORKS})
        if split == 0:
            _, one = fitted(rows, parameters | {"n_trials": 1})
        for n, took in ((1, one), (N_NETWORKS, three)):
            yield {"candidate": name, "networks": n} | of_networks(model, rows, n, took)


def fitted(rows: Rows, parameters: Mapping[str, Any]) -> tuple[ScarfClassifier, float]:
    """A classifier, and the processor seconds of its `fit`."""
    model = ScarfClassifier(device="cpu", **parameters)
    started = time.process_time()
    model.fit(rows.X.iloc[rows.train], rows.y[rows.train])
    return model, time.process_time() - started


def of_networks(model: ScarfClassifier, rows: Rows, n: int, seconds: float) -> dict[str, float]:
    """The measures of the vote of the first n networks on the test rows, and the seconds of its `fit`."""
    networks, tested = model.model_, rows.X.iloc[rows.test]
    probabilities = np.mean([networks.only(trial).predict_proba(tested) for trial in networks.trials[:n]], axis=0)
    return measured(probabilities, model.classes_.tolist(), rows.y[rows.test]) | {"seconds": seconds}


def measured(
    probabilities: NDArray[np.float64], classes: Sequence[Any], labels: NDArray[np.object_]
) -> dict[str, float]:
    """Accuracy, log-loss and calibration error of probabilities ``(n, C)`` of classes.

    >>> measured(np.array([[0.9, 0.1], [0.6, 0.4]]), ["a", "b"], np.array(["a", "b"], dtype=object))["accuracy"]
    0.5
    """
    places = {name: place for place, name in enumerate(classes)}
    truth = np.array([places[label] for label in labels])
    return {
        "accuracy": accuracy(probabilities, truth),
        "log_loss": log_loss(probabilities, truth),
        "calibration": calibration_error(probabilities, truth),
    }


def tables(found: pd.DataFrame) -> str:
    """A table for each budget: differences to the training that the others are compared with, on the same splits.

    Args:
        found: a row for each table, budget, split, candidate and number of networks.
    """
    named = found["candidate"] + ", " + found["networks"].astype(str)
    parts = []
    for labels in sorted(found["labels"].unique()):
        of_budget = found.assign(training=named)[found["labels"] == labels]
        base = f"{PRACTICAL if labels < MANY else OF_MANY}, {N_NETWORKS}"
        rows = [compared(of_budget, training, base) for training in of_budget["training"].unique()]
        shown = pd.DataFrame(rows).sort_values("seconds")
        said = f"{labels} labels" if labels < MANY else "1,000 labels and more"
        caption = f"{said}, {counted(of_budget['dataset'].nunique(), 'table')}. {CAPTION}"
        parts.append(to_markdown(block("labels", caption, shown, {"fits": ".0f", "seconds": ".1f"})))
    return "\n".join(parts)


def several_classes(found: pd.DataFrame) -> str:
    """The same tables of three networks each below `MANY` labels, on tables of more than two classes alone."""
    is_asked = found["dataset"].isin(SEVERAL) & (found["labels"] < MANY) & (found["networks"] == N_NETWORKS)
    return f"\nMore than two classes:\n\n{tables(found[is_asked])}"


def compared(found: pd.DataFrame, training: str, base: str) -> dict[str, Any]:
    """A row of a table: what the base has, or by how much another training differs from it.

    Args:
        found: of one budget, with names of trainings.
    """
    where = ["dataset", "split"]
    own, theirs = (found[found["training"] == name].set_index(where) for name in (training, base))
    both = own.index.intersection(theirs.index)
    row: dict[str, Any] = {"training, networks": training, "fits": len(both)}
    for measure, (heading, factor, digits) in MEASURES.items():
        row[heading] = f"{factor * _over_tables(own, measure).mean():.{digits}f}"
        if training != base:
            differences = factor * (own.loc[both, [measure]] - theirs.loc[both, [measure]])
            row[heading] = mean_and_error(_over_tables(differences, measure), digits)
    return row | {"seconds": _over_tables(own, "seconds").mean()}


def _over_tables(values: pd.DataFrame, measure: str) -> "pd.Series[float]":
    """The mean of each table: each counts once, whatever the number of its splits."""
    return values.groupby("dataset")[measure].mean()


if __name__ == "__main__":
    sys.exit(answered(main))
