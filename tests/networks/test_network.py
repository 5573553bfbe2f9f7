from scarf_lightning.networks import Columns


def test_encoded_columns_of_each_feature() -> None:
    columns = Columns((0, 3, 0, 1, 2))
    assert (columns.n_features, columns.n_encoded) == (5, 8)
    assert columns.numeric == [0, 4]
    assert columns.categorical == [slice(1, 4), slice(5, 6), slice(6, 8)]


def test_a_table_of_one_kind() -> None:
    assert (Columns((0, 0)).numeric, Columns((0, 0)).categorical) == ([0, 1], [])
    assert (Columns((2,)).numeric, Columns((2,)).categorical) == ([], [slice(0, 2)])


def test_a_number_that_shows_its_gaps_has_two_columns() -> None:
    columns = Columns((0, 3, 0), gaps=(True, False, False))
    assert columns.n_encoded == 6
    assert columns.numeric == [0, 5]
    assert columns.categorical == [slice(1, 2), slice(2, 5)]
    assert columns.of_feature(0) == range(2)
    assert columns.chosen == [0, 0, 1, 2, 3, 4]
    assert Columns((0, 3, 0)).chosen == [0, 1, 2, 3, 4]
