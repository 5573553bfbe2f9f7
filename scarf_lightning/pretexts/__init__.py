"""Pre-training tasks, which learn without labels: head, views, loss and validation error of each."""

from .pretext import Outputs, Pretext, Rows, Views, rows_and_views

__all__ = ["Outputs", "Pretext", "Rows", "Views", "rows_and_views"]
