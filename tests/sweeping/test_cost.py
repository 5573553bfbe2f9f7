"""The processor time that a trial is expected to take."""

from typing import Any

import pytest

from scarf_lightning.options import parts
from scarf_lightning.options.settings import FinetuneSettings, NetworkSettings, PretrainSettings
from scarf_lightning.sweeping.cost import ALONE, EPOCHS, FIT, ROW, STEP, epochs_of, seconds_of_trial
from scarf_lightning.sweeping.sizes import Size
from tests.cells import some_cell

N_ROWS, TRAINED, STEPS = 10_000, 7000, 54
"""Rows of a table, those that train, and the steps of an epoch of 128 rows."""
EPOCH = STEPS * STEP + TRAINED * ROW["finetune"]
USUAL = FIT + EPOCHS["finetune"] * EPOCH
ROWS = EPOCHS["finetune"] * TRAINED * ROW["finetune"]
"""Of the rows of a usual fit."""
HALF: dict[str, Any] = {"name": "semi25", "labelled": 0.25}
FEW: dict[str, Any] = {"name": "few", "labels": 1750}
FIXED = FinetuneSettings(fixed_below=1000, fixed_steps=300)
LEARNT = FIT + ALONE + 11 * (34 * STEP + (0.25 + 1) / 2 * TRAINED * ROW["finetune"])
"""A fit of a method that labels rows, on ever more of them."""


def seconds(*, n_columns: int = 30, **chosen: Any) -> float:
    """Expected of all phases of a trial on so many rows."""
    config = some_cell(**{"pretrain": "none", "regime": {"name": "full"}} | chosen).config
    return sum(seconds_of_trial(config, Size(N_ROWS, n_columns)).values())


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, USUAL),
        *(
            ({"finetune": settings}, FIT + epochs * EPOCH)
            for settings, epochs in (
                (FinetuneSettings(patience=7), 22),
                (FinetuneSettings(ties="last"), 16.5),
                (FinetuneSettings(validate_every=2), 22),
                (FinetuneSettings(patience=None), 200),
                (FinetuneSettings(monitor="none"), 200),
                (FinetuneSettings(max_epochs=5), 5),
                (FinetuneSettings(min_steps=54 * 55), 55),
                (FinetuneSettings(max_steps=54 * 4), 4),
            )
        ),
        # Few rows train for their fixed number of steps.
        ({"finetune": FIXED, "regime": FEW | {"labels": 100}}, FIT + 300 * (STEP + 100 * ROW["finetune"])),
        # Supervised training sees the labels of the regime, pre-training all rows.
        *(({"regime": regime}, FIT + 11 * (13 * STEP + 1750 * ROW["finetune"])) for regime in (HALF, FEW)),
        (
            {"pretrain": PretrainSettings(name="scarf")},
            USUAL + FIT + EPOCHS["pretrain"] * (STEPS * STEP + TRAINED * ROW["pretrain"]),
        ),
        (
            {"pretrain": PretrainSettings(name="scarf", rows=1280)},
            USUAL + FIT + EPOCHS["pretrain"] * (10 * STEP + 1280 * ROW["pretrain"]),
        ),
        # Columns count beside the rest of the network, or by their number where it goes over columns.
        ({"n_columns": 30 + 1330}, USUAL + ROWS),
        ({"network": NetworkSettings(name="ft_transformer")}, USUAL + 14 * ROWS),
        ({"network": NetworkSettings(name="ft_transformer"), "n_columns": 15}, USUAL + 6.5 * ROWS),
        ({"method": {"name": "distill"}}, 2 * USUAL),
        *(
            ({"method": {"name": name}, "regime": HALF}, parts("method")[name].typical_fits * LEARNT)
            for name in ("self_train", "tri_train")
        ),
    ],
)
def test_a_fit_takes_so_much_for_each_step_and_each_row(chosen: dict[str, Any], expected: float) -> None:
    assert seconds(**chosen) == pytest.approx(expected)


def test_an_epoch_of_few_rows_is_a_step() -> None:
    assert epochs_of(FIXED.fit_to_rows(100), "finetune", 1) == 300


def test_a_network_and_a_method_without_a_supervised_phase_of_ours_cost_what_they_say() -> None:
    for name in ("resnet", "mlp_plr", "realmlp"):
        times = parts("network")[name].typical_cost
        assert seconds(network=NetworkSettings(name=name)) == pytest.approx(USUAL + (times - 1) * ROWS)
    for name in ("logistic", "xgboost", "probe"):
        of_fit, of_thousand_rows = parts("method")[name].typical_seconds
        assert seconds(method={"name": name}) == pytest.approx(of_fit + 7 * of_thousand_rows)
        assert seconds(method={"name": name}, n_columns=60) == pytest.approx(of_fit + 14 * of_thousand_rows)
