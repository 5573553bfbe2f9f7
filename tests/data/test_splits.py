from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from scarf_lightning.data.splits import (
    PARTS,
    Column,
    Copies,
    Group,
    Random,
    Shuffled,
    Split,
    Splitting,
    Stratified,
    Time,
    cut_rows,
    part_sizes,
)  # fmt: skip
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError

shuffled = pytest.mark.parametrize("splitting", [Random(), Stratified()], ids=lambda each: each.name)
seeds = st.integers(0, 999)


def papers(n: int, random: np.random.Generator | int) -> Split:
    """The paper's split of n rows."""
    return cut_rows(np.arange(n), np.random.default_rng(random), np.arange(n))


def rows_of(split: Split) -> list[Any]:
    return [getattr(split, part) for part in PARTS]


def sizes_of(split: Split) -> tuple[int, ...]:
    return tuple(map(len, rows_of(split)))


def table_of(labels: Any, split_by: Any = None) -> Table:
    """A table of these labels, None where there is none."""
    target = pd.Series(labels, name="y", dtype=object)
    features = pd.DataFrame({"x": np.arange(len(target)) / 8})
    values = None if split_by is None else np.asarray(split_by, dtype=np.float64)
    return Table.from_frame(features, target, categorical=[False], name="t", source="test:t", split_by=values)


