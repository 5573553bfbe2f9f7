"""Losses of the pretext tasks. One module a loss: a pure function on a stack, and the options it takes."""

from .base import ContrastiveLoss, PretextLoss, Task

__all__ = ["ContrastiveLoss", "PretextLoss", "Task"]
