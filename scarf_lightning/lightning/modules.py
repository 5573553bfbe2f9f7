"""The LightningModules for Lightning's own loop."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.datamodule import Batch
from ..engine.lifting import part_of, with_trial_axis, without_trial_axis
from ..engine.stack_modules import Cotraining, Finetuning, Pretraining, StackModule
from ..errors import UsageError
from .encoders import check_shapes, read_encoder
from .options import Options, check_options, overrides_of

NETWORKS = ("encoder", "head", "classifier", "pretrain_head")
"""The attributes of modules that are networks of the engine's."""
NO_NETWORKS = (
    "{0} has no networks before it meets a table: give it data, as in {0}(data=data) "
    "or {0}.load_from_checkpoint(..., data=data), or train it first."
)


class PlainModule(pl.LightningModule, StackModule):
    """A `StackModule` in Lightning's own loop. Its networks are made by ``data``, or by the trainer's data module.

    Of one trial, batches, outputs and checkpoints have no trial axis. A checkpoint has each linear layer as torch does.
    Weights and draws follow the ``seed`` of the data module, whatever ``pl.seed_everything`` sets.

    Args:
        options: those of the command line, as a text, ``"corruption=mean network.encoder.width=64"``, or a list. They
            are the module's hyperparameters.
        encoder: an f to start from. A module of one's own, from encoded rows ``(N, D)`` to embeddings ``(N, E)``, is
            trained itself. Of the ``.encoder`` of another of these modules a copy is trained.
        data: a `TableDataModule` that makes the networks at once; ``load_from_checkpoint(file, data=data)`` needs it.
        keywords: more options, such as ``corruption="mean", network={"encoder": {"width": 64}}``.

    Raises:
        UsageError: an option is unknown, is none of this module, or has a wrong value; or the encoder is no module.
    """

    implied: ClassVar[tuple[str, ...]] = ()
    """Options that the class itself stands for."""

    def __init__(
        self,
        options: Options = (),
        *,
        encoder: nn.Module | None = None,
        data: Any = None,
        **keywords: Any,
    ) -> None:
        super().__init__()
        self.options = overrides_of(options, keywords)
        self.own_encoder, self.pretrained = read_encoder(encoder)
        check_options(self, self.options, has_own_encoder=self.own_encoder is not None)
        self.save_hyperparameters({"options": list(self.options)})
        if data is not None:
            self._equipping(data).equip(self)

    def forward(self, x: Tensor) -> Tensor:
        """Embeddings ``(N, E)`` by a `PretrainModule`, outputs of h ``(N, C)`` by others.

        Several trials have their axis in front.

        Args:
            x: rows as a batch has them, ``(N, M)``.

        Raises:
            UsageError: there are no networks yet, or rows have another shape.
        """
        if not self.is_built:
            raise UsageError(NO_NETWORKS.format(type(self).__name__))
        networks: Any = self
        axes, n_features = ("" if self._is_alone else f"{len(self.roster)}, "), networks.encoder.columns.n_features
        if not isinstance(x, Tensor) or x.dim() != (2 if self._is_alone else 3) or x.shape[-1] != n_features:
            raise UsageError(
                f"{type(self).__name__} takes rows as a tensor ({axes}N, {n_features}), as data.rows(frame) makes "
                f"them, and not {type(x).__name__} {getattr(x, 'shape', '')}."
            )
        out: Tensor = (networks.encoder if isinstance(self, Pretraining) else networks.classifier)(x)
        return out

    def state_dict(self, *, prefix: str = "", **rest: Any) -> dict[str, Any]:  # type: ignore[override]
        """The weights; of one trial without its axis."""
        state: dict[str, Any] = super().state_dict(prefix=prefix, **rest)
        self._change_axes(state, prefix, without_trial_axis)
        return state

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Torch calls it before it loads the layers.
        self._change_axes(state_dict, prefix, with_trial_axis)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _change_axes(self, state: dict[str, Any], prefix: str, change: Callable[..., dict[str, Tensor]]) -> None:
        """Change the weights of the networks of one trial in their place."""
        for name, network in self.named_children():
            if name in NETWORKS and self._is_alone:
                for key, tensor in change(network, part_of(state, prefix + name)).items():
                    state[f"{prefix}{name}.{key}"] = tensor

    def losses(self, batch: Batch) -> Tensor:
        """Training loss of each trial, ``(T,)``."""
        return super().losses(self._stacked(batch))  # type: ignore[safe-super]

    @property
    def _is_alone(self) -> bool:
        """True for one trial."""
        return self.is_built and len(self.roster) == 1

    def _stacked(self, batch: Batch) -> Batch:
        """A batch with the trial axis."""
        return batch.map(lambda tensor: tensor.unsqueeze(0)) if batch.x.dim() == 2 else batch

    def setup(self, stage: str) -> None:
        """Make sure that a data module has made the networks."""
        if getattr(self, "_compiler_ctx", None) is not None:
            raise UsageError(f"{type(self).__name__} is trained as it is; leave torch.compile out.")
        self._equipping(self._data)

    def _equipping(self, data: Any) -> Any:
        """The data module, which can make networks for its table."""
        if not hasattr(data, "equip"):
            raise UsageError(
                f"{type(self).__name__} makes its networks for a table; give it or the trainer a data module of one: "
                "trainer.fit(module, TableDataModule(...))."
            )
        return data

    @property
    def _data(self) -> Any:
        """The trainer's `TableDataModule`."""
        return self.trainer.datamodule  # type: ignore[attr-defined]

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
        self.tally("train_loss", losses.detach(), batch.x.shape[-2])
        # A trial's loss depends on its own weights alone, so the gradient of the sum is each trial's gradient.
        return losses.sum()

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Log the training loss after an epoch's last step, before callbacks ask for it."""
        if self.trainer.is_last_batch:
            self.log_means(self.end_epoch("train"))

    def on_train_epoch_end(self) -> None:
        """Log the training loss of an epoch that ended before its last batch."""
        self.log_means(self.end_epoch("train"))

    def on_validation_epoch_start(self) -> None:
        self.begin_validation()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.validate(self._stacked(batch))

    def on_validation_epoch_end(self) -> None:
        """Log the validation metrics, of which callbacks may watch one."""
        self.log_means(self.end_epoch("validation"))

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse the checkpoint of another table or of other options."""
        if not self.is_built:
            raise UsageError(NO_NETWORKS.format(type(self).__name__))
        check_shapes("checkpoint", checkpoint["state_dict"], self)

    def log_means(self, means: dict[str, NDArray[np.float64]]) -> None:
        """Log means over trials, and of several trials the number of each, such as ``validation_loss/trial_3``."""
        # A mean over an epoch already, of which Lightning has one value.
        log = partial(self.log, on_step=False, on_epoch=True, batch_size=1)
        for name, values in means.items():
            log(name, float(values.mean()), prog_bar=True)
            for trial, value in zip(self._data.trials, values, strict=True):
                if len(values) > 1:
                    log(f"{name}/trial_{trial}", float(value))


class PretrainModule(PlainModule, Pretraining):
    """Trains f and g on a pretext task (paper, Algorithm 1).

    Attributes:
        encoder: f. ``FinetuneModule(encoder=...)`` takes it.
        head: g.
        classifier: the head to the target, for pretexts that use labels.
    """

    def predict_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Embeddings ``(N, E)``; of several trials ``(T, N, E)``."""
        return self.forward(batch.x)