def labels_of(n: int, *, unlabelled: float = 0.0, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    labels = random.choice(np.array(list("abc"), dtype=object), n, p=[0.6, 0.3, 0.1])
    return np.where(random.random(n) < unlabelled, None, labels)


def cut(splitting: Splitting, table: Table, seed: int = 0) -> Split:
    return splitting.split(table, np.random.default_rng(seed))


@given(n=st.integers(10, 3000), seed=seeds)
def test_a_split_holds_every_row_once_in_the_papers_shares(n: int, seed: int) -> None:
    split = papers(n, seed)
    assert_array_equal(np.sort(np.concatenate(rows_of(split))), np.arange(n))
    assert (np.abs(np.array(sizes_of(split)) - [0.7 * n, 0.1 * n, 0.2 * n]) <= [1, 0.5, 0.5]).all()
    assert min(sizes_of(split)) > 0


def test_every_row_is_as_likely_in_every_part() -> None:
    n, repeats, random = 20, 1000, np.random.default_rng(1)
    counts = np.zeros((3, n))
    for _ in range(repeats):
        for part, rows in enumerate(rows_of(papers(n, random))):
            counts[part, rows] += 1
    shares = np.array([[0.7], [0.1], [0.2]])
    assert (np.abs(counts - repeats * shares) < 5 * np.sqrt(repeats * shares * (1 - shares))).all()


@shuffled
@settings(max_examples=15)
@given(n=st.integers(60, 300), seed=seeds)
def test_rows_without_a_label_train_and_the_others_are_split(splitting: Splitting, n: int, seed: int) -> None:
    table = table_of(labels_of(n, unlabelled=0.6, seed=seed))
    split = cut(splitting, table, seed)
    assert_array_equal(np.sort(np.concatenate(rows_of(split))), np.arange(n))
    assert table.is_labelled[[*split.validation, *split.test]].all()
    slack = 0.5 if splitting.name == "random" else 1.5  # of each of three classes half a row
    shares = np.array([0.1, 0.2]) * table.n_labelled
    assert (np.abs(np.array(sizes_of(split)[1:]) - shares) <= slack).all()


def test_strata_have_their_share_of_every_part() -> None:
    split = cut(Stratified(), table_of(["a"] * 600 + ["b"] * 300 + ["c"] * 100))
    for rows, share in zip(rows_of(split), (0.7, 0.1, 0.2), strict=True):
        classes = np.digitize(rows, [600, 900])
        assert np.bincount(classes).tolist() == [600 * share, 300 * share, 100 * share]
        assert (np.diff(classes) < 0).any(), "in random order, not class by class"


@settings(max_examples=15)
@given(seed=seeds, n_groups=st.integers(12, 40), unlabelled=st.sampled_from([0.0, 0.5]))
def test_groups_are_not_parted(seed: int, n_groups: int, unlabelled: float) -> None:
    groups = np.random.default_rng(seed).integers(n_groups, size=400)
    table = table_of(labels_of(400, unlabelled=unlabelled, seed=seed), groups)
    split = cut(Group(), table, seed)
    of_part = [set(groups[rows]) for rows in rows_of(split)]
    assert sum(map(len, of_part)) == len(set.union(*of_part))
    assert table.is_labelled[[*split.validation, *split.test]].all()
    unused = np.setdiff1d(np.arange(400), np.concatenate(rows_of(split)))
    assert not table.is_labelled[unused].any(), "but for unlabelled rows of validation and test groups, all are used"


def test_many_small_groups_come_close_to_the_papers_shares_and_rows_without_one_are_alone() -> None:
    groups = np.where(np.arange(1000) < 900, np.arange(1000) // 4, np.nan)
    split = cut(Group(), table_of(labels_of(1000), groups))
    # Each border is within half a group of its place.
    assert (np.abs(np.array(sizes_of(split)) - [700, 100, 200]) <= [2, 4, 2]).all()
    assert all((rows >= 900).any() for rows in rows_of(split))


def test_time_goes_forward() -> None:
    times = np.random.default_rng(0).permutation(200).astype(float)
    labels = labels_of(200, unlabelled=0.3)
    unlabelled = np.flatnonzero(labels == None)  # noqa: E711 - of each label
    times[unlabelled[:5]] = np.nan
    table = table_of(labels, times)
    split = cut(Time("day"), table)
    known = split.train[table.is_labelled[split.train]]
    assert times[known].max() < times[split.validation].min()
    assert times[split.validation].max() < times[split.test].min()
    assert sizes_of(split)[1:] == (round(0.1 * table.n_labelled), round(0.2 * table.n_labelled))
    past = unlabelled[~(times[unlabelled] > times[known].max())]
    assert set(split.train) == {*known, *past}, "no unlabelled row of the future, and all others"


@pytest.mark.parametrize("n_days", [3, 7, 40])
def test_rows_of_one_time_stay_together_and_test_rows_in_the_order_of_time(n_days: int) -> None:
    """Each trial shuffles the rows of the other parts; a report takes blocks of the test rows in their order, those of
    one time in the table's."""
    days = np.random.default_rng(n_days).integers(n_days, size=200).astype(float)
    first, second = (cut(Time("day"), table_of(labels_of(200), days), seed) for seed in range(2))
    assert sum(len(set(days[rows])) for rows in rows_of(first)) == n_days, "no time is in two parts"
    assert sum(sizes_of(first)) == 200
    assert first.test.tolist() == sorted(first.test, key=lambda row: (days[row], row))
    assert_array_equal(first.test, second.test)
    assert (first.train != second.train).any()


def test_parts_that_are_given() -> None:
    labels = [*labels_of(30), None, None, None]
    parts = np.array([0.0] * 20 + [1.0] * 4 + [2.0] * 6 + [np.nan, 0.0, 2.0])
    split = cut(Column("part"), table_of(labels, parts))
    assert sorted(split.train) == [*range(20), 30, 31], "an unlabelled test row is not used"
    assert sorted(split.validation) == list(range(20, 24))
    assert sorted(split.test) == list(range(24, 30))


def test_a_tenth_of_the_labelled_training_rows_validates_if_none_are_given() -> None:
    table = table_of([*labels_of(40), *[None] * 20], [0.0] * 30 + [2.0] * 10 + [0.0] * 20)
    splits = [cut(Column("part"), table, seed) for seed in range(9)]
    assert {sizes_of(split) for split in splits} == {(47, 3, 10)}
    assert all(table.is_labelled[split.validation].all() for split in splits)
    assert len({tuple(np.sort(split.validation)) for split in splits}) > 5, "other rows in every trial"


@pytest.mark.parametrize(
    ("splitting", "split_by", "sentence"),
    [
        (Time("day"), np.arange(30) % 2, "'day', which split=time sorts by, has 2 distinct times"),
        (Time("day"), [np.nan, *range(29)], "'day', which split=time sorts by, is missing in labelled rows"),
        (Column("part"), [0.0] * 20 + [1.0] * 10, "split=column .* leaves no row with a label for test"),
    ],
)
def test_what_makes_no_three_parts_is_refused(splitting: Splitting, split_by: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        cut(splitting, table_of(labels_of(30), split_by))


@pytest.mark.parametrize("splitting", [Random(), Stratified(), Time(), Group()], ids=lambda each: each.name)
def test_sizes_are_equal_in_all_trials_unless_it_says_otherwise(splitting: Splitting) -> None:
    table = table_of(labels_of(400, unlabelled=0.4), np.arange(400) % 90)
    sizes = {sizes_of(cut(splitting, table, seed)) for seed in range(8)}
    assert (len(sizes) > 1) == splitting.is_ragged(table)


@shuffled
@settings(max_examples=10)
@given(seed=seeds, n=st.integers(60, 300), unlabelled=st.sampled_from([0.0, 0.4]))
def test_a_table_without_copies_is_split_as_if_nobody_looked_for_them(
    splitting: Shuffled, seed: int, n: int, unlabelled: float
) -> None:
    table = table_of(labels_of(n, unlabelled=unlabelled, seed=seed))
    expected = rows_of(cut(replace(splitting, copies="apart"), table, seed))
    assert not splitting.is_ragged(table)
    if splitting.name == "random" and not unlabelled:
        order = np.random.default_rng(seed).permutation(n)
        tested = n - round(0.2 * n)
        expected = np.split(order, [tested - round(0.1 * n), tested])
    for found, rows in zip(rows_of(cut(splitting, table, seed)), expected, strict=True):
        assert_array_equal(found, rows)


@shuffled
@settings(max_examples=10)
@given(
    seed=seeds,
    n_times=st.lists(st.integers(1, 12), min_size=40, max_size=120),
    unlabelled=st.sampled_from([0.0, 0.3]),
)
def test_copies_stay_in_one_part_and_promised_sizes_are_kept(
    splitting: Shuffled, seed: int, n_times: list[int], unlabelled: float
) -> None:
    row = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(n_times)), n_times))
    target = pd.Series(labels_of(len(row), unlabelled=unlabelled, seed=seed), name="y")
    features = pd.DataFrame({"x": row / 8, "gap": np.where(row % 2, row, np.nan)})
    table = Table.from_frame(features, target, categorical=[False] * 2, name="t", source="test:t")
    splits = [cut(splitting, table, trial) for trial in range(4)]
    for split in splits:
        assert_array_equal(np.sort(np.concatenate(rows_of(split))), np.arange(len(row)))
        assert table.is_labelled[[*split.validation, *split.test]].all()
        distinct = [set(row[rows[table.is_labelled[rows]]]) for rows in rows_of(split)]
        assert sum(map(len, distinct)) == len(set.union(*distinct)), "no row has a copy with a label in another part"
    assert splitting.is_ragged(table) or len(set(map(sizes_of, splits))) == 1


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
