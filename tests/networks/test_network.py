import pytest

from scarf_lightning.networks import Columns
from tests.networks.in_a_stack import KINDS_OF_TABLES, make_table


@pytest.mark.parametrize("n_categories", KINDS_OF_TABLES.values(), ids=KINDS_OF_TABLES)
def test_columns_are_those_of_the_table(n_categories: tuple[int, ...]) -> None:
    table = make_table(n_categories)

    columns = Columns.of(table.columns)

    assert (columns.n_categories, columns.gaps) == (n_categories, ())
    assert columns.n_encoded == table.n_encoded


@pytest.mark.parametrize(
    ("n_categories", "gaps", "numeric", "categorical", "owners"),
    [
        ((0, 3, 0, 1), (), [0, 4], [slice(1, 4), slice(5, 6)], [0, 1, 1, 1, 2, 3]),
        ((0, 3, 0), (True, False, False), [0, 5], [slice(1, 2), slice(2, 5)], [0, 0, 1, 1, 1, 2]),
    ],
)
def test_encoded_columns_of_each_feature(
    n_categories: tuple[int, ...],
    gaps: tuple[bool, ...],
    numeric: list[int],
    categorical: list[slice],
    owners: list[int],
) -> None:
    """A number that shows its gaps has two columns."""
    columns = Columns(n_categories, gaps=gaps)
    assert (columns.n_features, columns.n_encoded) == (len(n_categories), len(owners))
    assert (columns.numeric, columns.categorical, columns.owners) == (numeric, categorical, owners)
    for feature in range(columns.n_features):
        assert [place for place, owner in enumerate(owners) if owner == feature] == [*columns.encoded_columns(feature)]
