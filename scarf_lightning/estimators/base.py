"""What the estimators share: parameters, X, and the model."""

import inspect
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted, validate_data

from ..config import Config
from ..errors import UsageError
from .composing import config_of
from .fitting import Trained

NO_AXES = ("n_trials", "seed", "unlabelled", "options")
"""Parameters that are no axes of the configuration."""


class ScarfEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Parameters become the configuration of a cell, X a table, and what is trained a model."""

    _needs_classes: ClassVar[bool]
    model_: Any

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Embeddings of n rows, those of the trials' encoders side by side: float32 ``(n, n_trials * width)``.

        Raises:
            UsageError: see `scarf_lightning.data.reading.Reader`.
        """
        check_is_fitted(self)
        return np.asarray(self.model_.transform(self._rows(X)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``embedding_<trial>_<number>``."""
        check_is_fitted(self)
        width = self.model_.encoder.width
        names = [f"embedding_{trial}_{number}" for trial in self.model_.trials for number in range(width)]
        return np.array(names, dtype=object)

    def save(self, folder: str | Path) -> None:
        """Write the networks into a folder that `scarf_lightning.load_model` opens anywhere.

        Raises:
            UsageError: something that is no model is there.
        """
        check_is_fitted(self)
        self.model_.save(folder)

    def _config(self) -> Config:
        given = {
            name: getattr(self, name)
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if name not in NO_AXES and getattr(self, name) != parameter.default
        }
        options = dict(self.options or {})
        n_trials, seed = self.n_trials, self.seed
        return config_of(given, options, n_trials=n_trials, seed=seed, needs_classes=self._needs_classes)

    def _first_rows(self, X: Any) -> tuple[pd.DataFrame, bool]:
        """X as a frame in fitting, and whether it is an array's numbers alone."""
        if isinstance(X, pd.DataFrame):
            names = [str(name) for name in X.columns]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise UsageError(f"X has more than one column {twice!r}; rename all but one.")
            _check_n_features(self, X, reset=True)
            _check_feature_names(self, X, reset=True)
            if len(X) < 2 or not names:
                validate_data(self, X.to_numpy(dtype=object), dtype=None, ensure_all_finite=False, ensure_min_samples=2)
            return X.set_axis(names, axis=1).reset_index(drop=True), False
        array = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=2)
        return self._of_array(array), array.dtype.kind in "fiub"

    def _rows(self, X: Any) -> pd.DataFrame:
        """X as a frame in prediction."""
        has_names = hasattr(self, "feature_names_in_")
        if isinstance(X, pd.DataFrame):
            if has_names:
                return X
            X = X.to_numpy()
        array = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
        frame = self._of_array(array)
        return frame.set_axis([str(name) for name in self.feature_names_in_], axis=1) if has_names else frame

    @staticmethod
    def _of_array(array: NDArray[Any]) -> pd.DataFrame:
        names = [f"x{position}" for position in range(array.shape[1])]
        if array.dtype.kind in "fiub":
            return pd.DataFrame(array.astype(np.float64), columns=names)
        return pd.DataFrame(array, columns=names).infer_objects()

    def _keep(self, trained: Trained) -> None:
        self.model_ = trained.model
        self.trials_ = pd.DataFrame(trained.rows)
        self._n_features_out = len(trained.model.trials) * trained.model.encoder.width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags
