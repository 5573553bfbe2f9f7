"""Train, validation and test rows of a trial: the paper's split (section 4, "Datasets"), and others that data may need.

Validation and test rows always have a label. Rows without one are used for training, unless that separates a group or
looks into the future.

Rows that are equal in every column are copies. With ``copies=together`` a random split keeps copies in one part: else a
model is tested on rows that it has seen in training. The rule holds for rows with a label. A row without one trains,
wherever its copies are, because it reveals no label.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ..errors import UsageError
from ..options.option import Options, option
from .columns import Floats, Ints, first_positions

if TYPE_CHECKING:
    from .table import Table

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1

PARTS = ("train", "validation", "test")
"""The parts, in the order of their numbers."""
TRAIN, VALIDATION, TEST = range(len(PARTS))


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

    def _split_by_part(self, part: Ints | Floats, table: "Table", random: np.random.Generator) -> Split:
        """Rows by the number of their part, without unlabelled rows in validation and test."""
        is_used = table.is_labelled | (part == TRAIN)
        split = Split(*(np.flatnonzero(is_used & (part == number)) for number in range(len(PARTS))))
        return self._shuffle(split, table, random)

    def _shuffle(self, split: Split, table: "Table", random: np.random.Generator) -> Split:
        """The split with every part in random order, so that batches do not follow class or group."""
        split = self._check(split, table)
        # The order of these draws is part of a cell's random stream.
        return Split(*(random.permutation(getattr(split, part)) for part in PARTS))

    def _check(self, split: Split, table: "Table") -> Split:
        """Refuse a split of which a part has no label."""
        for part in PARTS:
            if not table.is_labelled[getattr(split, part)].any():
                raise UsageError(
                    f"split={self.name} of {table.source} leaves no row with a label for {part}; give it more rows, "
                    "or smaller groups of rows that stay together, as equal rows do with split.copies=together."
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
        return self._check(self._cut(table, random), table)


@dataclass
class Stratified(Shuffled):
    """As random, but each class by itself, or each tenth of the values of a number, so that every part has each in its
    proportion. Rows of a class too small for all parts go to training first."""

    name: ClassVar[str] = "stratified"

    def strata(self, table: "Table") -> Ints:
        return table.target.strata(table.labels)

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        return self._shuffle(self._cut(table, random), table, random)


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
        lone_groups = np.nanmax(values, initial=0) + 1 + np.arange(table.n_rows)
        distinct, group = np.unique(np.where(np.isnan(values), lone_groups, values), return_inverse=True)
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
        return self._split_by_part(part, table, random)


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
        sorted_rows = labelled[np.argsort(times[labelled], kind="stable")]
        # A cut must be at the end of the rows of one time.
        changes = np.flatnonzero(np.diff(times[sorted_rows]))
        ends = np.append(changes + 1, len(sorted_rows))
        if len(ends) < len(PARTS):
            raise UsageError(
                f"column {self.column!r}, which split=time sorts by, has {len(ends)} distinct times in labelled rows; "
                "training, validation and testing need one each."
            )
        n_validation, n_test = part_sizes(len(sorted_rows))
        n_before_test = len(sorted_rows) - n_test
        # Two more ends must be left for validation and testing.
        first = ends[_closest(ends[:-2], n_before_test - n_validation)]
        later_ends = ends[ends > first][:-1]
        second = later_ends[_closest(later_ends, n_before_test)]
        train, validation, test = np.split(sorted_rows, [first, second])
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
    """A column assigns each row to training, validation or testing, in every trial. Rows without a label
    are for training, or are not used if the column assigns them to another part. If it assigns none to validation, a
    tenth of the labelled training rows validates, another tenth in every trial."""

    name: ClassVar[str] = "column"
    column: str | None = option(None, "says train, validation or test")

    def split(self, table: "Table", random: np.random.Generator) -> Split:
        # A row without an entry in the column trains.
        part = np.nan_to_num(_split_by(table), nan=TRAIN)
        if not (part == VALIDATION).any():
            labelled = np.flatnonzero((part == TRAIN) & table.is_labelled)
            n_validation = max(1, round(VALIDATION_SHARE * len(labelled)))
            part[random.permutation(labelled)[:n_validation]] = VALIDATION
        return self._split_by_part(part, table, random)


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


@dataclass(frozen=True, eq=False)
class Copies:
    """Groups of equal rows, and the parts of a split that they are dealt out to.

    In a random order of the groups, each goes to the test part if it fits into what is left there; of the others, each
    to the validation part in the same way. All others train, and so does a group that is larger than both parts.

    Sizes are counted in units, the greatest common divisor of all sizes, so that a table which is written three times
    is cut as well as it would be once. The last groups in the order are *reserved*: t + v - 2 groups of one unit, where
    t and v are the sizes of the largest groups that fit into the test part and into the validation part.

    Both parts have their exact sizes, whatever the order, if there are so many groups of one unit, and if the groups
    that fit into the validation part have as many rows as both parts (`is_exact`). Proof: a group that fits into the
    empty test part is passed over only when less than t units are left, at most t - 1. Then t - 1 reserved groups fill
    the part. If no group is passed over, there are rows enough to fill it. For the validation part at least v - 1
    reserved groups are left, or nothing but reserved groups, and the same holds.

    Attributes:
        group: the group of each row ``(n,)``, numbered in the order of their first rows.
        leader: the first row of each group.
        unit: rows in one unit.
        size: of each group, in units.
    """

    group: Ints
    leader: Ints
    unit: int
    size: Ints

    @classmethod
    def of(cls, alike: Ints) -> "Copies":
        """The groups of rows that have the same number ``(n,)``."""
        leaders, group = np.unique(first_positions(alike), return_inverse=True)
        n_rows = np.bincount(group)
        # A stratum of a number may have no rows, whose divisor would be 0.
        unit = math.gcd(*map(int, np.unique(n_rows))) or 1
        # In so few units the validation part would be empty.
        if not part_sizes(len(group) // unit)[0]:
            unit = 1
        return cls(group, leaders, unit, n_rows // unit)

    @cached_property
    def rooms(self) -> tuple[int, int]:
        """Units of the validation part and of the test part."""
        return part_sizes(int(self.size.sum()))

    @property
    def n_reserved(self) -> int:
        """Number of groups of one unit that fill up what larger groups leave."""
        return sum(int(self._sizes_within(room).max(initial=1)) - 1 for room in self.rooms)

    @property
    def is_exact(self) -> bool:
        """True if every order of the groups gives parts of the same sizes."""
        n_validation, n_test = self.rooms
        n_single = int((self.size == 1).sum())
        if n_single < self.n_reserved:
            return False
        if self._sizes_within(n_test).sum() < n_test:
            return False
        # A small stratum has no validation rows.
        return n_validation == 0 or bool(self._sizes_within(n_validation).sum() >= n_validation + n_test)

    def parts(self, order: Ints) -> Ints:
        """The part of each row ``(n,)``.

        Args:
            order: a random order of the rows, of which the last test, those before them validate, and the first train
                if no row equals another. A group has the place of its first row.
        """
        place = np.argsort(order)
        # The test part takes groups from the end of the order.
        groups = np.argsort(-place[self.leader])
        single = groups[self.size[groups] == 1]
        reserved = single[max(0, len(single) - self.n_reserved) :]
        # The others keep their random order in front of the reserved ones.
        groups = np.append(groups[~np.isin(groups, reserved)], reserved)

        part = np.full(len(self.size), TRAIN)
        n_validation, n_test = self.rooms
        # Of three large groups, two must be left for the other parts.
        for number, room, n_left in ((TEST, n_test, 2), (VALIDATION, n_validation, 1)):
            part[self._pick_groups(groups, room, n_left)] = number
            groups = groups[part[groups] == TRAIN]
        return part[self.group]

    def _sizes_within(self, room: int) -> Ints:
        """The sizes of the groups that fit into a part of this many units."""
        return self.size[self.size <= room]

    def _pick_groups(self, groups: Ints, room: int, n_left: int) -> list[int]:
        """The groups that a part takes. If none fits, it is the smallest one, as long as ``n_left`` others are left."""
        sizes = self.size[groups]
        # An empty part could not be measured; one that is too large can.
        if room and len(groups) > n_left and sizes.min() > room:
            return [int(groups[sizes.argmin()])]
        members: list[int] = []
        for group, size in zip(groups.tolist(), sizes.tolist(), strict=True):
            if size <= room:
                members.append(group)
                room -= size
            if not room:
                break
        return members


def part_sizes(n: int) -> tuple[int, int]:
    """Of n rows those for validation and those for testing."""
    # Both are rounded, and training gets the rest, so that the three add up.
    n_validation = round(VALIDATION_SHARE * n)
    n_test = round(TEST_SHARE * n)
    return n_validation, n_test


def _closest(so_far: Ints, goal: float) -> int:
    """The position of the number that is closest to the goal."""
    return int(np.abs(so_far - goal).argmin())


def _split_by(table: "Table") -> Floats:
    """The values that the table is split by, see `scarf_lightning.data.reading.roles.split_values`."""
    assert table.split_by is not None, "the table was loaded without the column that it is split by"
    return table.split_by
