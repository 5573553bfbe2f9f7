"""An alarm: the numbers of one small cell in float64, pinned to the science version."""

import numpy as np

from scarf_lightning.data.sources import WdbcSource
from scarf_lightning.data.trials import Noise30
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.fine_tuning import Control
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.results.identity import SCIENCE_VERSION
from tests.stacks import MakeStack, task

PINNED = {
    3: {
        "pretrain validation loss": [-0.013645991, -0.012959969, -0.013914281],
        "finetune train loss": [0.694792835, 0.688550477, 0.6827183],
        "first probability": [0.50231534, 0.50485243],
    }
}
"""When this fails, a change has altered what a cell computes: raise SCIENCE_VERSION, and pin the new numbers to it."""


def test_numbers_belong_to_the_science_version(make_stack: MakeStack) -> None:
    table = WdbcSource().load()
    stack = make_stack(table, [0, 1], regime=Noise30(), fit_on="train", precision="64-true", width=8)
    pretraining = stack.pretrain(PretrainSettings(max_epochs=3), task())
    outcome = Control().run(stack, SupervisedPhase(FinetuneSettings(max_epochs=3), pretraining.part("encoder")))
    numbers = {
        "pretrain validation loss": [r["validation_loss"] for r in pretraining.curves if r["trial"] == 0],
        "finetune train loss": [r["train_loss"] for r in outcome.fit.curves if r["trial"] == 0],
        "first probability": outcome.predictions[:, 0, 0],
    }
    for name, pinned in PINNED[SCIENCE_VERSION].items():
        np.testing.assert_allclose(numbers[name], pinned, atol=1e-6, err_msg=name)
