from typing import Any

import pytest

from scarf_lightning.results.steps import on_few_steps


def rows(*steps: int | None, pretrain: int | None = None) -> list[dict[str, Any]]:
    return [{"finetune_steps": made, "pretrain_steps": pretrain} for made in steps]


def test_a_cell_of_few_steps_is_named_with_what_to_do() -> None:
    (sentence,) = on_few_steps([rows(5, 7, 400)])

    assert sentence == (
        "In fine-tuning the median trial made 7 steps of the optimiser, fewer than 100: the network may have hardly "
        "learnt. finetune.min_steps=100 finetune.monitor=loss trains on."
    )


def test_of_many_cells_the_fewest_and_the_most_are_named_and_each_phase_by_itself() -> None:
    first, second = on_few_steps([rows(5, pretrain=19), rows(40, pretrain=900), rows(100), rows(None)])

    assert first.startswith("In pre-training the median trial of 1 of 2 cells made 19 steps")
    assert second.startswith("In fine-tuning the median trial of 2 of 3 cells made 5 to 40 steps")


@pytest.mark.parametrize("cells", [[], [[]], [rows(100)], [rows(None)], [[{"accuracy": 1.0}]]])
def test_where_there_is_nothing_to_say(cells: list[list[dict[str, Any]]]) -> None:
    assert on_few_steps(cells) == []