class FinetuneModule(PlainModule, Finetuning):
    """Trains f and h on hard or soft targets (paper, section 3).

    Attributes:
        classifier: f and h.
    """

    # No pre-training comes before it.
    implied: ClassVar[tuple[str, ...]] = ("pretrain=none",)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Predict a mini-batch of test rows."""
        self._tested.append(self.predictions(self._stacked(batch).x))

    def on_test_epoch_start(self) -> None:
        self._tested: list[Tensor] = []

    def on_test_epoch_end(self) -> None:
        """Log the target's metrics of the test rows, such as ``test_accuracy``."""
        predictions = torch.cat(self._tested, dim=1).cpu()
        of_trials = zip(predictions.numpy(), np.atleast_2d(self._data.test_labels), strict=True)
        measured = pd.DataFrame(self._target.measured(*each) for each in of_trials)
        self.log_means({f"test_{name}": measured[name].to_numpy() for name in measured})

    def predict_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Probabilities of classes, float64 ``(N, C)``, or numbers ``(N,)``; of several trials ``(T, N, ...)``."""
        predictions = self.predictions(self._stacked(batch).x)
        return predictions[0] if self._is_alone else predictions


class CotrainModule(FinetuneModule, Cotraining):
    """Fine-tuning plus a weighted pretext loss on the same batches, on f and a g of its own.

    Attributes:
        classifier: f and h.
        pretrain_head: g.
    """

    implied = ("method=cotrain", "pretrain=none")
