"""`ScarfEstimator`: the parameters of all estimators, how they read X, and what a fit leaves in them.

An estimator that refuses what it is given stays as it was: attributes are set when all is done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.reading.frames import frame_of
from ..data.table import Table
from ..data.targets import Target
from ..errors import UsageError
from ..options import Config
from ..sweeping.folders import flat
from .defaults import Default
from .model import Model
from .parameters import config_of, plain

NO_AXES = (
    "n_trials",
    "random_state",
    "device",
    "class_weight",
    "metric",
    "options",
    "verbose",
)
"""Parameters that are not axes of the configuration."""
AUTO = "auto"
"""Pre-training by the default, if it helps; the recipe by the number of labels."""
DOT = "__"
"""Stands for the dot of an option in the name of a parameter, as in ``corruption__rate``."""


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The parameters of all estimators, their X, and their model."""

    _kind: ClassVar[type[Target] | None] = None
    """The target that is learned, if there is one."""

    recipe: str = "practical"
    pretrain: str = "scarf"
    scaling: str = "zscore"
    network: str = "mlp"
    corruption: str | None = None
    selection: str | None = None
    views: str | None = None
    loss: str | None = None
    n_trials: int = 1
    random_state: Any = 0
    fit_on: str | None = None
    device: str = "auto"
    options: Mapping[str, Any] | None = None
    verbose: int = 0

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, with ``deep`` also single options by the names that `set_params` takes."""
        parameters: dict[str, Any] = super().get_params(deep)
        if deep and isinstance(self.options, Mapping):
            parameters |= {name.replace(".", DOT): value for name, value in self.options.items() if "." in name}
        return parameters

    def set_params(self, **params: Any) -> "ScarfEstimator":
        """Set parameters, and single options with ``__`` for the dot, also in a grid: ``corruption__rate=0.3``."""
        # Keyword arguments have no dots, and grids of scikit-learn are keyword arguments.
        options = {name.replace(DOT, "."): params.pop(name) for name in list(params) if DOT in name}
        super().set_params(**params)
        if options:
            self.options = {**(self.options or {}), **options}
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Embeddings of n rows, those of the trials side by side: float32 ``(n, n_trials * width)``."""
        return self._fitted.transform(self._rows(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``embedding_<trial>_<number>``."""
        numbers = range(self._fitted.encoder.width)
        names = [f"embedding_{trial}_{number}" for trial in self._fitted.trials for number in numbers]
        return np.array(names, dtype=object)

    def save(self, folder: "str | PathLike[str]") -> None:
        """Write the networks into a folder that `scarf_lightning.load_model` opens; see `Model.save`."""
        self._fitted.save(folder)

    @property
    def trials_(self) -> pd.DataFrame:
        """A row for each trial."""
        return pd.DataFrame(self._trials)

    @property
    def reading_(self) -> pd.DataFrame:
        """A row for each column of X: how it was read."""
        return pd.DataFrame(self._reading)

    @property
    def _options(self) -> dict[str, Any]:
        """The options by their names on the command line."""
        options = plain(self.options or {})
        if not isinstance(options, Mapping):
            raise UsageError(f"options must be a dictionary such as {{'corruption.rate': 0.3}}, not {options!r}.")
        return dict(flat(options))

    @property
    def _fitted(self) -> Model:
        """The model. Raises scikit-learn's NotFittedError before `fit`."""
        check_is_fitted(self)
        return self.model_

    def _axes(self) -> dict[str, Any]:
        """The choices of axes other than the defaults."""
        axes = {}
        for parameter in fields(self):
            value = plain(getattr(self, parameter.name))
            if parameter.name not in NO_AXES and value not in (parameter.default, AUTO):
                if not isinstance(value, (str, list, Mapping, type(None))):
                    raise UsageError(
                        f"{parameter.name} takes the name of a part, and not a {type(value).__name__}; "
                        "options={'plugins': ['MODULE']} imports parts of your own."
                    )
                axes[parameter.name] = value
        return axes

    def _config(self, default: Default | None = None) -> Config:
        """The configuration of the cell that the parameters ask for, with what a default chooses beside them."""
        axes = self._axes() | dict(default.options if default is not None else {})
        seed = plain(self.random_state)
        # None or a generator: a whole number is drawn, so that the cell has one seed, as on the command line.
        if not isinstance(seed, int):
            seed = check_random_state(seed).randint(2**31)
        parameters = {"trials": plain(self.n_trials), "seed": seed, "trainer.accelerator": plain(self.device)}
        for option, name in (("finetune.class_weight", "class_weight"), ("metric", "metric")):
            value = plain(getattr(self, name, None))
            # Weights of single classes are weights of rows, and no option of a cell.
            if value is not None and not isinstance(value, Mapping):
                parameters[option] = value
        return config_of({**axes, **self._options}, parameters, estimator=type(self).__name__, kind=self._kind)

    def _given(self, X: Any) -> pd.DataFrame:
        """X in `fit` as a frame. The columns of an array are called x0, x1 and so on."""
        frame = frame_of(X)
        if frame is None:
            # Columns may hold anything: a column that is left out may be infinite.
            array = validate_data(self, X, dtype=None, ensure_all_finite=False, ensure_min_samples=2)
            return pd.DataFrame(array, columns=[f"x{position}" for position in range(array.shape[1])])
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise UsageError(f"X has more than one column {twice[0]!r}; rename all but one.")
        if len(frame) < 2 or not len(frame.columns):
            # scikit-learn has its own words for these.
            check_array(np.empty(frame.shape), ensure_min_samples=2, estimator=self)
        # It checks the names of columns only if all of them are text.
        names = X.columns if isinstance(X, pd.DataFrame) else frame.columns
        validate_data(self, frame.set_axis(list(names), axis=1), skip_check_array=True)
        return frame.reset_index(drop=True)

    def _rows(self, X: Any) -> Any:
        """X in prediction, for the model. Arrays are checked against the X of `fit` as scikit-learn does."""
        frame = frame_of(X)
        if frame is None:
            return validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        # A frame for a model of an array is checked by its width alone.
        if not self.model_.description.is_named:
            validate_data(self, frame, reset=False, skip_check_array=True)
        return frame

    def _keep(
        self, model: Model, rows: Sequence[Mapping[str, object]], table: Table, X: Any, given: pd.DataFrame
    ) -> None:
        """Set the attributes of a fitted estimator."""
        inputs, is_named = tuple(given.columns), frame_of(X) is not None
        self.model_ = replace(model, description=replace(model.description, inputs=inputs, is_named=is_named))
        self._trials = plain(rows)
        self._reading = plain([vars(reading) for reading in table.reading])
        self._n_features_out = len(model.trials) * model.encoder.width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Gaps, texts and categories are read and imputed, so scikit-learn's checks must let them through.
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags
