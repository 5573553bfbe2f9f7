"""A sentence on phases of few steps."""

from typing import Any

from scarf_lightning.results import few_steps_note


def rows(*steps: int | None, pretrain: int | None = None) -> list[dict[str, Any]]:
    return [{"finetune_steps": made, "pretrain_steps": pretrain} for made in steps]


def test_a_cell_is_named_with_what_to_do() -> None:
    (sentence,) = few_steps_note([rows(5, 7, 400)])

    assert sentence == (
        "The median trial of a cell made 7 optimiser steps in finetune, fewer than 100: networks may have learnt "
        "too little. finetune.min_steps=100 finetune.monitor=loss trains longer."
    )


def test_of_many_cells_the_fewest_are_named_in_one_sentence() -> None:
    cells = [rows(5, pretrain=19), rows(40, pretrain=900), rows(100), rows(None)]
    (sentence,) = few_steps_note(cells)

    assert sentence.startswith(
        "The median trial of a cell made 19 optimiser steps in pretrain and 5 optimiser steps in finetune, "
    )


def test_there_may_be_nothing_to_say() -> None:
    nothing: list[list[list[dict[str, Any]]]] = [[], [[]], [[{"finetune_steps": 100}]], [[{"accuracy": 1.0}]]]
    for cells in nothing:
        assert few_steps_note(cells) == []
