"""Kinds of targets, the quantities that are predicted of a table's rows: a kind a file.

A kind says in its class what differs between kinds: how its labels are read, kept, split, made noisy and weighted, what
h puts out and what its loss is, what a prediction is, and which metric leads. Everything else asks it.
"""

from .classes import UNLABELLED, Classes
from .number import Number
from .reading import (
    AUTO,
    FEWEST_ROWS,
    ReadTarget,
    check_kind,
    kind_named,
    leading_metric,
    read_target,
    target_from_plain,
)
from .target import Floats, Ints, Labels, Predictions, Target

__all__ = [
    "AUTO", "FEWEST_ROWS", "UNLABELLED", "Classes", "Floats", "Ints", "Labels", "Number", "Predictions", "ReadTarget",
    "Target", "check_kind", "kind_named", "leading_metric", "read_target", "target_from_plain",
]  # fmt: skip
