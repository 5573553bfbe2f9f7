from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scarf_lightning.data.copies import PARTS
from scarf_lightning.data.splits import (
    Column,
    Files,
    Group,
    Random,
    Shuffled,
    Split,
    Splitting,
    Stratified,
    Time,
    cut_rows,
)
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.randomness import Purpose, Streams


@given(n=st.integers(10, 3000), seed=st.integers(0, 2**32))
def test_a_split_holds_every_row_once_in_the_papers_shares(n: int, seed: int) -> None:
    split = cut_rows(np.arange(n), np.random.default_rng(seed), np.arange(n))
    parts = [split.train, split.validation, split.test]
    assert (np.sort(np.concatenate(parts)) == np.arange(n)).all()
    assert all(part.dtype == np.int64 for part in parts)
    assert abs(len(split.train) - 0.7 * n) <= 1
    assert abs(len(split.validation) - 0.1 * n) <= 0.5
    assert abs(len(split.test) - 0.2 * n) <= 0.5


def test_every_row_is_as_likely_in_every_part_and_trials_have_splits_of_their_own() -> None:
    n, repeats = 20, 1000
    counts = np.zeros((3, n))
    random = np.random.default_rng(1)
    for _ in range(repeats):
        split = cut_rows(np.arange(n), random, np.arange(n))
        for part, rows in enumerate((split.train, split.validation, split.test)):
            counts[part, rows] += 1
    for share, observed in zip((0.7, 0.1, 0.2), counts, strict=True):
        deviation = np.sqrt(repeats * share * (1 - share))
        assert (np.abs(observed - repeats * share) < 5 * deviation).all()
    split = cut_rows(np.arange(10), np.random.default_rng(0), np.arange(10))
    assert [len(getattr(split, part)) for part in PARTS] == [7, 1, 2], "the smallest table has a row in every part"

    streams = Streams(0, 200)
    tests = {
        tuple(np.sort(cut_rows(np.arange(200), streams.numpy(t, Purpose.SPLIT), np.arange(200)).test))
        for t in range(30)
    }
    assert len(tests) == 30


def table_of(labels: Any, split_by: Any = None) -> Table:
    """A table of these labels, None where there is none."""
    target = pd.Series(labels, name="y", dtype=object)
    features = pd.DataFrame({"x": np.arange(len(target)) / 8})
    values = None if split_by is None else np.asarray(split_by, dtype=np.float64)
    return Table.from_frame(features, target, categorical=[False], name="t", source="test:t", split_by=values)


def labels_of(n: int, *, unlabelled: float = 0.0, seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)
    return [None if random.random() < unlabelled else "abc"[random.choice(3, p=[0.6, 0.3, 0.1])] for _ in range(n)]


def cut(splitting: Splitting, table: Table, seed: int = 0) -> Split:
    return splitting.split(table, np.random.default_rng(seed))


@pytest.mark.parametrize("splitting", [Random(), Stratified()], ids=lambda each: each.name)
@settings(max_examples=15)
@given(n=st.integers(60, 300), seed=st.integers(0, 99))
def test_rows_without_a_label_train_and_the_others_are_split(splitting: Splitting, n: int, seed: int) -> None:
    table = table_of(labels_of(n, unlabelled=0.6, seed=seed))
    split = cut(splitting, table, seed)
    assert (np.sort(np.concatenate([split.train, split.validation, split.test])) == np.arange(n)).all()
    n_labelled = n - table.n_unlabelled
    assert (table.labels[np.concatenate([split.validation, split.test])] >= 0).all()
    slack = 0.5 if splitting.name == "random" else 1.5  # of each of three classes half a row
    assert abs(len(split.validation) - 0.1 * n_labelled) <= slack
    assert abs(len(split.test) - 0.2 * n_labelled) <= slack


