"""Rows that are equal: found, and dealt out to the parts of a split."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.data.copies import Copies, first_alike, part_sizes

NAN = np.nan
seeds = st.integers(0, 10**6)


def test_gaps_are_equal_and_so_are_zeros_of_both_signs() -> None:
    values = np.array([[0.0, NAN], [1.0, NAN], [-0.0, NAN], [0.0, 0.0], [0.0, -NAN], [1.0, 0.0]])
    assert first_alike(values).tolist() == [0, 1, 0, 3, 0, 5], "and columns in another order are other rows"


@given(seeds, st.integers(1, 40), st.integers(1, 20))
def test_the_first_equal_row_is_found(seed: int, n: int, width: int) -> None:
    random, n_distinct = np.random.default_rng(seed), max(1, n // 3)
    kinds = np.array([0.0, -0.0, 1.0, NAN, 1e-300])
    values = kinds[random.integers(5, size=(n_distinct, width))][random.integers(n_distinct, size=n)]
    rows = [tuple("gap" if np.isnan(each) else each + 0.0 for each in row) for row in values.tolist()]
    assert first_alike(values).tolist() == [rows.index(row) for row in rows]


@pytest.mark.parametrize("column", [0, 7, 59])
def test_rows_that_differ_in_one_column_alone_are_no_copies(column: int) -> None:
    values = np.ones((4, 60))
    values[2, column] = np.nextafter(1.0, 2.0)
    assert first_alike(values).tolist() == [0, 0, 2, 0]


def one_by_one(copies: Copies, order: Any) -> list[list[int]]:
    """The groups that test and validation take, by the words of the class: one group after the other."""
    place = {row: position for position, row in enumerate(order.tolist())}
    groups = sorted(range(len(copies.size)), key=lambda group: -place[copies.leader[group]])
    units = [group for group in groups if copies.size[group] == 1]
    reserved = units[len(units) - min(copies.n_reserved, len(units)) :]
    groups = [group for group in groups if group not in reserved] + reserved
    found = []
    for room in copies.rooms[::-1]:
        taken: list[int] = []
        for group in groups:
            if sum(copies.size[taken]) + copies.size[group] <= room:
                taken.append(group)
        groups = [group for group in groups if group not in taken]
        found.append(sorted(taken))
    return found


@given(st.lists(st.integers(1, 9), min_size=30, max_size=120), seeds, st.integers(1, 3))
def test_groups_are_taken_one_after_the_other_if_they_fit(n_times: list[int], seed: int, unit: int) -> None:
    random = np.random.default_rng(seed)
    alike = random.permutation(np.repeat(np.arange(len(n_times)), np.array(n_times) * unit))
    copies, order = Copies.of(alike), random.permutation(len(alike))
    part = copies.parts(order)
    assert copies.unit % unit == 0
    assert [np.unique(copies.group[part == number]).tolist() for number in (2, 1)] == one_by_one(copies, order)


@given(st.lists(st.integers(1, 30), min_size=5, max_size=60), st.integers(0, 60), seeds)
def test_exact_parts_are_exact_in_every_order(n_times: list[int], n_single: int, seed: int) -> None:
    """The proof in the class, on orders that are drawn and on the two that are worst: large groups first, and last."""
    n_times = [*n_times, *[1] * n_single]
    alike = np.repeat(np.arange(len(n_times)), n_times)
    copies, random = Copies.of(alike), np.random.default_rng(seed)
    by_size = np.argsort(np.array(n_times)[alike], kind="stable")
    for order in (by_size, by_size[::-1], *(random.permutation(len(alike)) for _ in range(5))):
        n_rows = np.bincount(copies.parts(order), minlength=3) // copies.unit
        assert not copies.is_exact or tuple(n_rows[1:]) == part_sizes(len(alike) // copies.unit)


def test_no_rows_have_no_parts() -> None:
    """A tenth of a number's values has no rows where the values around it are equal."""
    none = np.empty(0, dtype=np.int64)
    assert Copies.of(none).parts(none).tolist() == []
