"""The sweeps of the study hold the cells that their pages need, and all of them pass the checks."""

from functools import cache
from itertools import product

import pytest

from scarf_lightning.results import columns
from scarf_lightning.sweeping.cell import Cell, distinct
from tests.composing import ROOT, request_of


@cache
def cells(name: str) -> list[Cell]:
    """The checked cells of a file; nothing is trained."""
    return distinct(request_of(f"sweeps={ROOT}/paper/sweeps/{name}.yaml").cells)


@pytest.mark.slow
def test_every_reading_has_three_regimes_and_its_control() -> None:
    """What control uses of a reading, a control of that reading has; what it does not, the usual one serves."""
    ours = ("pretrain", "corruption", "selection", "views", "loss", "network.pretrain_head")
    settings: dict[str, set[str]] = {}
    for cell in cells("readings"):
        used = columns(cell.config)
        kept = {name: value for name, value in used.items() if not name.startswith(ours)}
        arm = f"{used['pretrain']} {used['method']}"
        settings.setdefault(arm, set()).add(str(kept | {"dataset": cell.config.dataset.id}))

    assert set(settings) == {"none control", "scarf control"}
    assert settings["scarf control"] == settings["none control"]
    assert len({cell.config.dataset.id for cell in cells("readings")}) == 8


@pytest.mark.slow
def test_the_agreement_has_the_papers_arms_on_every_dataset_at_hand() -> None:
    asked = set()
    for config in (cell.config for cell in cells("agreement")):
        asked.add((config.dataset.id, config.regime["name"], config.pretrain.name, config.method["name"]))

    pretrains = ("none", "scarf", "scarf_ae", "no_noise_ae", "scarf_disc")
    competitors = [*((name, "control") for name in pretrains), ("none", "xgboost")]
    arms = [(regime, *each) for regime, each in product(("full", "noise30", "semi25"), competitors)]
    datasets = {dataset for dataset, *_ in asked}
    assert len(datasets) == 33
    assert asked == {(dataset, *arm) for dataset in datasets for arm in arms}
    assert {cell.config.trials for cell in cells("agreement")} == {30}