def test_strata_have_their_share_of_every_part() -> None:
    labels = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    split = cut(Stratified(), table_of(labels))
    for part, share in (("train", 0.7), ("validation", 0.1), ("test", 0.2)):
        rows = getattr(split, part)
        assert np.bincount(np.digitize(rows, [600, 900])).tolist() == [600 * share, 300 * share, 100 * share]
        assert (np.diff(np.digitize(rows, [600, 900])) < 0).any(), "in random order, not class by class"


@settings(max_examples=15)
@given(seed=st.integers(0, 999), n_groups=st.integers(12, 40), unlabelled=st.sampled_from([0.0, 0.5]))
def test_groups_are_not_parted(seed: int, n_groups: int, unlabelled: float) -> None:
    groups = np.random.default_rng(seed).integers(n_groups, size=400)
    table = table_of(labels_of(400, unlabelled=unlabelled, seed=seed), groups)
    split = cut(Group(), table, seed)
    of_part = [set(groups[getattr(split, part)]) for part in PARTS]
    assert sum(map(len, of_part)) == len(set.union(*of_part))
    for rows in (split.validation, split.test):
        assert (table.labels[rows] >= 0).all()
    unused = np.setdiff1d(np.arange(400), np.concatenate([split.train, split.validation, split.test]))
    assert (table.labels[unused] == -1).all(), "but for unlabelled rows of validation and test groups, all are used"


def test_many_small_groups_come_close_to_the_papers_shares_and_rows_without_one_are_alone() -> None:
    groups = np.arange(1000) // 4.0
    groups[900:] = np.nan
    split = cut(Group(), table_of(labels_of(1000), groups))
    sizes = [len(getattr(split, part)) for part in PARTS]
    assert np.abs(np.array(sizes) - [700, 100, 200]).max() <= 4
    assert {part: (getattr(split, part) >= 900).any() for part in PARTS} == dict.fromkeys(PARTS, True)
    twenty = table_of(labels_of(400), np.arange(400) % 20)
    assert len({tuple(np.sort(cut(Group(), twenty, seed).test)) for seed in range(20)}) > 15, "trials part other groups"


def test_time_goes_forward() -> None:
    random = np.random.default_rng(0)
    times = random.permutation(200).astype(float)
    labels = labels_of(200, unlabelled=0.3)
    times[[i for i, label in enumerate(labels) if label is None][:5]] = np.nan
    table = table_of(labels, times)
    split = cut(Time("day"), table)
    known = split.train[table.labels[split.train] >= 0]
    assert times[known].max() < times[split.validation].min()
    assert times[split.validation].max() < times[split.test].min()
    n_labelled = 200 - table.n_unlabelled
    assert (len(split.validation), len(split.test)) == (round(0.1 * n_labelled), round(0.2 * n_labelled))
    unlabelled = np.flatnonzero(table.labels < 0)
    past = unlabelled[~(times[unlabelled] > times[known].max())]
    assert set(split.train) == {*known, *past}, "no unlabelled row of the future, and all others"
    assert np.isnan(times[split.train]).sum() == 5


@pytest.mark.parametrize("n_days", [3, 7, 40])
def test_rows_of_one_time_stay_together_and_test_rows_in_the_order_of_time(n_days: int) -> None:
    """Each trial shuffles the rows of the other parts; a report takes blocks of the test rows in their order, those of
    one time in the table's."""
    days = np.random.default_rng(n_days).integers(n_days, size=200).astype(float)
    table = table_of(labels_of(200), days)
    first, second = (cut(Time("day"), table, seed) for seed in range(2))
    parts = [set(days[getattr(first, part)]) for part in PARTS]
    assert sum(map(len, parts)) == n_days, "no time is in two parts"
    assert sum(len(getattr(first, part)) for part in PARTS) == 200
    assert first.test.tolist() == sorted(first.test, key=lambda row: (days[row], row))
    assert (first.test == second.test).all()
    assert (first.train != second.train).any()


