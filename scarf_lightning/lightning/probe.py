"""A callback that measures frozen embeddings while an encoder pre-trains."""

import pytorch_lightning as pl

from ..engine.probing import NEIGHBOURS
from ..errors import UsageError
from .modules import PretrainModule


class Probe(pl.Callback):
    """Logs the measures of `Probing` on the validation rows, as means over trials and for each of several trials.

    Their names are ``probe_linear``, ``probe_knn``, ``probe_effective_rank``, ``probe_alignment`` and
    ``probe_uniformity``. It looks at validation labels: who chooses by it has spent them.

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
        measured = stack.probing(pl_module, self.neighbours).validation_measures()
        pl_module.log_means({f"probe_{name}": values for name, values in measured.items()})
