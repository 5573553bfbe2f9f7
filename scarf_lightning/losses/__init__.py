"""Losses of pre-training. One module a loss: a pure function on a stack, and the options it takes."""

from .base import ContrastiveLoss

__all__ = ["ContrastiveLoss"]
