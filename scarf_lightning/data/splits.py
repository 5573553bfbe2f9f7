"""Train, validation and test rows of a trial: the paper's split (section 4, "Datasets"), and others that data may need.

Validation and test rows always have a label. Rows without one are used for training, unless that separates a group or
looks into the future.

Rows that are equal in every column are copies. With ``copies=together`` a random split keeps copies in one part: else a
model is tested on rows that it has seen in training. The rule is of rows with a label. A row without one trains,
wherever its copies are, because it tells no answer.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ..errors import UsageError
from ..options.option import Options, option
from .columns import Floats, Ints
from .copies import PARTS, TEST, TEST_SHARE, TRAIN, VALIDATION, VALIDATION_SHARE, Copies, first_positions, part_sizes

if TYPE_CHECKING:
    from .table import Table


@dataclass(frozen=True)
class Split:
    """Row numbers of one trial, int64, each row at most once."""

    train: Ints
    validation: Ints
    test: Ints


@dataclass
class Splitting(Options, ABC):
    """A rule that splits the rows of a table."""

    name: ClassVar[str]

    @abstractmethod
    def split(self, table: "Table", random: np.random.Generator) -> Split:
        """The split of one trial.

        Raises:
            UsageError: the table cannot be split in this way.
        """

    def of_trial(self, table: "Table", trial: int, random: np.random.Generator) -> Split:
        """The split of a trial, for rules that depend on its number and not only on its random stream."""
        return self.split(table, random)

    def without_test(self, split: Split) -> Split:
        """The split for a model that is not tested: test rows train too, and validation rows are scored."""
        train = np.concatenate([split.train, split.test])
        return Split(train, split.validation, split.validation)

    def check(self, table: "Table", n_trials: int) -> None:
        """Raise `UsageError` for more trials than there are splits."""

    def is_ragged(self, table: "Table") -> bool:
        """True if the sizes of the parts may differ between trials, so that trials cannot be stacked."""
        return False


@dataclass
class Shuffled(Splitting):
    """A rule that draws rows at random, and can keep copies in one part.

    Copies of several strata, such as copies of several classes, belong to the stratum of the first of them.
    """

    copies: Literal["together", "apart"] = option(
        "together", "rows that are equal in every column: together in one part, or apart (the paper)"
    )

    @abstractmethod
    def strata(self, table: "Table") -> Ints:
        """For each row the stratum that is cut by itself, numbered from 0; -1 without a label."""

    def is_ragged(self, table: "Table") -> bool:
        if self.copies == "apart" or not table.n_copies:
            return False
        # Copies may be so many that no choice of them fills a part exactly.
        return any(not Copies.of(table.alike[rows]).is_exact for rows in self._strata(table))

    def _cut(self, table: "Table", random: np.random.Generator) -> Split:
        """Each stratum by itself, and rows without a label in training."""
        splits = []
        for rows in self._strata(table):
            splits.append(cut_rows(rows, random, table.alike[rows] if self.copies == "together" else None))
        no_rows = np.empty(0, dtype=np.int64)
        splits.append(Split(np.flatnonzero(~table.is_labelled), no_rows, no_rows))
        return Split(*(np.concatenate([getattr(split, part) for split in splits]) for part in PARTS))

    def _strata(self, table: "Table") -> list[Ints]:
        """The rows of each stratum, with all their copies."""
        stratum = self.strata(table).copy()
        labelled = np.flatnonzero(table.is_labelled)
        if self.copies == "together":
            # Copies of several strata belong to that of the first of them.
            first = labelled[first_positions(table.alike[labelled])]
            stratum[labelled] = stratum[first]
        return [np.flatnonzero(stratum == number) for number in range(stratum.max() + 1)]


@dataclass
class Random(Shuffled):
    """Every trial cuts its own permutation of the labelled rows; not stratified (the paper's split)."""

    name: ClassVar[str] = "random"

    def strata(self, table: "Table") -> Ints:
        return np.where(table.is_labelled, 0, -1)

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        split = self._cut(table, random)
        _check_parts(split, table, "split.copies=apart puts rows that are equal in any part")
        return split


@dataclass
class Stratified(Shuffled):
    """As random, but each class by itself, or each tenth of the values of a number, so that every part has each in its
    proportion. Rows of a class too small for all parts go to training first."""

    name: ClassVar[str] = "stratified"

    def strata(self, table: "Table") -> Ints:
        return table.strata

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        split = self._cut(table, random)
        return _finished(split, table, random, "split=stratified needs more rows of each class")


@dataclass
class Group(Splitting):
    """Rows with the same value in a column stay together: every trial cuts its own permutation of the groups, as close
    to 70/10/20 of the labelled rows as the groups allow. A row without a value is a group by itself. Unlabelled rows of
    validation and test groups are not used."""

    name: ClassVar[str] = "group"
    column: str | None = option(None, "rows with the same value here stay together")

    def is_ragged(self, table: "Table") -> bool:
        return True

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        group = self._groups(table)
        n_groups = group.max() + 1
        # The place of each group in a random order. Groups and not rows are permuted, so that each stays whole.
        place = np.argsort(random.permutation(n_groups))
        # The number of labelled rows in the groups up to each place.
        n_labelled = np.bincount(place[group[table.is_labelled]], minlength=n_groups)
        so_far = np.cumsum(n_labelled)
        n_rows = so_far[-1]
        last_of_training = _closest(so_far, (1 - VALIDATION_SHARE - TEST_SHARE) * n_rows)
        last_of_validation = _closest(so_far, (1 - TEST_SHARE) * n_rows)
        # A large group may be the closest to both; validation gets one all the same.
        last_of_validation = max(last_of_training + 1, last_of_validation)
        part = np.digitize(place[group], [last_of_training + 1, last_of_validation + 1])
        split = _split_by_parts(part, table)
        needed = f"split=group needs more, or smaller, groups in {self.column!r}"
        return _finished(split, table, random, needed)

    def _groups(self, table: "Table") -> Ints:
        """The number of each row's group, from 0, ``(n,)``."""
        values = _split_by(table)
        is_alone = np.isnan(values)
        _, group = np.unique(np.where(is_alone, 0, values), return_inverse=True)
        # A row without a value is a group by itself, numbered behind the others.
        group[is_alone] = group.max() + 1 + np.arange(is_alone.sum())
        return np.asarray(group)


@dataclass
class Time(Splitting):
    """In every trial the first 70 % of the labelled rows by a column are for training, the next 10 % for validation and
    the last 20 % for testing. Rows of one time stay in one part. Unlabelled rows later than the last training row are
    not used; those without a time are."""

    name: ClassVar[str] = "time"
    column: str | None = option(None, "dates or numbers: the last rows by it are for validation and testing")

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        times = _split_by(table)
        labelled = np.flatnonzero(table.is_labelled)
        unlabelled = np.flatnonzero(~table.is_labelled)
        if np.isnan(times[labelled]).any():
            raise UsageError(
                f"column {self.column!r}, which split=time sorts by, is missing in labelled rows; fill it, or leave "
                "them out."
            )
        ordered = labelled[np.argsort(times[labelled], kind="stable")]
        n_validation, n_test = part_sizes(len(ordered))
        n_train = len(ordered) - n_validation - n_test
        # A cut must be at the end of the rows of one time.
        changes = np.flatnonzero(np.diff(times[ordered]))
        ends = np.append(changes + 1, len(ordered))
        if len(ends) < len(PARTS):
            raise UsageError(
                f"column {self.column!r}, which split=time sorts by, has {len(ends)} distinct times in labelled rows; "
                "training, validation and testing need one each."
            )
        # Two more ends must be left for validation and testing.
        first = ends[_closest(ends[:-2], n_train)]
        later = ends[ends > first][:-1]
        second = later[_closest(later, n_train + n_validation)]
        train, validation, test = np.split(ordered, [first, second])
        # Comparing NaN is false, so rows without a time train.
        is_later = times[unlabelled] > times[train].max(initial=-np.inf)
        known = unlabelled[~is_later]
        split = Split(np.concatenate([train, known]), validation, test)
        shuffled = _finished(split, table, random, "split=time needs more rows with a label")
        # Test rows stay in the order of time, in which the report takes blocks of them.
        return replace(shuffled, test=test)

    def without_test(self, split: Split) -> Split:
        # The latest rows score the model, not the earlier validation rows.
        train = np.concatenate([split.train, split.validation])
        return Split(train, split.test, split.test)


@dataclass
class Given(Splitting):
    """The data say of each row whether it is for training, validation or testing, in every trial. Rows without a label
    are for training, or are not used if the data assign them to another part."""

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        # A row of which the data say nothing trains.
        return self._of_parts(np.nan_to_num(_split_by(table), nan=TRAIN), table, random)

    def _of_parts(self, part: Floats, table: "Table", random: np.random.Generator) -> Split:
        return _finished(_split_by_parts(part, table), table, random, f"split={self.name} needs some there")

    def without_test(self, split: Split) -> Split:
        return Split(split.train, split.validation, split.validation)


@dataclass
class Column(Given):
    """A column says train, validation or test."""

    name: ClassVar[str] = "column"
    column: str | None = option(None, "says train, validation or test")


@dataclass
class Files(Given):
    """Validation and test rows are in files of their own, training rows in ``dataset.path``. Without a file of
    validation rows, a tenth of the labelled rows of ``dataset.path`` validates, another tenth in every trial."""

    name: ClassVar[str] = "files"
    validation: str | None = option(None, "file of the validation rows; null: a tenth of the training rows")
    test: str | None = option(None, "file of the test rows")

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        if self.validation or (_split_by(table) == VALIDATION).any():
            return super().split(table, random)
        part = _split_by(table).copy()
        # A row without a label cannot validate.
        labelled = np.flatnonzero((part == TRAIN) & table.is_labelled)
        n_validation = max(1, round(VALIDATION_SHARE * len(labelled)))
        part[random.permutation(labelled)[:n_validation]] = VALIDATION
        return self._of_parts(part, table, random)


@dataclass
class Task(Splitting):
    """The splits of an OpenML task, one for each trial, fold after fold and repetition after repetition. Its test rows
    are used for testing. A tenth of all its rows, drawn from its training rows in every trial, is for validation."""

    name: ClassVar[str] = "task"

    def is_ragged(self, table: "Table") -> bool:
        return True

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        return self.of_trial(table, 0, random)

    def of_trial(self, table: "Table", trial: int, random: np.random.Generator) -> Split:
        self.check(table, trial + 1)
        part = _split_by(table)[:, trial].copy()
        labelled = np.flatnonzero((part == TRAIN) & table.is_labelled)
        # A repetition may leave rows out.
        n_used = (~np.isnan(part)).sum()
        n_validation = round(VALIDATION_SHARE * n_used)
        part[random.permutation(labelled)[:n_validation]] = VALIDATION
        return _finished(_split_by_parts(part, table), table, random, "an OpenML task needs some there")

    def check(self, table: "Table", n_trials: int) -> None:
        n_splits = _split_by(table).shape[1]
        if n_trials > n_splits:
            raise UsageError(
                f"{table.source} has {n_splits} splits, one for each trial; ask for trials={n_splits} at most."
            )


def cut_rows(rows: Ints, random: np.random.Generator, alike: Ints | None = None) -> Split:
    """Cut a random permutation of the rows into 70 % train, 10 % validation and 20 % test; not stratified.

    Args:
        rows: row numbers, int64 ``(n,)``.
        alike: rows of one number ``(n,)`` stay in one part; None cuts each row by itself.
    """
    order = random.permutation(len(rows))
    if alike is not None:
        part = Copies.of(alike).parts(order)[order]
        return Split(
            train=rows[order[part == TRAIN]], validation=rows[order[part == VALIDATION]], test=rows[order[part == TEST]]
        )
    n_validation, n_test = part_sizes(len(rows))
    n_train = len(rows) - n_validation - n_test
    train, validation, test = np.split(rows[order], [n_train, n_train + n_validation])
    return Split(train, validation, test)


def _split_by_parts(part: Ints | Floats, table: "Table") -> Split:
    """Rows by the number of their part, without unlabelled rows in validation and test."""
    return Split(
        train=np.flatnonzero(part == TRAIN),
        validation=np.flatnonzero((part == VALIDATION) & table.is_labelled),
        test=np.flatnonzero((part == TEST) & table.is_labelled),
    )


def _closest(so_far: Ints, wanted: float) -> int:
    """The position of the number that is closest to another one."""
    return int(np.abs(so_far - wanted).argmin())


def _split_by(table: "Table") -> Floats:
    """The values that the table is split by, see `scarf_lightning.data.reading.roles.split_values`."""
    if table.split_by is None:
        raise ValueError("the table was loaded without the column that it is split by")
    return table.split_by


def _finished(split: Split, table: "Table", random: np.random.Generator, needed: str) -> Split:
    """The split with every part in random order, so that batches do not follow class, group or time."""
    _check_parts(split, table, needed)
    # The order of these draws is part of a cell's random stream.
    return Split(*(random.permutation(getattr(split, part)) for part in PARTS))


def _check_parts(split: Split, table: "Table", needed: str) -> None:
    """Refuse a split of which a part has no label; ``needed`` says what would help."""
    for part in PARTS:
        if not table.is_labelled[getattr(split, part)].any():
            raise UsageError(f"{table.source} leaves no row with a label for {part}; {needed}.")
