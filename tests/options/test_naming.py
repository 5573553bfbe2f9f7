from datetime import date

from scarf_lightning.options.naming import group_of, told_apart

DAY = date(2026, 3, 1)
MEAN = ("dataset=iris", "corruption=mean", "trials=5", "logger=wandb")
GAUSSIAN = ("dataset=iris", "corruption=gaussian", "trials=5", "logger=wandb")


def test_cells_are_called_by_what_is_asked_of_one_and_not_of_all() -> None:
    assert told_apart([MEAN, GAUSSIAN]) == ["corruption=mean", "corruption=gaussian"]
    assert told_apart([MEAN, MEAN[:1]]) == ["corruption=mean", "defaults"]


def test_one_cell_is_called_by_all_that_is_asked_of_it_but_how_and_where_to_train() -> None:
    assert told_apart([MEAN]) == ["dataset=iris corruption=mean"]


def test_a_group_is_called_by_what_varies_and_the_day() -> None:
    assert group_of([MEAN, GAUSSIAN], DAY) == "corruption 2026-03-01"
    assert group_of([MEAN, ("scaling=mean",)], DAY) == "dataset, corruption, scaling 2026-03-01"
    assert group_of([MEAN], DAY) == "cells 2026-03-01"
