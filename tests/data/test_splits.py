from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.data.splits import (
    PARTS,
    Column,
    Files,
    Group,
    Random,
    Split,
    Splitting,
    Stratified,
    Time,
    cut_rows,
    split_values,
)
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.randomness import Purpose, Streams


@given(n=st.integers(10, 3000), seed=st.integers(0, 2**32))
def test_a_split_holds_every_row_once_in_the_papers_shares(n: int, seed: int) -> None:
    split = cut_rows(np.arange(n), np.random.default_rng(seed))
    parts = [split.train, split.validation, split.test]
    assert (np.sort(np.concatenate(parts)) == np.arange(n)).all()
    assert all(part.dtype == np.int64 for part in parts)
    assert abs(len(split.train) - 0.7 * n) <= 1
    assert abs(len(split.validation) - 0.1 * n) <= 0.5
    assert abs(len(split.test) - 0.2 * n) <= 0.5


def test_the_smallest_table_has_a_row_in_every_part() -> None:
    split = cut_rows(np.arange(10), np.random.default_rng(0))
    assert [len(part) for part in (split.train, split.validation, split.test)] == [7, 1, 2]


def test_every_row_is_as_likely_in_every_part() -> None:
    n, repeats = 20, 2000
    counts = np.zeros((3, n))
    random = np.random.default_rng(1)
    for _ in range(repeats):
        split = cut_rows(np.arange(n), random)
        for part, rows in enumerate((split.train, split.validation, split.test)):
            counts[part, rows] += 1
    for share, observed in zip((0.7, 0.1, 0.2), counts, strict=True):
        deviation = np.sqrt(repeats * share * (1 - share))
        assert (np.abs(observed - repeats * share) < 5 * deviation).all()


def test_trials_have_splits_of_their_own() -> None:
    streams = Streams(0, 200)
    tests = {tuple(np.sort(cut_rows(np.arange(200), streams.numpy(t, Purpose.SPLIT)).test)) for t in range(30)}
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


def test_the_papers_split_of_a_labelled_table_is_the_permutation_of_all_rows() -> None:
    split, expected = cut(Random(), table_of(labels_of(83))), cut_rows(np.arange(83), np.random.default_rng(0))
    for part in PARTS:
        assert (getattr(split, part) == getattr(expected, part)).all()


@pytest.mark.parametrize("splitting", [Random(), Stratified()], ids=lambda each: each.name)
@given(n=st.integers(60, 300), seed=st.integers(0, 99))
def test_rows_without_a_label_train_and_the_others_are_split(splitting: Splitting, n: int, seed: int) -> None:
    table = table_of(labels_of(n, unlabelled=0.6, seed=seed))
    split = cut(splitting, table, seed)
    assert (np.sort(np.concatenate([split.train, split.validation, split.test])) == np.arange(n)).all()
    n_labelled = n - table.n_unlabelled
    assert (table.labels[split.validation] >= 0).all()
    assert (table.labels[split.test] >= 0).all()
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


@given(seed=st.integers(0, 999), n_groups=st.integers(12, 40), unlabelled=st.sampled_from([0.0, 0.5]))
def test_groups_are_not_parted(seed: int, n_groups: int, unlabelled: float) -> None:
    groups = np.random.default_rng(seed).integers(n_groups, size=400)
    table = table_of(labels_of(400, unlabelled=unlabelled, seed=seed), groups)
    split = cut(Group(), table, seed)
    of_part = [set(groups[getattr(split, part)]) for part in PARTS]
    assert not of_part[0] & of_part[1]
    assert not of_part[0] & of_part[2]
    assert not of_part[1] & of_part[2]
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


