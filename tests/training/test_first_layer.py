"""`finetune.first_layer`: what of g is left to h."""

import pytest
import torch

from scarf_lightning.config import build_parts
from scarf_lightning.data.sources.wdbc import WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.engine.fitting import Fit
from scarf_lightning.errors import UsageError
from scarf_lightning.pretexts.scarf import Scarf
from scarf_lightning.training.phases import train_phases
from tests.composing import config_of
from tests.short_training import hardware_of, no_cache, short

STILL = "finetune.learning_rate=1e-30"
"""Too little to change a weight that is not zero."""
FIRST_LAYERS = {
    "scarf": "layers.0",
    "scarf_ae": "layers.0",
    "scarf_disc": "0.layers.0",
    "subtab": "projection.layers.0",
}


@pytest.fixture(scope="module")
def wdbc() -> Table:
    return WdbcSource().load()


def fits(table: Table, *overrides: str) -> tuple[Fit | None, Fit]:
    """The pre-training and the fine-tuning of two trials."""
    config = short(config_of(*overrides, STILL))
    trained = train_phases(
        config, build_parts(config), table, [0, 1], no_cache(config, table), hardware_of(config), console=None
    )
    assert trained.outcome.fit is not None
    return trained.pretraining, trained.outcome.fit


@pytest.mark.parametrize(("pretext", "layer"), FIRST_LAYERS.items())
def test_h_starts_from_the_first_layer_of_g_and_is_fresh_beyond_it(pretext: str, layer: str, wdbc: Table) -> None:
    pretraining, kept = fits(wdbc, f"pretrain={pretext}", "finetune.first_layer=pretrained")
    _, fresh = fits(wdbc, "pretrain=none")
    assert pretraining is not None

    for of in ("weight", "bias"):
        first = kept.weights[f"classifier.head.layers.0.{of}"]
        torch.testing.assert_close(first, pretraining.weights[f"head.{layer}.{of}"], rtol=0, atol=1e-25)
        last = f"classifier.head.layers.1.{of}"
        torch.testing.assert_close(kept.weights[last], fresh.weights[last], rtol=0, atol=1e-25)
    for name, weight in pretraining.part("encoder.body").items():
        torch.testing.assert_close(kept.weights[f"classifier.encoder.body.{name}"], weight, rtol=0, atol=1e-25)


def test_a_task_that_names_no_layer_of_its_g_is_refused(wdbc: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scarf, "first_layer", "trunk.0")

    with pytest.raises(UsageError, match="g has no layer that its task names"):
        fits(wdbc, "pretrain=scarf", "finetune.first_layer=pretrained")


def test_by_default_g_is_thrown_away(wdbc: Table) -> None:
    _, pretrained = fits(wdbc, "pretrain=scarf")
    _, fresh = fits(wdbc, "pretrain=none")

    for name in (name for name in fresh.weights if name.startswith("classifier.head.")):
        torch.testing.assert_close(pretrained.weights[name], fresh.weights[name], rtol=0, atol=1e-25)


def test_every_model_of_a_method_starts_from_it(wdbc: Table) -> None:
    asked = ("pretrain=scarf", "finetune.first_layer=pretrained", "regime=semi25", "method=self_train")
    pretraining, kept = fits(wdbc, *asked)
    assert pretraining is not None

    layer = "layers.0.weight"
    assert torch.equal(kept.weights[f"classifier.head.{layer}"], pretraining.weights[f"head.{layer}"])
