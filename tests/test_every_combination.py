"""Every legal combination of method, pre-training and regime, trained to the end."""

import numpy as np
import pytest
from rich.console import Console

from scarf_lightning.config import Config, build_parts, check_combination
from scarf_lightning.data.sources import open_source
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.modules.hardware import Hardware, choose_device
from scarf_lightning.randomness import Streams
from scarf_lightning.results import StackRecord
from scarf_lightning.trial_stack import train_stack
from tests.composing import config_of, names

FITS = {"distill": {2}, "deep_knn": {2}, "self_train": {2, 3}, "tri_train": {6, 9}}


@pytest.fixture(scope="module")
def wdbc() -> Table:
    return open_source("wdbc", name=None, openml_cache=None).load()


def trained(config: Config, table: Table) -> StackRecord:
    config.network.encoder.width = config.network.pretrain_head.width = config.network.head.width = 8
    config.pretrain.max_epochs = config.finetune.max_epochs = 2
    if "iterations" in config.method and "threshold" in config.method:
        config.method["iterations"] = 2
    hardware, streams = Hardware(choose_device("cpu")), Streams(config.seed, table.hash)
    return train_stack(config, build_parts(config), table, range(2), streams, hardware, Console(quiet=True))


@pytest.mark.slow
@pytest.mark.parametrize("regime", names("regime"))
@pytest.mark.parametrize("pretrain", names("pretrain"))
@pytest.mark.parametrize("method", names("method"))
def test_legal_ones_run_and_illegal_ones_are_refused_by_name(
    method: str, pretrain: str, regime: str, wdbc: Table
) -> None:
    config = config_of(f"method={method}", f"pretrain={pretrain}", f"regime={regime}")
    try:
        check_combination(config)
    except UsageError:
        with pytest.raises(UsageError, match=f"method={method} does not go with"):
            build_parts(config)
        return
    record = trained(config, wdbc)
    assert [row["trial"] for row in record.rows] == [0, 1]
    for row in record.rows:
        assert np.isfinite([row["accuracy"], row["log_loss"], row["finetune_seconds"]]).all()
        assert row["fits"] in FITS.get(method, {1})
        assert (row["pretrain_epochs"] is None) == (pretrain == "none")


@pytest.mark.parametrize(
    ("option", "n_labelled"), [("regime=semi25 regime.labelled=0.1", 40), ("regime=noise30 regime.noise=0.4", 398)]
)
def test_shares_of_the_regimes_are_options(option: str, n_labelled: int, wdbc: Table) -> None:
    record = trained(config_of(*option.split(), "pretrain=none"), wdbc)
    assert {row["n_labelled"] for row in record.rows} == {n_labelled}