def test_no_part_is_left_empty_by_a_row_without_a_group() -> None:
    """Of seven pairs and a row alone every part gets a group, and comes within a pair of its share, in any order."""
    pairs = table_of([*"ab" * 7, "a"], [*np.arange(14) // 2, np.nan])
    for seed in range(40):
        split = cut(Group(), pairs, seed)
        sizes = np.array([len(getattr(split, part)) for part in PARTS])
        assert sizes.min() > 0
        assert np.abs(sizes - [10.5, 1.5, 3.0]).max() <= 2


def test_trials_part_other_groups() -> None:
    table = table_of(labels_of(400), np.arange(400) % 20)
    assert len({tuple(np.sort(cut(Group(), table, seed).test)) for seed in range(20)}) > 15


@pytest.mark.parametrize(("n_groups", "n_train"), [(6, 4), (8, 6)])
def test_of_a_few_groups_alike_one_validates_and_one_tests(n_groups: int, n_train: int) -> None:
    """Of 8 the cuts at 70 % and at 80 % are closest to the same group, and yet one validates."""
    groups = np.arange(20 * n_groups) % n_groups
    split = cut(Group(), table_of(labels_of(len(groups)), groups))
    assert [len(set(groups[getattr(split, part)])) for part in PARTS] == [n_train, 1, 1]


def test_two_groups_are_too_few() -> None:
    with pytest.raises(UsageError, match=r"leaves no row with a label for .*; split=group needs more"):
        cut(Group("who"), table_of(labels_of(40), np.arange(40) % 2))


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
    assert np.nanmax(times[split.train]) <= times[known].max(), "no unlabelled row of the future"
    assert np.isnan(times[split.train]).sum() == 5


@pytest.mark.parametrize("n_days", [3, 7, 40])
def test_rows_of_one_time_stay_together_and_test_rows_in_the_order_of_time(n_days: int) -> None:
    """Each trial shuffles the rows of the other parts; a report takes blocks of the test rows in their order."""
    days = np.random.default_rng(n_days).integers(n_days, size=200).astype(float)
    table = table_of(labels_of(200), days)
    first, second = (Time("day").split(table, np.random.default_rng(seed)) for seed in range(2))
    parts = [set(days[part]) for part in (first.train, first.validation, first.test)]
    assert sum(map(len, parts)) == n_days, "no time is in two parts"
    assert sum(map(len, (first.train, first.validation, first.test))) == 200
    assert (np.diff(days[first.test]) >= 0).all()
    assert (first.test == second.test).all()
    assert (first.train != second.train).any()


@pytest.mark.parametrize(("n", "sizes"), [(17, (12, 2, 3)), (18, (12, 2, 4)), (22, (16, 2, 4))])
def test_shares_in_time_are_rounded_to_the_nearest_row(n: int, sizes: tuple[int, int, int]) -> None:
    split = cut(Time("day"), table_of(labels_of(n), np.arange(n)))
    assert (len(split.train), len(split.validation), len(split.test)) == sizes


def test_two_times_do_not_make_three_parts() -> None:
    with pytest.raises(UsageError, match="'day', which split=time sorts by, has 2 distinct times"):
        cut(Time("day"), table_of(labels_of(20), np.arange(20) % 2))


def test_a_labelled_row_needs_a_time() -> None:
    with pytest.raises(UsageError, match="'day', which split=time sorts by, is missing in labelled rows"):
        cut(Time("day"), table_of(labels_of(20), [np.nan, *range(19)]))


@pytest.mark.parametrize("splitting", [Column("part"), Files("v.csv", "t.csv")], ids=lambda each: each.name)
def test_parts_that_are_given(splitting: Splitting) -> None:
    labels = [*labels_of(30), None, None, None]
    parts = np.array([0.0] * 20 + [1.0] * 4 + [2.0] * 6 + [np.nan, 0.0, 2.0])
    split = cut(splitting, table_of(labels, parts))
    assert sorted(split.train) == [*range(20), 30, 31], "an unlabelled test row is not used"
    assert sorted(split.validation) == list(range(20, 24))
    assert sorted(split.test) == list(range(24, 30))


def test_a_part_without_labelled_rows_is_refused() -> None:
    with pytest.raises(UsageError, match="leaves no row with a label for validation; split=column"):
        cut(Column("part"), table_of(labels_of(30), [0.0] * 20 + [2.0] * 10))


def test_sizes_are_equal_in_all_trials_unless_it_says_otherwise() -> None:
    table = table_of(labels_of(400, unlabelled=0.4), np.arange(400) % 90)
    for splitting in (Random(), Stratified(), Time(), Group()):
        sizes = {tuple(len(getattr(cut(splitting, table, seed), part)) for part in PARTS) for seed in range(20)}
        assert (len(sizes) > 1) == splitting.is_ragged


@pytest.mark.parametrize("dtype", ["object", "category", "str"])
def test_parts_go_by_the_names_that_people_give_them(dtype: Any) -> None:
    names = {"train": 0, "training": 0, "validation": 1, "valid": 1, "val": 1, "dev": 1, "test": 2, "testing": 2}
    names |= {"holdout": 2, " Train": 0, "DEV ": 1, None: np.nan}

    found = split_values("column", pd.Series(list(names), dtype=dtype), "t.csv")

    np.testing.assert_array_equal(found, list(names.values()))
    with pytest.raises(UsageError, match=r"says 'rest' of a row, and split=column knows train, validation and test"):
        split_values("column", pd.Series(["train", "rest"], dtype=dtype), "t.csv")
