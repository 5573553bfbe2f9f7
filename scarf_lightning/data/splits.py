"""Train, validation and test rows of a trial: the paper's split (section 4, "Datasets"), and others that data may need.

Validation and test rows always have a label. Rows without one are used for training, unless that separates a group or
looks into the future.

Rows that are equal in every column are copies. With ``copies=together`` a random split keeps copies in one part: else a
model is tested on rows that it has seen in training. The rule is of rows with a label. A row without one trains,
wherever its copies are, because it tells no answer.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ..errors import UsageError
from ..options.option import Options, option
from .columns import Floats, Ints
from .copies import PARTS, TEST_SHARE, TRAIN, VALIDATION, VALIDATION_SHARE, Copies, first_positions, part_sizes

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
        """The split of one trial, by its random stream.

        Raises:
            UsageError: the table cannot be split in this way.
        """

    def without_test(self, split: Split) -> Split:
        """The split for a model that is not tested: test rows train too, and validation rows are scored."""
        train = np.concatenate([split.train, split.test])
        return Split(train, split.validation, split.validation)

    def is_ragged(self, table: "Table") -> bool:
        """True if the sizes of the parts may differ between trials, so that trials cannot be stacked."""
        return False

    def _of_parts(self, part: Ints | Floats, table: "Table", random: np.random.Generator) -> Split:
        """Rows by the number of their part, without unlabelled rows in validation and test."""
        is_used = table.is_labelled | (part == TRAIN)
        split = Split(*(np.flatnonzero(is_used & (part == number)) for number in range(len(PARTS))))
        return self._shuffled(split, table, random)

    def _shuffled(self, split: Split, table: "Table", random: np.random.Generator) -> Split:
        """The split with every part in random order, so that batches do not follow class or group."""
        split = self._checked(split, table)
        # The order of these draws is part of a cell's random stream.
        return Split(*(random.permutation(getattr(split, part)) for part in PARTS))

    def _checked(self, split: Split, table: "Table") -> Split:
        """Refuse a split of which a part has no label."""
        for part in PARTS:
            if not table.is_labelled[getattr(split, part)].any():
                raise UsageError(
                    f"split={self.name} of {table.source} leaves no row with a label for {part}; give it more rows, "
                    "or smaller groups of rows that stay together."
                )
        return split


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
        # Copies may be so many that no choice of them fills a part exactly.
        return any(not Copies.of(alike).is_exact for _, alike in self._strata(table))

    def _cut(self, table: "Table", random: np.random.Generator) -> Split:
        """Each stratum by itself, and rows without a label in training."""
        splits = [cut_rows(rows, random, alike) for rows, alike in self._strata(table)]
        train, validation, test = (np.concatenate([getattr(split, part) for split in splits]) for part in PARTS)
        return Split(np.append(train, np.flatnonzero(~table.is_labelled)), validation, test)

    def _strata(self, table: "Table") -> list[tuple[Ints, Ints]]:
        """The rows of each stratum, and for each of them the first row that it stays together with."""
        alike = table.alike if self.copies == "together" else np.arange(table.n_rows)
        labelled = np.flatnonzero(table.is_labelled)
        # Copies of several strata belong to that of the first of them.
        first = labelled[first_positions(alike[labelled])]
        stratum = self.strata(table).copy()
        stratum[labelled] = stratum[first]
        strata = [np.flatnonzero(stratum == number) for number in range(stratum.max() + 1)]
        return [(rows, alike[rows]) for rows in strata]


@dataclass
class Random(Shuffled):
    """Every trial cuts its own permutation of the labelled rows; not stratified (the paper's split)."""

    name: ClassVar[str] = "random"

    def strata(self, table: "Table") -> Ints:
        return np.where(table.is_labelled, 0, -1)

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        return self._checked(self._cut(table, random), table)


@dataclass
class Stratified(Shuffled):
    """As random, but each class by itself, or each tenth of the values of a number, so that every part has each in its
    proportion. Rows of a class too small for all parts go to training first."""

    name: ClassVar[str] = "stratified"

    def strata(self, table: "Table") -> Ints:
        return table.target.strata(table.labels)

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        return self._shuffled(self._cut(table, random), table, random)


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
        values = _split_by(table)
        # A row without a value is a group by itself, numbered behind the others.
        behind = np.nanmax(values, initial=0) + 1 + np.arange(table.n_rows)
        distinct, group = np.unique(np.where(np.isnan(values), behind, values), return_inverse=True)
        n_groups = len(distinct)
        # The place of each group in a random order. Groups and not rows are permuted, so that each stays whole.
        place = np.argsort(random.permutation(n_groups))
        # The number of labelled rows in the groups up to each place.
        so_far = np.cumsum(np.bincount(place[group[table.is_labelled]], minlength=n_groups))
        last_of_training = _closest(so_far, (1 - VALIDATION_SHARE - TEST_SHARE) * so_far[-1])
        last_of_validation = _closest(so_far, (1 - TEST_SHARE) * so_far[-1])
        # A large group may be the closest to both; validation gets one all the same.
        last_of_validation = max(last_of_training + 1, last_of_validation)
        part = np.digitize(place[group], [last_of_training + 1, last_of_validation + 1])
        return self._of_parts(part, table, random)


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
        if np.isnan(times[labelled]).any():
            raise UsageError(
                f"column {self.column!r}, which split=time sorts by, is missing in labelled rows; fill it, or leave "
                "them out."
            )
        ordered = labelled[np.argsort(times[labelled], kind="stable")]
        # A cut must be at the end of the rows of one time.
        changes = np.flatnonzero(np.diff(times[ordered]))
        ends = np.append(changes + 1, len(ordered))
        if len(ends) < len(PARTS):
            raise UsageError(
                f"column {self.column!r}, which split=time sorts by, has {len(ends)} distinct times in labelled rows; "
                "training, validation and testing need one each."
            )
        n_validation, n_test = part_sizes(len(ordered))
        n_known = len(ordered) - n_test
        # Two more ends must be left for validation and testing.
        first = ends[_closest(ends[:-2], n_known - n_validation)]
        later = ends[ends > first][:-1]
        second = later[_closest(later, n_known)]
        train, validation, test = np.split(ordered, [first, second])
        # Comparing NaN is false, so rows without a time train.
        is_later = times > times[train[-1]]
        train = np.append(train, np.flatnonzero(~table.is_labelled & ~is_later))
        # Test rows stay in the order of time, in which the report takes blocks of them.
        return Split(random.permutation(train), random.permutation(validation), test)

    def without_test(self, split: Split) -> Split:
        # The latest rows score the model, not the earlier validation rows.
        train = np.concatenate([split.train, split.validation])
        return Split(train, split.test, split.test)


@dataclass
class Column(Splitting):
    """A column says of each row whether it is for training, validation or testing, in every trial. Rows without a label
    are for training, or are not used if the column assigns them to another part. If it assigns none to validation, a
    tenth of the labelled training rows validates, another tenth in every trial."""

    name: ClassVar[str] = "column"
    column: str | None = option(None, "says train, validation or test")

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        # A row of which the data say nothing trains.
        part = np.nan_to_num(_split_by(table), nan=TRAIN)
        if not (part == VALIDATION).any():
            labelled = np.flatnonzero((part == TRAIN) & table.is_labelled)
            n_validation = max(1, round(VALIDATION_SHARE * len(labelled)))
            part[random.permutation(labelled)[:n_validation]] = VALIDATION
        return self._of_parts(part, table, random)


def cut_rows(rows: Ints, random: np.random.Generator, alike: Ints) -> Split:
    """Cut a random permutation of the rows into 70 % train, 10 % validation and 20 % test; not stratified.

    Args:
        rows: row numbers, int64 ``(n,)``.
        alike: rows of one number ``(n,)`` stay in one part.
    """
    order = random.permutation(len(rows))
    part = Copies.of(alike).parts(order)[order]
    shuffled = rows[order]
    return Split(*(shuffled[part == number] for number in range(len(PARTS))))


def _closest(so_far: Ints, wanted: float) -> int:
    """The position of the number that is closest to another one."""
    return int(np.abs(so_far - wanted).argmin())


def _split_by(table: "Table") -> Floats:
    """The values that the table is split by, see `scarf_lightning.data.reading.roles.split_values`."""
    assert table.split_by is not None, "the table was loaded without the column that it is split by"
    return table.split_by
