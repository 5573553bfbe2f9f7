"""Pre-training of f and g (paper, Algorithm 1)."""

from torch import Tensor, nn

from ..data.datamodule import Batch
from ..nn import Encoder
from ..randomness import StackedGenerator
from .base import StackModule
from .pretext import Pretext


class PretrainModule(StackModule):
    """Trains f and g on a pretext task.

    Args:
        encoder: f of T trials.
        head: g of T trials.
        pretext: the task, on these.
        validation_random: stream of the validation views; it starts again at every validation, which makes them static.
        validation_passes: how many views of each validation row there are.
        monitor: ``loss`` or ``error``, the validation metric that is watched.
        learning_rate: Adam's.
        epsilon: Adam's.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: nn.Module,
        pretext: Pretext,
        *,
        validation_random: StackedGenerator,
        validation_passes: int,
        monitor: str,
        learning_rate: float,
        epsilon: float,
    ) -> None:
        super().__init__(learning_rate=learning_rate, epsilon=epsilon, leaving=(pretext, validation_random))
        self.encoder, self.head = encoder, head
        self._pretext, self._validation_random = pretext, validation_random
        self._validation_passes, self._watches_error = validation_passes, monitor == "error"

    def losses(self, batch: Batch) -> Tensor:
        return self._pretext.losses(batch.x)

    def on_validation_epoch_start(self) -> None:
        self._validation_random.reset()

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        return self._pretext.validation(
            batch.x, self._validation_random, self._validation_passes, error=self._watches_error
        )
