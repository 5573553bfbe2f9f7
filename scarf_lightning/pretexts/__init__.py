"""What is learned without labels: a pre-training task's head, views, loss and validation error."""

from .pretext import Outputs, Pretext, Rows, Views

__all__ = ["Outputs", "Pretext", "Rows", "Views"]
