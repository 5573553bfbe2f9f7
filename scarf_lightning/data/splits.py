"""Train, validation and test rows of a trial: the paper's (section 4, "Datasets"), and others that data may need.

Validation and test rows always have a label. Rows without one are training rows wherever that parts no group and looks
into no future.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..limits import Limited
from .table import UNLABELLED, Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

VALIDATION_SHARE = 0.1
TEST_SHARE = 0.2

PARTS = ("train", "validation", "test")
"""What a column that says the split may hold, in the order of their numbers in ``Table.split_by``."""
TRAIN, VALIDATION, TEST = range(len(PARTS))


@dataclass(frozen=True)
class Split:
    """Row numbers of one trial, int64, no row twice; a random split without unlabelled rows has every row."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


@dataclass
class Splitting(Limited, ABC):
    """A rule that parts the rows of a table.

    ``is_ragged`` says whether the sizes of the parts differ from trial to trial, so that trials cannot be stacked.
    """

    name: ClassVar[str]
    is_ragged: ClassVar[bool] = False

    @abstractmethod
    def split(self, table: Table, random: np.random.Generator) -> Split:
        """The split of one trial.

        Raises:
            UsageError: the table cannot be split so.
        """

    def of_trial(self, table: Table, trial: int, random: np.random.Generator) -> Split:
        """The split of the trial of this number, where it says more than its stream of random numbers does."""
        return self.split(table, random)

    def check(self, table: Table, n_trials: int) -> None:
        """Refuse more trials than there are splits.

        Raises:
            UsageError: there are fewer.
        """


@dataclass
class Random(Splitting):
    """Every trial cuts a permutation of the labelled rows of its own; not stratified (the paper's)."""

    name: ClassVar[str] = "random"

    def split(self, table: Table, random: np.random.Generator) -> Split:
        labelled, unlabelled = _by_label(table)
        return _of_rows(labelled, split_rows(len(labelled), random), unlabelled)


@dataclass
class Stratified(Splitting):
    """As random, in each class by itself, so that every part has a class in its share. Classes with fewer rows than
    validation and test need send them to training first."""

    name: ClassVar[str] = "stratified"

    def split(self, table: Table, random: np.random.Generator) -> Split:
        _, unlabelled = _by_label(table)
        splits = []
        for label in range(table.n_classes):
            rows = np.flatnonzero(table.labels == label)
            splits.append(_of_rows(rows, split_rows(len(rows), random), np.empty(0, dtype=np.int64)))
        parts = [np.concatenate([getattr(split, part) for split in splits]) for part in PARTS]
        whole = Split(np.concatenate([parts[0], unlabelled]), parts[1], parts[2])
        return _finished(whole, table, random, "split=stratified needs more rows of each class")


@dataclass
class Group(Splitting):
    """Rows with the same value in a column stay together: every trial cuts a permutation of the groups of its own, as
    close to 70/10/20 of the labelled rows as groups allow. Rows without a value are groups of their own. Unlabelled
    rows of validation and test groups are not used."""

    name: ClassVar[str] = "group"
    is_ragged: ClassVar[bool] = True
    column: str | None = None

    def split(self, table: Table, random: np.random.Generator) -> Split:
        values = _split_by(table)
        alone = np.isnan(values)
        group = np.unique(np.where(alone, 0, values), return_inverse=True)[1]
        group[alone] = group.max() + 1 + np.arange(alone.sum())
        order = random.permutation(group.max() + 1)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        is_labelled = table.labels != UNLABELLED
        so_far = np.cumsum(np.bincount(place[group[is_labelled]], minlength=len(order)))
        first = _closest(so_far, (1 - VALIDATION_SHARE - TEST_SHARE) * so_far[-1])
        second = max(first + 1, _closest(so_far, (1 - TEST_SHARE) * so_far[-1]))
        part = np.digitize(place[group], [first + 1, second + 1])
        split = _of_parts(part, table)
        return _finished(split, table, random, f"split=group needs more, or smaller, groups in {self.column!r}")


