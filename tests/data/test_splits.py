import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.data.splits import split_rows
from scarf_lightning.randomness import Purpose, Streams


@given(n=st.integers(10, 3000), seed=st.integers(0, 2**32))
def test_a_split_holds_every_row_once_in_the_papers_shares(n: int, seed: int) -> None:
    split = split_rows(n, np.random.default_rng(seed))
    parts = [split.train, split.validation, split.test]
    assert (np.sort(np.concatenate(parts)) == np.arange(n)).all()
    assert all(part.dtype == np.int64 for part in parts)
    assert abs(len(split.train) - 0.7 * n) <= 1
    assert abs(len(split.validation) - 0.1 * n) <= 0.5
    assert abs(len(split.test) - 0.2 * n) <= 0.5


def test_the_smallest_table_has_a_row_in_every_part() -> None:
    split = split_rows(10, np.random.default_rng(0))
    assert [len(part) for part in (split.train, split.validation, split.test)] == [7, 1, 2]


def test_every_row_is_as_likely_in_every_part() -> None:
    n, repeats = 20, 2000
    counts = np.zeros((3, n))
    random = np.random.default_rng(1)
    for _ in range(repeats):
        split = split_rows(n, random)
        for part, rows in enumerate((split.train, split.validation, split.test)):
            counts[part, rows] += 1
    for share, observed in zip((0.7, 0.1, 0.2), counts, strict=True):
        deviation = np.sqrt(repeats * share * (1 - share))
        assert (np.abs(observed - repeats * share) < 5 * deviation).all()


def test_trials_have_splits_of_their_own() -> None:
    streams = Streams(0, "d")
    tests = {tuple(np.sort(split_rows(200, streams.numpy(t, Purpose.SPLIT)).test)) for t in range(30)}
    assert len(tests) == 30
