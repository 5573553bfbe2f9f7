"""Co-training: a pretext loss as a term of the supervised one (paper, appendix)."""

from torch import Tensor, nn

from ..data.datamodule import Batch
from ..nn import Encoder, Head
from .finetune import FinetuneModule
from .pretext import Pretext


class CotrainModule(FinetuneModule):
    """Minimises cross-entropy + weight * pretext loss, both on the same batch; validates as fine-tuning does.

    Args:
        encoder: f of T trials.
        head: h of T trials.
        pretrain_head: g of T trials.
        pretext: the task, on f and g.
        weight: of the pretext loss.
        adam: Adam's options, as `FinetuneModule` takes them.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: Head,
        pretrain_head: nn.Module,
        pretext: Pretext,
        *,
        weight: float,
        **adam: float,
    ) -> None:
        super().__init__(encoder, head, leaving=(pretext,), **adam)
        self.pretrain_head = pretrain_head
        self._pretext, self._weight = pretext, weight

    def losses(self, batch: Batch) -> Tensor:
        return super().losses(batch) + self._weight * self._pretext.losses(batch.x)