@dataclass
class Time(Splitting):
    """The first 70 % of the labelled rows by a column train, the next 10 % validate, the last 20 % test, in every
    trial. Unlabelled rows later than the last training row are not used; those without a time are."""

    name: ClassVar[str] = "time"
    column: str | None = None

    def split(self, table: Table, random: np.random.Generator) -> Split:
        times = _split_by(table)
        labelled, unlabelled = _by_label(table)
        if np.isnan(times[labelled]).any():
            raise UsageError(
                f"column {self.column!r}, which split=time sorts by, is missing in labelled rows; fill it."
            )
        ordered = labelled[np.argsort(times[labelled], kind="stable")]
        n_validation, n_test = round(VALIDATION_SHARE * len(ordered)), round(TEST_SHARE * len(ordered))
        n_train = len(ordered) - n_validation - n_test
        train, validation, test = np.split(ordered, [n_train, n_train + n_validation])
        known = unlabelled[~(times[unlabelled] > times[train[-1]])]
        split = Split(np.concatenate([train, known]), validation, test)
        return _finished(split, table, random, "split=time needs more rows with a label")


@dataclass
class Given(Splitting):
    """The data say of each row whether it is for train, validation or test, in every trial; rows without a label train
    unless they say otherwise, and then they are not used."""

    def split(self, table: Table, random: np.random.Generator) -> Split:
        part = np.nan_to_num(_split_by(table), nan=0.0).astype(np.int64)
        return _finished(_of_parts(part, table), table, random, f"split={self.name} needs some there")


@dataclass
class Column(Given):
    """A column says it."""

    name: ClassVar[str] = "column"
    column: str | None = None


@dataclass
class Files(Given):
    """Validation and test rows are those of two files of one's own, training rows those of ``dataset.path``."""

    name: ClassVar[str] = "files"
    validation: str | None = None
    test: str | None = None


@dataclass
class Task(Splitting):
    """The splits of an OpenML task, one a trial, fold after fold and repetition after repetition: its test rows are
    tested on, and of its training rows as many validate as are a tenth of both, drawn anew in every trial."""

    name: ClassVar[str] = "task"
    is_ragged: ClassVar[bool] = True

    def split(self, table: Table, random: np.random.Generator) -> Split:
        return self.of_trial(table, 0, random)

    def of_trial(self, table: Table, trial: int, random: np.random.Generator) -> Split:
        self.check(table, trial + 1)
        part = _split_by(table)[:, trial].copy()
        labelled = np.flatnonzero((part == TRAIN) & (table.labels != UNLABELLED))
        n_validation = round(VALIDATION_SHARE * (~np.isnan(part)).sum())
        part[random.permutation(labelled)[:n_validation]] = VALIDATION
        return _finished(_of_parts(part, table), table, random, "an OpenML task needs some there")

    def check(self, table: Table, n_trials: int) -> None:
        n_splits = _split_by(table).shape[1]
        if n_trials > n_splits:
            raise UsageError(f"{table.source} has {n_splits} splits, a trial each; ask for trials={n_splits} at most.")


def split_rows(n_rows: int, random: np.random.Generator) -> Split:
    """Cut a random permutation of the rows into 70 % train, 10 % validation and 20 % test; not stratified."""
    permutation = random.permutation(n_rows)
    n_validation, n_test = round(VALIDATION_SHARE * n_rows), round(TEST_SHARE * n_rows)
    n_train = n_rows - n_validation - n_test
    return Split(*np.split(permutation, [n_train, n_train + n_validation]))


def _by_label(table: Table) -> tuple[Ints, Ints]:
    """Row numbers with and without a label."""
    is_labelled = table.labels != UNLABELLED
    return np.flatnonzero(is_labelled), np.flatnonzero(~is_labelled)


def _of_rows(rows: Ints, split: Split, unlabelled: Ints) -> Split:
    """A split of positions in ``rows`` as one of rows, of which those without a label train."""
    return Split(np.concatenate([rows[split.train], unlabelled]), rows[split.validation], rows[split.test])


def _of_parts(part: Ints | Floats, table: Table) -> Split:
    """Rows by the number of their part, without the unlabelled ones of validation and test."""
    is_labelled = table.labels != UNLABELLED
    rows = (np.flatnonzero((part == number) & (is_labelled | (number == 0))) for number in range(len(PARTS)))
    return Split(*rows)


def _closest(so_far: Ints, wanted: float) -> int:
    return int(np.abs(so_far - wanted).argmin())


def _split_by(table: Table) -> Floats:
    if table.split_by is None:
        raise ValueError("the table was loaded without the column that it is split by")
    return table.split_by


def _finished(split: Split, table: Table, random: np.random.Generator, needed: str) -> Split:
    """A split with a labelled row in every part, each in random order: batches must not go by class, group or time."""
    for part in PARTS:
        if (table.labels[getattr(split, part)] == UNLABELLED).all():
            raise UsageError(f"{table.source} leaves no row with a label for {part}; {needed}.")
    return Split(*(random.permutation(getattr(split, part)) for part in PARTS))