@pytest.mark.parametrize("splitting", [Column("part"), Files("v.csv", "t.csv")], ids=lambda each: each.name)
def test_parts_that_are_given(splitting: Splitting) -> None:
    labels = [*labels_of(30), None, None, None]
    parts = np.array([0.0] * 20 + [1.0] * 4 + [2.0] * 6 + [np.nan, 0.0, 2.0])
    split = cut(splitting, table_of(labels, parts))
    assert sorted(split.train) == [*range(20), 30, 31], "an unlabelled test row is not used"
    assert sorted(split.validation) == list(range(20, 24))
    assert sorted(split.test) == list(range(24, 30))


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


def test_sizes_are_equal_in_all_trials_unless_it_says_otherwise() -> None:
    table = table_of(labels_of(400, unlabelled=0.4), np.arange(400) % 90)
    for splitting in (Random(), Stratified(), Time(), Group()):
        sizes = {tuple(len(getattr(cut(splitting, table, seed), part)) for part in PARTS) for seed in range(8)}
        assert (len(sizes) > 1) == splitting.is_ragged(table)


def copied(n_distinct: int, n_times: Any, labels: Any = None, *, seed: int = 0) -> Table:
    """A table of distinct rows, each so many times, in random order."""
    row = np.random.default_rng(seed).permutation(np.repeat(np.arange(n_distinct), n_times))
    target = pd.Series(np.array(list("abc"))[row % 3] if labels is None else labels, name="y")
    features = pd.DataFrame({"x": row / 8, "gap": np.where(row % 2, row, np.nan)})
    return Table.from_frame(features, target, categorical=[False] * 2, name="t", source="test:t")


def are_together(split: Split, table: Table) -> bool:
    """Whether no row of a part has a copy with a label in another part."""
    labelled = [part[table.is_labelled[part]] for part in (split.train, split.validation, split.test)]
    parts = [set(table.alike[rows]) for rows in labelled]
    return len(set.union(*parts)) == sum(map(len, parts))


shuffled = pytest.mark.parametrize("splitting", [Random(), Stratified()], ids=lambda each: each.name)


@shuffled
@settings(max_examples=10)
@given(seed=st.integers(0, 999), n=st.integers(60, 300), unlabelled=st.sampled_from([0.0, 0.4]))
def test_a_table_without_copies_is_split_as_if_nobody_looked_for_them(
    splitting: Shuffled, seed: int, n: int, unlabelled: float
) -> None:
    table = table_of(labels_of(n, unlabelled=unlabelled, seed=seed))
    found, expected = (cut(rule, table, seed) for rule in (splitting, replace(splitting, copies="apart")))
    for part in PARTS:
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
    assert not splitting.is_ragged(table)
    if splitting.name == "random" and not unlabelled:
        papers = cut_rows(np.arange(n), np.random.default_rng(seed), np.arange(n))
        for part in PARTS:
            np.testing.assert_array_equal(getattr(found, part), getattr(papers, part))


@shuffled
@settings(max_examples=10)
@given(
    seed=st.integers(0, 999),
    n_times=st.lists(st.integers(1, 12), min_size=40, max_size=120),
    unlabelled=st.sampled_from([0.0, 0.3]),
)
def test_copies_stay_in_one_part_and_promised_sizes_are_kept(
    splitting: Shuffled, seed: int, n_times: list[int], unlabelled: float
) -> None:
    labels = np.array(labels_of(sum(n_times), unlabelled=unlabelled, seed=seed), dtype=object)
    table = copied(len(n_times), n_times, labels, seed=seed)
    splits = [cut(splitting, table, trial) for trial in range(4)]
    for split in splits:
        rows = np.concatenate([split.train, split.validation, split.test])
        assert (np.sort(rows) == np.arange(len(labels))).all()
        assert are_together(split, table)
        assert table.is_labelled[np.concatenate([split.validation, split.test])].all()
    sizes = {(len(split.validation), len(split.test)) for split in splits}
    assert splitting.is_ragged(table) or len(sizes) == 1
