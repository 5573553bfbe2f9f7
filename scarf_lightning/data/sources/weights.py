"""Weights of the rows of a user's table in supervised training."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UsageError
from ..columns import Floats
from ..reading.rules import floats_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def read_weights(
    column: "pd.Series[Any]", is_labelled: "NDArray[np.bool_]", source: str, decimal: str | None = None
) -> Floats:
    """Weights of n rows in supervised training, ``(n,)``. Rows without a label may lack a weight and get
    the mean of the others: some methods label these rows and train on them. ``decimal`` is as of `as_numbers`.

    Raises:
        UsageError: a weight is no number, negative, infinite or too large, a row with a label has none, or all are
            zero.
    """
    weights, others = floats_of(column, decimal)
    where = f"dataset.weight: column {column.name!r} of {source}"
    if others:
        raise UsageError(f"{where} holds {str(others[0])[:40]!r}; a weight must be a number.")
    known = weights[~np.isnan(weights)]
    if (known < 0).any():
        raise UsageError(f"{where} holds the negative weight {known.min():g}; a weight must be zero or more.")
    # Networks compute in float32, unless a cell asks for more.
    if (known > np.finfo(np.float32).max).any():
        raise UsageError(f"{where} holds the weight {known.max():g}, which is too large to train with; rescale it.")
    n_missing = int(np.isnan(weights[is_labelled]).sum())
    if n_missing:
        raise UsageError(f"{where} has no weight in {n_missing} of the rows with a label; fill them in.")
    if not weights[is_labelled].any():
        raise UsageError(f"{where} has the weight 0 in every row with a label; there is nothing to learn from.")
    return np.where(np.isnan(weights), known.mean(), weights)
