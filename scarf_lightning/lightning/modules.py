"""The LightningModules for Lightning's own loop, the encoders that they start from, and a probe that watches one."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.datamodule import Batch
from ..engine.encoder import Encoder
from ..engine.lifting import Alone, as_it_is, part_of, with_trial_axis, without_trial_axis
from ..engine.probing import NEIGHBOURS
from ..engine.stack_modules import Cotraining, Finetuning, Pretraining, StackModule
from ..errors import UsageError
from ..networks import Columns, Network
from .options import Options, check_options, overrides_of

NETWORKS = ("encoder", "head", "classifier", "pretrain_head")
"""The attributes of modules that are networks of the engine's."""
SHOWN_ROWS = 3
"""Rows of zeros on which a user's encoder is checked."""
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
    """Options that the class itself implies."""

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
            self._require_equip(data).equip(self)

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

    def state_dict(self, *, prefix: str = "", **keywords: Any) -> dict[str, Any]:  # type: ignore[override]
        """The weights; of one trial without its axis."""
        state: dict[str, Any] = super().state_dict(prefix=prefix, **keywords)
        self._change_axes(state, prefix, without_trial_axis)
        return state

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        # Torch calls it before it loads the layers.
        self._change_axes(state_dict, prefix, with_trial_axis)
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    def _change_axes(self, state: dict[str, Any], prefix: str, change: Callable[..., dict[str, Tensor]]) -> None:
        """Change the weights of the networks of one trial in their place."""
        for name, network in self.named_children():
            if name in NETWORKS and self._is_alone:
                for key, tensor in change(network, part_of(state, prefix + name)).items():
                    state[f"{prefix}{name}.{key}"] = tensor

    def losses(self, batch: Batch) -> Tensor:
        """Training loss of each trial, ``(T,)``."""
        return super().losses(self._add_trial_axis(batch))  # type: ignore[safe-super]

    @property
    def _is_alone(self) -> bool:
        """True for one trial."""
        return self.is_built and len(self.roster) == 1

    def _add_trial_axis(self, batch: Batch) -> Batch:
        """A batch with the trial axis."""
        return batch.map(lambda tensor: tensor.unsqueeze(0)) if batch.x.dim() == 2 else batch

    def setup(self, stage: str) -> None:
        """Make sure that a data module has made the networks."""
        if getattr(self, "_compiler_ctx", None) is not None:
            raise UsageError(f"{type(self).__name__} is trained as it is; leave torch.compile out.")
        self._require_equip(self._data)

    def _require_equip(self, data: Any) -> Any:
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
        """Log the training loss after an epoch's last step, before callbacks need it."""
        if self.trainer.is_last_batch:
            self.log_means(self.end_epoch("train"))

    def on_train_epoch_end(self) -> None:
        """Log the training loss of an epoch that ended before its last batch."""
        self.log_means(self.end_epoch("train"))

    def on_validation_epoch_start(self) -> None:
        self.begin_validation()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.validate(self._add_trial_axis(batch))

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
        self._test_predictions.append(self.predictions(self._add_trial_axis(batch).x))

    def on_test_epoch_start(self) -> None:
        self._test_predictions: list[Tensor] = []

    def on_test_epoch_end(self) -> None:
        """Log the target's metrics of the test rows, such as ``test_accuracy``."""
        predictions = torch.cat(self._test_predictions, dim=1).cpu()
        pairs = zip(predictions.numpy(), np.atleast_2d(self._data.test_labels), strict=True)
        scores = pd.DataFrame(self._target.measured(*pair) for pair in pairs)
        self.log_means({f"test_{name}": scores[name].to_numpy() for name in scores})

    def predict_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Probabilities of classes, float64 ``(N, C)``, or numbers ``(N,)``; of several trials ``(T, N, ...)``."""
        predictions = self.predictions(self._add_trial_axis(batch).x)
        return predictions[0] if self._is_alone else predictions


class CotrainModule(FinetuneModule, Cotraining):
    """Fine-tuning plus a weighted pretext loss on the same batches, on f and a g of its own.

    Attributes:
        classifier: f and h.
        pretrain_head: g.
    """

    implied = ("method=cotrain", "pretrain=none")


class Probe(pl.Callback):
    """Logs the measures of `Probing` on the validation rows, as means over trials and for each of several trials.

    Their names are ``probe_linear``, ``probe_knn``, ``probe_effective_rank``, ``probe_alignment`` and
    ``probe_uniformity``. It uses validation labels, so a choice by it has spent them.

    Args:
        every: epochs between two measurements.
        neighbours: number of neighbours.

    Raises:
        UsageError: a number is below 1, the module is no `PretrainModule`, or its data hold no validation labels.
    """

    def __init__(self, every: int = 1, neighbours: int = NEIGHBOURS) -> None:
        if every < 1 or neighbours < 1:
            raise UsageError(f"Probe takes numbers from 1, and not every={every} and neighbours={neighbours}.")
        self.every = every
        self.neighbours = neighbours

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if not isinstance(pl_module, PretrainModule):
            raise UsageError(f"Probe measures a PretrainModule, and not {type(pl_module).__name__}.")

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if (trainer.current_epoch + 1) % self.every:
            return
        assert isinstance(pl_module, PretrainModule)
        stack = trainer.datamodule.served  # type: ignore[attr-defined]
        if not stack.data.validation.size:
            raise UsageError("Probe needs validation labels, and these data hold none back; use another regime.")
        measures = stack.probing(pl_module, self.neighbours).validation_measures()
        pl_module.log_means({f"probe_{name}": values for name, values in measures.items()})


class OwnEncoder(Network):
    """A module of the user's own in the place of the network that options describe. It is trained itself, not a copy.

    Args:
        module: encoded rows ``(N, D)`` to embeddings ``(N, E)``.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        return Alone(self.module)

    def check(self, columns: Columns) -> None:
        """Refuse a module that gives no embedding a row.

        Raises:
            UsageError: see above.
        """
        name, width = type(self.module).__name__, columns.n_encoded
        with as_it_is(self.module), torch.no_grad():
            try:
                out = self.module.eval()(torch.zeros(SHOWN_ROWS, width))
            # A user's module may raise anything.
            except Exception as error:
                raise UsageError(
                    f"{name} cannot encode this table, whose rows are (N, {width}) in float32 once their categories "
                    f"are encoded: {error}"
                ) from error
        shape = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        if shape[:-1] != (SHOWN_ROWS,):
            raise UsageError(
                f"{name} gives {shape} for rows of {(SHOWN_ROWS, width)}; an encoder gives one embedding a row, "
                f"({SHOWN_ROWS}, E)."
            )


