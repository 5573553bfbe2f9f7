"""The transformer is the pre-training of the engine, and needs no labels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from scarf_lightning import ScarfTransformer, load_model
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.fitting import WithoutTest
from scarf_lightning.options import build_parts
from scarf_lightning.training import CellTraining
from tests.composing import config_of
from tests.estimators.small import OF_ENCODERS, N, overrides, table

X, y = table()
CPU = Hardware(torch.device("cpu"), "32-true")


@pytest.mark.parametrize(
    "options",
    [{}, pytest.param({"encoding": "ordinal"}, marks=pytest.mark.slow)],
    ids=["defaults", "codes"],
)
def test_it_is_the_pre_training_of_the_engine(options: dict[str, str]) -> None:
    rows = X.assign(a=X["a"].where(X.index % 7 != 0), c=pd.Categorical(X["c"], categories=["v", "u", "w"]))
    fitted = ScarfTransformer(device="cpu", n_trials=2, options=OF_ENCODERS | options).fit(rows)
    config = config_of(*overrides(OF_ENCODERS | options))
    halves = Table.from_frame(rows, y, categorical=[False, False, True], name="X", source="X")
    read = replace(halves, labels=np.zeros(N, dtype=np.int64), target=Classes(("",)))
    parts = build_parts(config)
    assert parts.pretext is not None
    stack = CellTraining.prepare(config, read, CPU, splitting=WithoutTest).stack((0, 1))  # noqa: PD013
    weights = stack.pretrain(config.pretrain, parts.pretext).part("encoder")
    with torch.no_grad():
        expected = stack.networks.encoder((0, 1), weights)(stack.raw(np.tile(np.arange(N), (2, 1)))).numpy()
    assert fitted.trials_["pretrain_epochs"].tolist() == [2, 2]
    np.testing.assert_array_equal(fitted.transform(rows), np.concatenate(list(expected), axis=1))
    assert (expected[0] != expected[1]).any()


def test_the_labels_are_not_looked_at_and_it_can_be_carried_away(tmp_path: Path) -> None:
    plain, with_labels = (ScarfTransformer(device="cpu", options=OF_ENCODERS).fit(X, its) for its in (None, y))
    plain.save(tmp_path / "m")
    carried = load_model(tmp_path / "m")
    for model in (with_labels, carried):
        np.testing.assert_array_equal(model.transform(X), plain.transform(X))
    with pytest.raises(UsageError, match="has encoders alone, which predict nothing; use transform"):
        carried.predict(X)


def test_without_labels_and_a_pre_training_there_is_nothing_to_learn() -> None:
    with pytest.raises(UsageError, match=r"ScarfTransformer pre-trains; choose a pretrain other than none\."):
        ScarfTransformer(pretrain="none").fit(X)
    with pytest.raises(UsageError, match="ScarfTransformer has no labels, and pretrain=target_aware uses them"):
        ScarfTransformer(options={"pretrain": "target_aware"}).fit(X)
