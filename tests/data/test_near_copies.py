"""The share of near copies, against distances that are computed one by one."""

import math

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.near_copies import NEAR, NEIGHBOURS, share_of_near_copies
from scarf_lightning.data.reading import ReadingOptions
from scarf_lightning.data.untyped import read_table

N = 300


def share(frame: pd.DataFrame) -> float:
    labels = pd.Series(["a", "b"] * (len(frame) // 2))
    return share_of_near_copies(read_table(frame, labels, ReadingOptions(), name="t", source="t"))


def measured(n_times: int, error: float) -> pd.DataFrame:
    random = np.random.default_rng(1)
    truth = np.repeat(random.normal(size=(N // n_times, 4)) * [1, 10, 100, 1000], n_times, axis=0)
    errors = error * random.normal(size=truth.shape) * [1, 10, 100, 1000]
    return pd.DataFrame(truth + errors).add_prefix("x")


@pytest.mark.parametrize(("n_times", "error"), [(1, 0.0), (2, 0.02), (2, 0.1), (3, 0.05)])
def test_it_is_what_distances_one_by_one_give(n_times: int, error: float) -> None:
    frame = measured(n_times, error)
    places = ((frame - frame.mean()) / frame.std(ddof=0)).to_numpy()
    sorted_distances = np.sort(np.abs(places[:, None] - places).max(axis=2), axis=1)
    nearest, kth, twice = (sorted_distances[:, rank] for rank in (1, NEIGHBOURS, 2 * NEIGHBOURS))
    dimension = math.log(2) / math.log(np.median(twice / kth))
    by_chance = 1 - (1 - NEAR**dimension) ** NEIGHBOURS
    assert share(frame) == pytest.approx(max(0.0, np.mean(nearest <= NEAR * kth) - by_chance), abs=1e-9)


def test_rows_with_other_categories_are_no_neighbours_and_even_points_are_no_copies() -> None:
    frame, letters = measured(2, 0.01), np.array(["r", "s", "t"])
    assert share(frame.assign(c=letters[np.arange(N) // 2 % 3])) > 0.9
    assert share(frame.assign(c=letters[np.arange(N) % 2])) < 0.1
    plane = np.random.default_rng(2).uniform(size=(3000, 2))
    assert share(pd.DataFrame(plane).add_prefix("x")) == pytest.approx(0, abs=0.03), "hardly any is left of chance"