def read_encoder(encoder: nn.Module | None) -> tuple[OwnEncoder | None, Mapping[str, Tensor] | None]:
    """An encoder as the argument of a module: the user's own module or its copy, or else the pre-trained weights of f's
    body.

    Args:
        encoder: a module, or the ``.encoder`` of another `PlainModule`, of which a copy is taken.

    Raises:
        UsageError: it is no module.
    """
    if encoder is None:
        return None, None
    if isinstance(encoder, Encoder):
        if isinstance(encoder.body, Alone):
            return OwnEncoder(deepcopy(encoder.body.network)), None
        return None, encoder.body.state_dict()
    if not isinstance(encoder, nn.Module):
        raise UsageError(
            f"encoder must be a module, as in encoder=MyEncoder(), and not {getattr(encoder, '__name__', encoder)!r}; "
            "that of a checkpoint is PretrainModule.load_from_checkpoint(FILE, data=data).encoder."
        )
    return OwnEncoder(encoder), None


def check_shapes(role: str, weights: Mapping[str, Tensor], module: nn.Module) -> None:
    """Refuse weights of other shapes than a module's own, in words about the table: torch's would name layers.

    Raises:
        UsageError: see above.
    """
    shapes, module_shapes = (
        {name: tensor.shape for name, tensor in state.items()} for state in (weights, module.state_dict())
    )
    if shapes != module_shapes:
        raise UsageError(
            f"The {role} is not one for this table and these options: it needs the same columns, network and number of "
            "trials as its training had."
        )
