"""Loss functions on tensors of one trial, or of many with leading axes in front."""

from .loss import ContrastiveLoss, Loss

__all__ = ["ContrastiveLoss", "Loss"]
