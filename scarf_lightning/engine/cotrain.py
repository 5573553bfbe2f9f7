"""Co-training: a pretext loss as a term of the supervised one (paper, appendix)."""

from typing import Any

from torch import Tensor, nn

from ..data.datamodule import Batch
from .encoder import Classifier
from .finetune import FinetuneModule
from .pretext_task import PretextTask


class CotrainModule(FinetuneModule):
    """Minimises cross-entropy + weight * pretext loss, both on the same batch; validates as fine-tuning does.

    Args:
        classifier: f and h of T trials.
        pretrain_head: g of T trials.
        task: the pretext, on f and g.
        weight: of the pretext loss.
        training: the roster and the settings, as `StackModule` takes them.
    """

    def __init__(
        self, classifier: Classifier, pretrain_head: nn.Module, task: PretextTask, *, weight: float, **training: Any
    ) -> None:
        super().__init__(classifier, **training)
        self.pretrain_head = pretrain_head
        self._task, self._weight = task, weight

    def losses(self, batch: Batch) -> Tensor:
        return super().losses(batch) + self._weight * self._task.losses(batch.x)
