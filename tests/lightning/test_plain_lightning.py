"""Lightning's own loop: the same numbers as the engine's, checkpoints, callbacks and refusals."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import (
    EarlyStopping,
    ModelCheckpoint,
)
from pytorch_lightning.demos.boring_classes import BoringModel
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score

from scarf_lightning.engine.fit import Fit
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.lightning import CotrainModule, FinetuneModule, OpenMLDataModule, PretrainModule, TableDataModule
from scarf_lightning.lightning import options as room
from scarf_lightning.lightning.modules import PlainModule
from scarf_lightning.training import CellTraining
from tests.data.sources.test_openml import ID, fill, home, no_network

__all__ = ["home", "no_network"]

SMALL = ["network.encoder.width=8", "network.encoder.depth=2", "network.pretrain_head.width=8", "batch_size=32"]
FINE = [*SMALL[:2], "network.head.width=8", "batch_size=32"]
EPOCHS = 2

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:pytorch_lightning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]


class Curves(pl.Callback):
    """The logged numbers of each epoch, by trial where there are several."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.current_epoch:
            self.on_train_end(trainer, pl_module)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.epochs.append({name: float(value) for name, value in trainer.callback_metrics.items()})


def trainer(*callbacks: pl.Callback, **options: Any) -> pl.Trainer:
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    keeps = any(isinstance(each, ModelCheckpoint) for each in callbacks)
    chosen = {"max_epochs": EPOCHS, "accelerator": "cpu", "enable_checkpointing": keeps} | quiet | options
    return pl.Trainer(callbacks=list(callbacks), **chosen)


def wdbc(trials: int = 1) -> TableDataModule:
    return TableDataModule(load_breast_cancer(as_frame=True).frame, "target", ["recipe=paper"], trials=trials)


def of_engine(data: TableDataModule, phase: str, options: Sequence[str], precision: str) -> Fit:
    """A fit of the same cell by the engine's loop, without early stopping."""
    lengths = [f"{phase}.{name}" for name in (f"max_epochs={EPOCHS}", "patience=null", "restore_best=false")]
    config = room.composed([*data._options, *options, *lengths])
    training = CellTraining.prepare(config, data.table, Hardware(torch.device("cpu"), precision))
    if phase == "pretrain":
        fit = training.pretrain(training.stack(data.trials))  # noqa: PD013 - no frame
    else:
        fit = training.run(data.trials).outcome.fit
    assert fit is not None
    return fit


@pytest.mark.parametrize(
    ("kind", "phase", "options", "trials", "precision"),
    [
        (PretrainModule, "pretrain", [*SMALL, "corruption=marginal"], 1, "32-true"),
        pytest.param(
            PretrainModule, "pretrain", [*SMALL, "pretrain=vime", "pretrain.schedule=cosine"], 3, "64-true",
            marks=pytest.mark.slow,
        ),
        (FinetuneModule, "finetune", [*FINE, "pretrain=none", "finetune.class_weight=balanced"], 2, "bf16-mixed"),
        pytest.param(
            CotrainModule, "finetune", [*SMALL, "pretrain=none", "method=cotrain"], 3, "32-true", marks=pytest.mark.slow
        ),
    ],
)  # fmt: skip
def test_both_loops_compute_the_same_losses_and_weights(
    kind: type[PlainModule], phase: str, options: list[str], trials: int, precision: str
) -> None:
    data, curves = wdbc(trials=trials), Curves()
    own = [each for each in options if each not in ("pretrain=none", "method=cotrain")]
    if "pretrain.schedule=cosine" in own:
        own.append(f"pretrain.max_epochs={EPOCHS}")
    module = kind(own)

    trainer(curves, precision=precision).fit(module, data)
    fit = of_engine(data, phase, options, precision)

    assert len(curves.epochs) == EPOCHS
    for epoch, logged in enumerate(curves.epochs, 1):
        for trial in data.trials:
            (record,) = (each for each in fit.curves if (each["epoch"], each["trial"]) == (epoch, trial))
            ending = f"/trial_{trial}" if trials > 1 else ""
            for name in ("train_loss", "validation_loss"):
                assert logged[name + ending] == pytest.approx(record[name], rel=1e-6)
    trained = dict(module.named_parameters()) | dict(module.named_buffers())
    assert module.state_dict().keys() == fit.weights.keys()
    for name, weight in fit.weights.items():
        assert torch.equal(trained[name], weight), name


def test_ten_lines_pretrain_fine_tune_keep_and_test(tmp_path: Path) -> None:
    """Fine-tuning starts from the pre-trained encoder, and its checkpoint predicts as it does."""
    data, pretraining = wdbc(trials=2), PretrainModule(SMALL)
    keep = ModelCheckpoint(tmp_path, monitor="validation_loss")
    trainer(keep, EarlyStopping("validation_loss", patience=1)).fit(pretraining, data)
    assert Path(keep.best_model_path).exists()
    finetuning = FinetuneModule(FINE, encoder=pretraining.encoder, data=data)
    pretrained = pretraining.encoder.state_dict()
    for name, weight in finetuning.classifier.encoder.state_dict().items():
        assert torch.equal(weight, pretrained[name])

    last = trainer(ModelCheckpoint(tmp_path, filename="last"), max_epochs=6)
    last.fit(finetuning, data)
    (measured,) = last.test(finetuning, data, verbose=False)
    predicted = torch.cat(last.predict(finetuning, data), dim=1).numpy()
    loaded = FinetuneModule.load_from_checkpoint(tmp_path / "last.ckpt", data=data)
    (after,) = trainer().test(loaded, data, verbose=False)

    for trial in data.trials:
        expected = accuracy_score(data.test_labels[trial], predicted[trial].argmax(axis=-1))
        assert measured[f"test_accuracy/trial_{trial}"] == pytest.approx(expected)
        assert expected > 0.8
    means = [measured[f"test_accuracy/trial_{trial}"] for trial in data.trials]
    assert measured["test_accuracy"] == pytest.approx(np.mean(means))
    assert (loaded.options, after) == (tuple(FINE), measured)
    with pytest.raises(UsageError, match=r"FinetuneModule\.load_from_checkpoint\(\.\.\., data=data\)"):
        FinetuneModule.load_from_checkpoint(tmp_path / "last.ckpt")


