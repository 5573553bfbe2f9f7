"""Parts of a supervised fit that a method may change. This module imports no Lightning, so methods can import it."""

from typing import ClassVar

from torch import Tensor

from ..pretexts import Pretext, Rows
from ..randomness import Purpose


class Supervision:
    """Plain fine-tuning: the target's own loss on the rows as they are. A method overrides what it changes.

    Leading axes of all tensors are ``...``, the trial axis in training. ``smooths_labels`` is true if the method
    smooths the targets by itself, in place of ``finetune.label_smoothing``.
    """

    smooths_labels: ClassVar[bool] = False

    stream: ClassVar[str] = Purpose.FINETUNE_CORRUPTION
    """The name of the random stream that `make_batch` and an `auxiliary` task draw from."""

    def make_batch(self, rows: Rows, targets: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Inputs, targets and row weights of a training step; by default those of the rows.

        Args:
            rows: the mini-batch; ``rows.encoded`` is ``(..., N, D)``.
            targets: class numbers ``(..., N)``, probabilities ``(..., N, C)`` or standardised numbers ``(..., N, 1)``.
            weights: ``(..., N)``, or None if all rows weigh the same.
        """
        return rows.encoded, targets, weights

    def compute_loss(self, outputs: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor | None:
        """The training loss ``(...)`` of outputs ``(..., N, C)``; None takes the target's own, as validation does."""
        # A method knows no target, so it cannot call the target's loss itself.
        return None

    @property
    def dropout_rate(self) -> float | None:
        """Rate of the `Dropout` layers of f and h; None keeps the networks' own."""
        return None

    @property
    def learns_missing_values(self) -> bool:
        """True if f needs a learnable value for each encoded column."""
        return False

    @property
    def auxiliary(self) -> tuple[Pretext, float] | None:
        """A pretext whose loss on the same batches is added to the supervised loss, and its weight."""
        return None
