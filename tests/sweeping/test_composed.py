"""A configuration that plain Hydra composed is the cell of the same command line."""

import shlex
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.expand import composed_cell
from scarf_lightning.sweeping.overrides import hydra_text, spelled_out
from tests.composing import CONF, cells_of, composed

CASES = [
    "",
    "corruption=mean corruption.rate=0.3 scaling=minmax",
    "recipe=practical max_epochs=5 trials=2 seed=3",
    "recipe=realmlp finetune.patience=null",
    "method=cotrain cotrain=vime cotrain.weight=0.5",
    "pretrain=binning network=resnet network.encoder.width=16",
    "method=xgboost regime=few regime.labels=20",
    "dataset=cc18-adult trials=3",
    "dataset=csv dataset.path=a.csv 'dataset.target=Größe (cm)' dataset.drop=[a,b]",
    "method=cotrain cotrain=scarf_ae pretrain=none",
    "pretrain=none method=logistic",
    "logger=wandb paths.results=elsewhere metric=auroc",
]


@pytest.mark.slow
@pytest.mark.parametrize("line", CASES)
def test_a_composed_configuration_is_the_cell_of_its_overrides(line: str) -> None:
    overrides = spelled_out(shlex.split(line))

    (cell,) = composed_cell(composed(*overrides)).cells

    assert cell.config == cells_of(*overrides)[0].config


def test_what_is_no_configuration_of_ours_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^The configuration has no recipe; compose it from conf/ "):
        composed_cell(OmegaConf.create({"trials": 3}))


def test_values_are_written_in_the_grammar_of_hydra() -> None:
    assert hydra_text(["a", "b,c", None, True, 0.5]) == "[a,'b,c',null,true,0.5]"
    assert hydra_text("null") == "'null'"
    assert Path(CONF).is_dir()