def test_numbers_are_measured_by_their_own_metrics() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=200)
    data = TableDataModule(pd.DataFrame({"x": x, "y": 3 * x + random.normal(size=200)}), "y")
    module = FinetuneModule([*FINE, "finetune.learning_rate=0.02"])
    with pytest.warns(UserWarning, match="dataset.target_kind=classes takes each of them as a class"):
        trainer(max_epochs=20).fit(module, data)
    (measured,) = trainer().test(module, data, verbose=False)
    assert measured["test_r2"] > 0.5


def test_weights_follow_the_seed_of_the_data_and_not_lightnings() -> None:
    def weights(lightning: int, *options: str) -> torch.Tensor:
        pl.seed_everything(lightning, verbose=False)
        frame = load_breast_cancer(as_frame=True).frame
        module = PretrainModule(SMALL, data=TableDataModule(frame, "target", ["recipe=paper", *options]))
        return torch.cat([each.flatten() for each in module.parameters()])

    assert torch.equal(weights(0), weights(1))
    assert not torch.equal(weights(0), weights(0, "seed=1"))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (partial(TableDataModule, "f.csv", "y", ["corruption=mean"]), "give it to the module"),
        (partial(TableDataModule, "f.csv", "y", ["trials=3"]), "The number of trials is an argument, trials=N"),
        (
            partial(TableDataModule, pd.DataFrame({"a": [1]}), "y"),
            "'y' is not a column of the table. Its columns are: 'a'.",
        ),
        (partial(TableDataModule, np.eye(3), "y"), "must be a file, or a frame whose columns have names, not ndarray"),
        (lambda: TableDataModule("f.csv", "y").setup("fit"), "is set up by a pl.Trainer"),
    ],
)
def test_data_that_cannot_be_served_are_refused(make: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        make()


@pytest.mark.slow
@pytest.mark.usefixtures("no_network")
def test_a_dataset_of_openml_is_read_from_the_cache(tmp_path: Path) -> None:
    fill(tmp_path)
    data = OpenMLDataModule(ID, [f"paths.openml={tmp_path}"])
    module = FinetuneModule(FINE)
    trainer(max_epochs=1).fit(module, data)
    (measured,) = trainer().test(module, data, verbose=False)
    assert 0 <= measured["test_accuracy"] <= 1


@pytest.mark.parametrize(
    ("kind", "option", "sentence"),
    [
        (PretrainModule, "max_epochs=3", r"has none here; how long it trains is pl\.Trainer\(max_epochs=\.\.\.\)"),
        (FinetuneModule, "method=distill", "more than one fit"),
        (FinetuneModule, "method=random_forest", "more than one fit"),
    ],
)
def test_options_that_do_not_fit_the_data_are_refused(kind: type[PlainModule], option: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        kind([option], data=wdbc())


def test_modules_and_trainers_that_do_not_fit_the_data_are_refused() -> None:
    pretraining = PretrainModule(SMALL, data=wdbc())
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60), "y": np.arange(60) % 2})
    with pytest.raises(UsageError, match="not one for this table"):
        FinetuneModule(FINE, encoder=pretraining.encoder, data=TableDataModule(frame, "y"))
    with pytest.raises(UsageError, match="The module is not one for this table and these options"):
        trainer().fit(pretraining, TableDataModule(frame, "y"))
    with pytest.raises(UsageError, match="not one for this table"):
        FinetuneModule(["network.encoder.depth=1"], encoder=pretraining.encoder, data=wdbc())
    with pytest.raises(UsageError, match="give it or the trainer a data module of one"):
        trainer().fit(PretrainModule(SMALL), [1])
    with pytest.raises(UsageError, match=r"is set up by a pl\.Trainer with a PretrainModule"):
        trainer().fit(BoringModel(), wdbc())
    with pytest.raises(UsageError, match="precision='bf16-true' is not served"):
        trainer(precision="bf16-true").fit(PretrainModule(SMALL), wdbc())


@pytest.mark.slow  # imports torch's compiler
def test_a_checkpoint_of_another_table_and_a_compiled_module_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60), "y": np.arange(60) % 2})
    other, first = TableDataModule(frame, "y"), trainer(ModelCheckpoint(tmp_path, filename="last"), max_epochs=1)
    first.fit(PretrainModule(SMALL), wdbc())
    with pytest.raises(UsageError, match="The checkpoint is not one for this table and these options"):
        PretrainModule.load_from_checkpoint(tmp_path / "last.ckpt", data=other)
    with pytest.raises(UsageError, match="The checkpoint is not one for this table and these options"):
        trainer().fit(PretrainModule(SMALL), other, ckpt_path=tmp_path / "last.ckpt")
    with pytest.raises(UsageError, match=r"PretrainModule is trained as it is; leave torch\.compile out"):
        trainer().fit(torch.compile(PretrainModule(SMALL)), other)
