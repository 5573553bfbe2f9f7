"""The LightningModules for Lightning's own loop."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from multiprocessing.context import get_spawning_popen
from typing import Any, Protocol

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import Batch
from ..data.targets import Labels
from ..engine.encoder import Encoder
from ..engine.modules import Cotraining, Finetuning, Pretraining, StackModule
from ..errors import UsageError

ONE_PROCESS = "All trials train in one process on one device; use devices=1, and other processes for other trials."


class PlainData(Protocol):
    """A LightningDataModule for Lightning's own loop, see `TableDataModule`."""

    trials: tuple[int, ...]
    test_labels: Labels

    def equip(self, module: "PlainModule") -> None:
        """Make the networks of a module, and serve its batches."""


class InOneProcess:
    """Refuses to be sent to processes that a trainer spawns, as by ``strategy="ddp_spawn"``."""

    def __getstate__(self) -> Any:
        # Lightning calls no hook before it spawns.
        if get_spawning_popen() is not None:
            raise UsageError(ONE_PROCESS)
        return super().__getstate__()


class PlainModule(InOneProcess, pl.LightningModule, StackModule):
    """A `StackModule` in Lightning's own loop. Its networks are made by ``data``, or by the trainer's data module.

    Args:
        options: as on the command line, such as ``["corruption=mean", "network.encoder.width=64"]``. They are the
            module's hyperparameters.
        data: a data module that makes the networks at once; ``load_from_checkpoint(file, data=data)`` needs it.
    """

    def __init__(self, options: Sequence[str] = (), *, data: PlainData | None = None) -> None:
        super().__init__()
        self.options = tuple(options)
        if options:
            self.save_hyperparameters({"options": list(options)})
        if data is not None:
            data.equip(self)

    def setup(self, stage: str) -> None:
        """Let the data module make the networks."""
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        if not hasattr(data, "equip"):
            raise UsageError(
                f"{type(self).__name__} makes its networks for a table; give the trainer a data module of it: "
                "trainer.fit(module, TableDataModule(...)) or OpenMLDataModule."
            )
        data.equip(self)

    def configure_optimizers(self) -> torch.optim.Adam:
        """Adam or AdamW, as the engine's loop has it."""
        return self.make_optimizer()

    def on_train_epoch_start(self) -> None:
        # A run that goes on from a checkpoint of an epoch's last step begins the next epoch.
        self.end_epoch("train")
        self.begin_epoch()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The summed loss of a mini-batch."""
        optimizer = self.optimizers(use_pl_optimizer=False)
        assert isinstance(optimizer, torch.optim.Optimizer)
        self.follow_schedules(self.current_epoch * self.steps_per_epoch + batch_idx, optimizer)
        losses = self.losses(batch)
        self.tally("train_loss", losses.detach(), batch.x.shape[1])
        # A trial's loss depends on its own weights alone, so the gradient of the sum is each trial's gradient.
        return losses.sum()

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Log the training loss after an epoch's last step, before callbacks ask for it."""
        if self.trainer.is_last_batch:
            self._log(self.end_epoch("train"))

    def on_train_epoch_end(self) -> None:
        """Log the training loss of an epoch that ended before its last batch."""
        self._log(self.end_epoch("train"))

    def on_validation_epoch_start(self) -> None:
        self.begin_validation()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.validate(batch)

    def on_validation_epoch_end(self) -> None:
        """Log the validation metrics, of which callbacks may watch one."""
        self._log(self.end_epoch("validation"))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep the places of the random streams, and the sums of an epoch that has begun."""
        checkpoint["random_streams"] = [stream.state() for stream in self.streams]
        checkpoint["sums"] = dict(self._sums)
        checkpoint["counts"] = dict(self._counts)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Go on with the random streams and the sums of a checkpoint."""
        if not self.is_built:
            name = type(self).__name__
            raise UsageError(f"{name} makes its networks for a table; use {name}.load_from_checkpoint(..., data=data).")
        for stream, state in zip(self.streams, checkpoint["random_streams"], strict=True):
            stream.go_on(state)
        self._sums = dict(checkpoint["sums"])
        self._counts = defaultdict(int, checkpoint["counts"])

    def _log(self, means: dict[str, NDArray[np.float64]]) -> None:
        """Log means over trials, and of several trials the number of each, such as ``validation_loss/trial_3``."""
        # A mean over an epoch already, of which Lightning has one value.
        log = partial(self.log, on_step=False, on_epoch=True, batch_size=1)
        for name, values in means.items():
            log(name, float(values.mean()), prog_bar=True)
            if len(values) == 1:
                continue
            trials: PlainData = self.trainer.datamodule  # type: ignore[attr-defined]
            for trial, value in zip(trials.trials, values, strict=True):
                log(f"{name}/trial_{trial}", float(value))


class PretrainModule(PlainModule, Pretraining):
    """Trains f and g on a pretext task (paper, Algorithm 1).

    Attributes:
        encoder: f. ``FinetuneModule(encoder=...)`` takes it.
        head: g.
        classifier: the head to the target, for pretexts that use labels.
    """


class FinetuneModule(PlainModule, Finetuning):
    """Trains f and h on hard or soft targets (paper, section 3).

    Args:
        options, data: as `PlainModule` takes them.
        encoder: a pre-trained f to start from, of a `PretrainModule` on the same table; None starts anew.

    Attributes:
        classifier: f and h.
    """

    def __init__(
        self, options: Sequence[str] = (), *, encoder: Encoder | None = None, data: PlainData | None = None
    ) -> None:
        # Before the constructor, which builds the networks if it gets data.
        self.pretrained = None if encoder is None else encoder.state_dict()
        super().__init__(options, data=data)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Predict a mini-batch of test rows."""
        self._tested.append(self.predictions(batch.x))

    def on_test_epoch_start(self) -> None:
        self._tested: list[Tensor] = []

    def on_test_epoch_end(self) -> None:
        """Log the target's metrics of the test rows, such as ``test_accuracy``."""
        predictions = torch.cat(self._tested, dim=1).cpu().numpy()
        data: PlainData = self.trainer.datamodule  # type: ignore[attr-defined]
        of_trials = []
        for trial_predictions, labels in zip(predictions, data.test_labels, strict=True):
            of_trials.append(self._target.measured(trial_predictions, labels))
        means = {}
        for name in of_trials[0]:
            means[f"test_{name}"] = np.array([measured[name] for measured in of_trials])
        self._log(means)

    def predict_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Probabilities of classes, float64 ``(T, N, C)``, or numbers ``(T, N)``."""
        return self.predictions(batch.x)


class CotrainModule(FinetuneModule, Cotraining):
    """Fine-tuning plus a weighted pretext loss on the same batches, on f and a g of its own.

    Attributes:
        classifier: f and h.
        pretrain_head: g.
    """
