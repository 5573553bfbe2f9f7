"""Loss functions on tensors of one trial, or of many with leading axes in front."""

from .contrastive import ContrastiveLoss
from .loss import Loss

__all__ = ["ContrastiveLoss", "Loss"]
