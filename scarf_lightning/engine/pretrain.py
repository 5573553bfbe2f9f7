"""Pre-training of f and g (paper, Algorithm 1)."""

from typing import Any

from torch import Tensor, nn

from ..data.datamodule import Batch
from ..randomness import StackedGenerator
from .base import StackModule
from .encoder import Encoder
from .pretext_task import PretextTask


class PretrainModule(StackModule):
    """Trains f and g on a pretext task.

    Args:
        encoder: f of T trials.
        head: g of T trials.
        task: the pretext, on these.
        validation_random: stream of the validation views; it starts again at every validation, which makes them static.
        validation_passes: how many views of each validation row there are.
        monitor: ``loss`` or ``error``, the validation metric that is watched.
        training: the roster and the settings, as `StackModule` takes them.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: nn.Module,
        task: PretextTask,
        *,
        validation_random: StackedGenerator,
        validation_passes: int,
        monitor: str,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.encoder, self.head = encoder, head
        self._task, self._validation_random = task, validation_random
        self._validation_passes, self._watches_error = validation_passes, monitor == "error"

    def losses(self, batch: Batch) -> Tensor:
        return self._task.losses(batch.x)

    def on_validation_epoch_start(self) -> None:
        self._validation_random.reset()

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        return self._task.validation(
            batch.x, self._validation_random, self._validation_passes, error=self._watches_error
        )
