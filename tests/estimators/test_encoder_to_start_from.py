"""An encoder that was fitted on unlabelled rows is saved and fine-tuned on another table with the same columns."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning import ScarfClassifier, ScarfRegressor, ScarfTransformer, load_model
from scarf_lightning.errors import UsageError

SMALL = {"network.encoder.width": 16, "network.pretrain_head.width": 16}
HEAD: dict[str, Any] = {"network.head.width": 16, "finetune.min_steps": 0}
STILL = HEAD | {"finetune.freeze": "encoder", "finetune.max_epochs": 1}
"""The encoder stays as it is."""


def rows(seed: int, n: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"size": random.normal(50 + seed, 9, n), "colour": random.choice(["red", "blue", "green"], n)})
    table.loc[::11, "size"] = np.nan
    return table


LABELLED = rows(5, 60)[["colour", "size"]]


@pytest.fixture(scope="module")
def transformer() -> ScarfTransformer:
    return ScarfTransformer(n_trials=2, device="cpu", options=SMALL | {"pretrain.max_epochs": 2}).fit(rows(0, 90))


@pytest.mark.parametrize("kind", ["fitted", "loaded", "folder"])
def test_networks_start_from_it(transformer: ScarfTransformer, tmp_path: Path, kind: str) -> None:
    """With a frozen encoder the networks embed as it does: its weights, preprocessing and categories are taken over."""
    transformer.save(tmp_path / "encoder")
    given = {"fitted": transformer.model_, "loaded": load_model(tmp_path / "encoder"), "folder": tmp_path / "encoder"}
    y = np.where(LABELLED["colour"] == "red", "yes", "no")
    classifier = ScarfClassifier(encoder=given[kind], n_trials=3, device="cpu", options=STILL).fit(LABELLED, y)
    pretrained, tuned = transformer.transform(LABELLED), classifier.transform(LABELLED)
    assert np.array_equal(tuned[:, :32], pretrained)
    assert np.array_equal(tuned[:, 32:], pretrained[:, :16]), "the third network starts from the first encoder again"
    assert classifier.choice_ is None
    assert classifier.trials_["finetune_epochs"].tolist() == [1, 1, 1]


def test_it_is_trained_further_for_numbers_too_and_saved(transformer: ScarfTransformer, tmp_path: Path) -> None:
    y = 900 + 5 * LABELLED["size"].fillna(50).to_numpy()
    options = HEAD | {"finetune.max_epochs": 2}
    regressor = ScarfRegressor(encoder=transformer.model_, n_trials=2, device="cpu", options=options).fit(LABELLED, y)
    regressor.save(tmp_path / "model")
    assert not np.array_equal(regressor.transform(LABELLED), transformer.transform(LABELLED))
    assert np.array_equal(load_model(tmp_path / "model").predict(LABELLED), regressor.predict(LABELLED))
    assert regressor.trials_["pretrain_epochs"].isna().all()
    other = ScarfRegressor(pretrain="none", n_trials=2, device="cpu", options=options | {"network.encoder.width": 16})
    assert regressor.trials_["rmse"].tolist() != other.fit(LABELLED, y).trials_["rmse"].tolist()


@pytest.mark.parametrize(
    ("parameters", "columns", "sentence"),
    [
        ({"encoder": 3}, ["size"], r"encoder must be a model, such as transformer\.model_ .*, not int"),
        ({"encoder": "nowhere"}, ["size"], "nowhere is no model: there is no such folder"),
        ({"pretrain": "scarf"}, ["size"], "pretrain is settled by the encoder to start from; leave it out"),
        ({"network": "resnet"}, ["size"], "network is settled by the encoder"),
        ({"options": {"network.encoder.width": 8}}, ["size"], r"options: network\.encoder\.width is settled by the"),
        ({"options": {"dataset.numeric": ["size"]}}, ["size"], r"options: dataset\.numeric is settled by the encoder"),
        ({"options": {"pretrain.max_epochs": 8}}, ["size"], r"pretrain\.max_epochs is set, but has no effect"),
        ({}, ["colour"], "The rows lack 'size', which the model was trained on"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    transformer: ScarfTransformer, parameters: dict[str, Any], columns: list[str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        ScarfClassifier(**{"encoder": transformer.model_} | parameters).fit(LABELLED[columns], LABELLED["colour"])
