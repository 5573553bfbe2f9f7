"""From a configuration to what the store keeps: one stack of trials of one cell."""

from .stack import train_stack

__all__ = ["train_stack"]
