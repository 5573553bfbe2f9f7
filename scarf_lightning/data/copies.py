"""The parts of a split and their shares (paper, section 4, "Datasets"); and equal rows, which stay in one part."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .columns import Floats, Ints, canonical

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1

PARTS = ("train", "validation", "test")
"""The parts, in the order of their numbers."""
TRAIN, VALIDATION, TEST = range(len(PARTS))

ODD = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: a multiplier that makes a hash depend on the order of the columns."""


def part_sizes(n: int) -> tuple[int, int]:
    """Of n rows those for validation and those for testing."""
    # Both are rounded, and training gets the rest, so that the three add up.
    n_validation = round(VALIDATION_SHARE * n)
    n_test = round(TEST_SHARE * n)
    return n_validation, n_test


def first_alike(values: Floats) -> Ints:
    """For each row of ``(n, M)`` the number of the first row that equals it, ``(n,)``. A gap equals a gap.

    Rows are compared by 64-bit hashes: two different ones of a million share one once in 37 million tables.
    """
    import pandas as pd

    hashes = np.zeros(len(values), dtype=np.uint64)
    for column in values.T:
        hashes = pd.util.hash_array(hashes ^ canonical(column).view(np.uint64), categorize=False) * ODD
    return first_positions(hashes)


def first_positions(keys: NDArray[np.generic]) -> Ints:
    """For each key ``(n,)`` the position where it occurs first, ``(n,)``."""
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[number])


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
        return sum(int(self._fitting(room).max(initial=1)) - 1 for room in self.rooms)

    @property
    def is_exact(self) -> bool:
        """True if every order of the groups gives parts of the same sizes."""
        n_validation, n_test = self.rooms
        n_single = int((self.size == 1).sum())
        if n_single < self.n_reserved:
            return False
        if self._fitting(n_test).sum() < n_test:
            return False
        # A small stratum has no validation rows.
        return n_validation == 0 or bool(self._fitting(n_validation).sum() >= n_validation + n_test)

    def parts(self, order: Ints) -> Ints:
        """The part of each row ``(n,)``.

        Args:
            order: a random order of the rows, of which the last test, those before them validate, and the first train
                if no row equals another. A group stands where its first row does.
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
            part[self._taken(groups, room, n_left)] = number
            groups = groups[part[groups] == TRAIN]
        return part[self.group]

    def _fitting(self, room: int) -> Ints:
        """The sizes of the groups that fit into a part of this many units."""
        return self.size[self.size <= room]

    def _taken(self, groups: Ints, room: int, n_left: int) -> list[int]:
        """The groups that a part takes. If none fits, it is the smallest one, as long as ``n_left`` others are left."""
        sizes = self.size[groups]
        # An empty part could not be measured; one that is too large can.
        if room and len(groups) > n_left and sizes.min() > room:
            return [int(groups[sizes.argmin()])]
        taken: list[int] = []
        for group, size in zip(groups.tolist(), sizes.tolist(), strict=True):
            if size <= room:
                taken.append(group)
                room -= size
            if not room:
                break
        return taken
