"""What outputs are held to: pure functions of one trial's tensors, with the options they take. One module a loss."""

from .base import ContrastiveLoss, Loss

__all__ = ["ContrastiveLoss", "Loss"]
