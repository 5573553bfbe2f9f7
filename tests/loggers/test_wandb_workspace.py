"""The panels of a sweep's workspace, as W&B's own client has them."""

import pytest

from scarf_lightning.loggers.wandb_runs import sections_of
from scarf_lightning.metrics import metric_named


@pytest.mark.slow  # imports the client
def test_the_answer_stands_before_a_section_an_axis_whose_panels_are_grouped_by_it() -> None:
    answer, *by_axis = sections_of(["corruption", "pretrain.max_epochs"], metric_named("accuracy"))

    assert [section.name for section in (answer, *by_axis)] == [
        "The answer", "By corruption", "By pretrain.max_epochs",
    ]  # fmt: skip
    for section, option in zip(by_axis, ("corruption.name", "pretrain.max_epochs"), strict=True):
        assert [panel.groupby.name for panel in section.panels] == [option] * 3
        assert section.panels[0].metrics == ["accuracy"]
