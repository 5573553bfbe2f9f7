"""An encoder of the store as a scikit-learn transformer."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from .trained import Phase, Trained, read_trained


def load_encoder(
    fingerprint: str, trial: int, phase: Phase = "pretrained", results: str | Path = "results"
) -> "TableEncoder":
    """The encoder f of a trial, with its preprocessing.

    Args:
        fingerprint: of the cell, the column of that name of ``scarf_lightning.results.load``.
        trial: its number.
        phase: ``initial``, before anything is learned; ``pretrained``; or ``finetuned``, for which the cell was trained
            with ``keep_weights=true``.
        results: the folder of all results.

    Raises:
        UsageError: there is no such cell, trial or phase; the cell trains no such network; or its weights are not kept
            (any more), with the command that makes them again.
    """
    return TableEncoder(fingerprint, trial, phase, results).fit()


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows of a table to embeddings: ``transform(DataFrame)`` gives float32 ``(n, width)``, 256 wide by default.

    It is trained already: ``fit`` reads it from the store and looks at no rows, so that it can stand in a pipeline and
    be cloned. On the number of threads that trained it, and for the rows of its table in an order, it gives what the
    network inside the stack gives for them, bit for bit.

    Of rows that are unlike the training table:

    - an unseen category counts as a missing value, with a warning that names it;
    - a missing value is imputed as the trial did: the column's mode or mean;
    - a missing column, or one that is there twice, raises `UsageError`;
    - further columns are ignored, and the order of columns does not matter;
    - text, a truth value or an infinite value in a numeric column raises `UsageError`, which names column and value.
      Numbers in a categorical column are categories as they are spelled.

    Args:
        fingerprint, trial, phase, results: as in `load_encoder`.
    """

    def __init__(
        self, fingerprint: str, trial: int, phase: Phase = "pretrained", results: str | Path = "results"
    ) -> None:
        self.fingerprint, self.trial, self.phase, self.results = fingerprint, trial, phase, results

    def fit(self, X: Any = None, y: Any = None) -> "TableEncoder":
        """Read the network from the store; the arguments are not looked at.

        Raises:
            UsageError: see `load_encoder`.
        """
        self.trained_ = read_trained(self.fingerprint, self.trial, self.phase, self.results)
        return self

    def transform(self, X: pd.DataFrame) -> NDArray[np.float32]:
        """Embeddings ``(n, width)`` of n rows.

        Raises:
            UsageError: see above.
        """
        return self.trained.embed(self.trained.raw(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``embedding_0`` and so on."""
        return np.array([f"embedding_{position}" for position in range(self.trained.encoder.width)], dtype=object)

    @property
    def trained(self) -> "Trained":
        """Network and preprocessing, read from the store when they are first needed."""
        if not hasattr(self, "trained_"):
            self.fit()
        return self.trained_

    def __sklearn_is_fitted__(self) -> bool:
        return True
