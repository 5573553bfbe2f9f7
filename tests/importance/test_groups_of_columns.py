"""Columns that say the same, beside SciPy's measures."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.importance.groups import groups_of, named_groups

N = 200


def table() -> Table:
    random = np.random.default_rng(4)
    size = random.normal(size=N)
    colour = random.choice(["red", "green", "blue"], N)
    frame = pd.DataFrame(
        {
            "size": size,
            "cube": size**3,
            "noise": random.normal(size=N),
            "colour": colour,
            "farbe": pd.Series(colour).map({"red": "rot", "green": "grün", "blue": "blau"}),
            "other": random.choice(["x", "y"], N),
            "minus": -size + 0.01 * random.normal(size=N),
        }
    )
    frame.loc[::10, "cube"] = np.nan
    return of_frame(frame)


def of_frame(frame: pd.DataFrame) -> Table:
    target = pd.Series(np.where(np.arange(len(frame)) % 2, "x", "y"))
    categorical = [not pd.api.types.is_numeric_dtype(frame[name]) for name in frame]
    return Table.from_frame(frame, target, categorical=categorical, name="t", source="t")


def test_columns_that_determine_each_other_are_one_group() -> None:
    """A monotonous function, with gaps and either sign; and the same categories by other names."""
    assert groups_of(table()) == [[0, 1, 6], [3, 4]]


def test_the_association_of_numbers_is_spearmans_correlation() -> None:
    first = np.arange(40.0)
    second = first + 15 * np.sin(first**2)
    correlation = abs(stats.spearmanr(first, second).statistic)
    its = of_frame(pd.DataFrame({"a": first, "b": second}))

    assert 0.3 < correlation < 0.95
    assert groups_of(its, correlation - 1e-9) == [[0, 1]]
    assert not groups_of(its, correlation + 1e-9)


def test_the_association_of_categories_is_cramers() -> None:
    counts = np.array([[30, 5], [10, 25], [5, 15]])
    rows = [(str(row), str(column)) for (row, column), n in np.ndenumerate(counts) for _ in range(n)]
    association = stats.contingency.association(counts, method="cramer")
    its = of_frame(pd.DataFrame(rows, columns=["a", "b"]))

    assert groups_of(its, association - 1e-9) == [[0, 1]]
    assert not groups_of(its, association + 1e-9)


def test_groups_by_name_are_places_and_others_are_refused() -> None:
    assert named_groups(table(), [["noise", "size"]]) == [[2, 0]]
    with pytest.raises(UsageError, match=r"groups names 'nois', which is no column.*noise"):
        named_groups(table(), [["nois"]])
