"""What is learned without labels. One module a pre-training: its head, its views, its loss, its validation metrics."""

from .base import Outputs, Pretext, Rows, Views

__all__ = ["Outputs", "Pretext", "Rows", "Views"]
