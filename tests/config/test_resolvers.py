"""Choices that depend on the data, as `dataset=openml` makes them."""

import pytest

from tests.composing import cells_of, config_of


@pytest.mark.parametrize(
    ("asked", "scaling"),
    [
        (["dataset.id=28"], "none"),
        (["dataset.id=1468"], "none"),
        (["dataset.id=4134"], "none"),
        (["dataset.task=9981"], "none"),
        (["dataset.id=31"], "zscore"),
        (["dataset.id=28", "scaling=minmax"], "minmax"),
    ],
)
def test_the_papers_three_datasets_are_not_scaled_unless_the_user_says_so(asked: list[str], scaling: str) -> None:
    assert config_of("dataset=openml", *asked).scaling == {"name": scaling}


@pytest.mark.parametrize(("number", "file"), [(28, "cc18-optdigits"), (1510, "cc18-wdbc")])
def test_a_number_is_the_cell_that_its_name_is(number: int, file: str) -> None:
    (by_number,), (by_name,) = cells_of("dataset=openml", f"dataset.id={number}"), cells_of(f"dataset={file}")

    assert by_number.key == by_name.key


@pytest.mark.parametrize(
    ("asked", "split"),
    [
        (["dataset=openml", "dataset.task=59"], "task"),
        (["dataset=openml", "dataset.task=59", "split=stratified"], "stratified"),
        (["dataset=openml", "dataset.id=31"], "random"),
        (["dataset=wdbc"], "random"),
    ],
)
def test_a_task_brings_its_split_unless_the_user_says_otherwise(asked: list[str], split: str) -> None:
    assert config_of(*asked).split["name"] == split
