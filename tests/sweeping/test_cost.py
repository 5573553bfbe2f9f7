"""The processor time that a trial is expected to take."""

from typing import Any

import pytest

from scarf_lightning.options import descriptions
from scarf_lightning.options.settings import FinetuneSettings, NetworkSettings, PretrainSettings
from scarf_lightning.sweeping.cost import ALONE, EPOCHS, FIT, ROW, STEP, epochs_of, seconds_of_trial
from scarf_lightning.sweeping.sizes import Size
from tests.cells import some_cell

N_ROWS, TRAINED, STEPS = 10_000, 7000, 54
"""Rows of a table, those that train, and the steps of an epoch of 128 rows."""
EPOCH = STEPS * STEP + TRAINED * ROW["finetune"]
USUAL = FIT + EPOCHS["finetune"] * EPOCH


def seconds(*, n_columns: int = 30, **chosen: Any) -> float:
    """Expected of all phases of a trial on so many rows."""
    config = some_cell(**{"pretrain": "none", "regime": {"name": "full"}} | chosen).config
    return sum(seconds_of_trial(config, Size(N_ROWS, n_columns)).values())


def test_a_fit_takes_so_much_for_each_step_and_each_row() -> None:
    assert seconds() == pytest.approx(USUAL)


@pytest.mark.parametrize(
    ("settings", "epochs"),
    [
        (FinetuneSettings(patience=7), 22),
        (FinetuneSettings(ties="last"), 16.5),
        (FinetuneSettings(validate_every=2), 22),
        (FinetuneSettings(patience=None), 200),
        (FinetuneSettings(monitor="none"), 200),
        (FinetuneSettings(max_epochs=5), 5),
        (FinetuneSettings(min_steps=54 * 55), 55),
        (FinetuneSettings(max_steps=54 * 4), 4),
    ],
)
def test_epochs_follow_from_the_settings(settings: FinetuneSettings, epochs: float) -> None:
    assert seconds(finetune=settings) == pytest.approx(FIT + epochs * EPOCH)


def test_few_rows_train_for_their_fixed_number_of_steps() -> None:
    settings = FinetuneSettings(fixed_below=1000, fixed_steps=300)

    assert epochs_of(settings.of_rows(100), "finetune", 1) == 300
    few = seconds(finetune=settings, regime={"name": "few", "labels": 100})
    assert few == pytest.approx(FIT + 300 * (STEP + 100 * ROW["finetune"]))


@pytest.mark.parametrize(
    "regime", [{"name": "semi25", "labelled": 0.25}, {"name": "few", "labels": 1750}], ids=["share", "number"]
)
def test_supervised_training_sees_the_labels_of_the_regime(regime: dict[str, Any]) -> None:
    assert seconds(regime=regime) == pytest.approx(FIT + 11 * (13 * STEP + 1750 * ROW["finetune"]))


def test_pre_training_sees_all_rows() -> None:
    few = {"name": "few", "labels": 1750}
    more = seconds(regime=few, pretrain=PretrainSettings(name="scarf")) - seconds(regime=few)

    assert more == pytest.approx(FIT + EPOCHS["pretrain"] * (STEPS * STEP + TRAINED * ROW["pretrain"]))


def test_columns_count_beside_the_rest_of_the_network() -> None:
    rows = EPOCHS["finetune"] * TRAINED * ROW["finetune"]

    assert seconds(n_columns=30 + 1330) == pytest.approx(USUAL + rows)


def test_a_network_that_goes_over_columns_costs_by_their_number() -> None:
    network = NetworkSettings(name="ft_transformer")
    fixed = FIT + EPOCHS["finetune"] * STEPS * STEP
    usual, half = (seconds(network=network, n_columns=n) - fixed for n in (30, 15))

    assert usual == pytest.approx(15 * (USUAL - fixed))
    assert half == pytest.approx(usual / 2)


@pytest.mark.parametrize("name", ["resnet", "mlp_plr", "realmlp"])
def test_a_network_costs_what_it_says(name: str) -> None:
    rows = EPOCHS["finetune"] * TRAINED * ROW["finetune"]
    times = descriptions("network")[name].typical_cost

    assert seconds(network=NetworkSettings(name=name)) == pytest.approx(USUAL + (times - 1) * rows)


def test_every_fit_of_a_method_counts() -> None:
    assert seconds(method={"name": "distill"}) == pytest.approx(2 * USUAL)


def test_methods_that_label_rows_make_many_fits_on_ever_more_of_them() -> None:
    half = {"name": "semi25", "labelled": 0.25}
    learnt = (0.25 + 1) / 2 * TRAINED
    fit = FIT + ALONE + 11 * (34 * STEP + learnt * ROW["finetune"])

    for name in ("self_train", "tri_train"):
        times = descriptions("method")[name].typical_fits
        assert seconds(method={"name": name}, regime=half) == pytest.approx(times * fit)


def test_a_search_counts_its_tries() -> None:
    assert seconds(tune=3) == pytest.approx(3 * USUAL)


@pytest.mark.parametrize("name", ["logistic", "xgboost", "probe"])
def test_a_method_without_a_supervised_phase_of_ours_tells_its_own_time(name: str) -> None:
    of_fit, of_thousand_rows = descriptions("method")[name].typical_seconds

    assert seconds(method={"name": name}) == pytest.approx(of_fit + 7 * of_thousand_rows)
    assert seconds(method={"name": name}, n_columns=60) == pytest.approx(of_fit + 14 * of_thousand_rows)
