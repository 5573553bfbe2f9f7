"""Pre-training of f and g (paper, Algorithm 1)."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, from_numpy, nn

from ..data.datamodule import Batch
from ..randomness import StackedGenerator
from .base import StackModule
from .encoder import Encoder
from .pretext_task import PretextTask
from .static_views import ValidationSet


class PretrainModule(StackModule):
    """Trains f and g on a pretext task.

    Args:
        encoder: f of T trials.
        head: g of T trials.
        task: the pretext, on these.
        validation_random: stream of the validation views.
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
        self._task, self._watches_error = task, monitor == "error"
        make_views = partial(task.validation_views, n_passes=validation_passes)
        self._validation_set = ValidationSet(make_views, validation_random, keeps=task.views_stay)

    def losses(self, batch: Batch) -> Tensor:
        return self._task.losses(batch.x)

    def on_validation_epoch_start(self) -> None:
        self._validation_set.start()

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        return self._task.validation(self._validation_set.views(batch.x), error=self._watches_error)

    def let_leave(self, staying: NDArray[np.int64]) -> None:
        super().let_leave(staying)
        self._validation_set.let_leave(from_numpy(staying).to(self.device))
