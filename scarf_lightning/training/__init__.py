"""From a configuration to what the store keeps: one stack of trials of one cell."""

from .phases import make_stack
from .stack import train_stack

__all__ = ["make_stack", "train_stack"]
