"""Curves over trials: their mean and its band."""

import math
from typing import Any

import pandas as pd
import pytest

from scarf_lightning.loggers.view import mean_curves


def record(phase: str, trial: int, epoch: int, **values: float) -> dict[str, Any]:
    return {"phase": phase, "trial": trial, "epoch": epoch} | values


CURVES = pd.DataFrame(
    [
        *(record("pretrain", 0, epoch, validation_loss=loss) for epoch, loss in ((1, 4.0), (2, 2.0), (3, 1.0))),
        record("pretrain", 5, 1, validation_loss=8.0),
        record("finetune", 0, 1, validation_loss=0.5, validation_error=0.25),
    ]
)
"""Trial 5 stops after one epoch."""


def test_a_trial_that_has_stopped_keeps_its_last_value_and_the_band_is_one_standard_deviation() -> None:
    curves = mean_curves(CURVES)["pretrain"]
    mean = curves["validation_loss_mean"]
    assert curves.index.tolist() == [1, 2, 3]
    assert mean.tolist() == [6, 5, 4.5]
    assert curves["trials_training"].tolist() == [2, 1, 1]
    widths = [math.sqrt(8), math.sqrt(18), math.sqrt(24.5)]
    assert (curves["validation_loss_high"] - mean).tolist() == pytest.approx(widths)
    assert (mean - curves["validation_loss_low"]).tolist() == pytest.approx(widths)


def test_phases_have_their_own_curves_and_one_trial_has_no_band() -> None:
    curves = mean_curves(CURVES)
    assert list(curves) == ["pretrain", "finetune"]
    assert "validation_error_mean" not in curves["pretrain"]
    assert curves["finetune"].loc[1].to_dict() == {
        **dict.fromkeys(("validation_loss_mean", "validation_loss_low", "validation_loss_high"), 0.5),
        **dict.fromkeys(("validation_error_mean", "validation_error_low", "validation_error_high"), 0.25),
        "trials_training": 1,
    }
    assert mean_curves(pd.DataFrame(columns=["phase", "trial", "epoch"])) == {}, "of no network"
