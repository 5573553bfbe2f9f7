"""`ScarfClassifier`, `ScarfRegressor` and `ScarfTransformer`: a cell of the workbench as a scikit-learn estimator."""

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ..data.table import Table, spell
from ..data.targets import Classes, Number, Target
from ..errors import UsageError
from ..options import Config
from .model import Model, load_model
from .preparing import config_of, table_for, table_of, target_of, without_labels

if TYPE_CHECKING:
    from typing import Self

NO_AXES = (
    "encoder",
    "n_trials",
    "random_state",
    "device",
    "class_weight",
    "metric",
    "unlabelled",
    "options",
    "verbose",
)
"""Parameters that are not axes of the configuration."""
OF_AN_ENCODER = ("pretrain", "network", "scaling", "fit_on")
"""Parameters that an encoder to start from settles."""
UNLABELLED = -1
AUTO = "auto"
"""Pre-training by the default, unless it does harm."""


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the estimators share: parameters, X and the model."""

    _kind: ClassVar[type[Target] | None] = None
    """What it learns to predict, if anything."""

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

    def set_params(self, **params: Any) -> "ScarfEstimator":
        """Set parameters, and single options with ``__`` for the dot, also in a grid: ``corruption__rate=0.3``."""
        options = {name.replace("__", "."): value for name, value in params.items() if "__" in name}
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        if options:
            self.options = dict(self.options or {}) | options
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Embeddings of n rows, those of the trials side by side: float32 ``(n, n_trials * width)``."""
        check_is_fitted(self)
        return np.asarray(self.model_.transform(self._rows(X)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``embedding_<trial>_<number>``."""
        check_is_fitted(self)
        width = self.model_.encoder.width
        names = [f"embedding_{trial}_{number}" for trial in self.model_.trials for number in range(width)]
        return np.array(names, dtype=object)

    def save(self, folder: str | Path) -> None:
        """Write the networks into a folder that `scarf_lightning.load_model` opens; see `Model.save`."""
        check_is_fitted(self)
        self.model_.save(folder)

    def _config(self) -> Config:
        """The configuration of the cell that the parameters ask for."""
        defaults = {parameter.name: parameter.default for parameter in fields(self)}
        values = {name: getattr(self, name) for name in defaults}
        options = dict(self.options or {})
        axes = {
            name: value for name, value in values.items() if name not in NO_AXES and value not in (defaults[name], AUTO)
        }
        if values.get("encoder") is not None:
            settled = [name for name in OF_AN_ENCODER if values[name] != defaults[name]]
            settled += [
                f"options: {option}"
                for option in options
                if option == "encoding" or option.startswith(("dataset.", "network.encoder"))
            ]
            if settled:
                raise UsageError(f"{settled[0]} is settled by the encoder to start from; leave it out.")
            axes["pretrain"] = "none"
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31)
        parameters = {"trials": self.n_trials, "seed": int(seed), "trainer.accelerator": self.device}
        for option, name in (("finetune.class_weight", "class_weight"), ("metric", "metric")):
            if values.get(name) is not None:
                parameters[option] = values[name]
        return config_of(axes | options, parameters, estimator=type(self).__name__, kind=self._kind)

    def _first_rows(self, X: Any) -> tuple[pd.DataFrame, bool]:
        """X as a frame in `fit`, and whether it is an array of numbers."""
        if isinstance(X, pd.DataFrame):
            names = [str(name) for name in X.columns]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise UsageError(f"X has more than one column {twice!r}; rename all but one.")
            _check_n_features(self, X, reset=True)
            _check_feature_names(self, X, reset=True)
            if len(X) < 2 or not names:  # refused in the words of scikit-learn
                validate_data(self, X.to_numpy(dtype=object), dtype=None, ensure_all_finite=False, ensure_min_samples=2)
            self._frame_columns: list[str] | None = names
            return X.set_axis(names, axis=1).reset_index(drop=True), False
        array = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=2)
        self._frame_columns = None
        return self._of_array(array), array.dtype.kind in "fiub"

    def _rows(self, X: Any) -> pd.DataFrame:
        """X as a frame in prediction."""
        if isinstance(X, pd.DataFrame):
            if self._frame_columns is not None:
                return X.set_axis([str(name) for name in X.columns], axis=1)
            X = X.to_numpy()
        array = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
        frame = self._of_array(array)
        return frame if self._frame_columns is None else frame.set_axis(self._frame_columns, axis=1)

    @staticmethod
    def _of_array(array: NDArray[Any]) -> pd.DataFrame:
        names = [f"x{position}" for position in range(array.shape[1])]
        if array.dtype.kind in "fiub":
            return pd.DataFrame(array.astype(np.float64), columns=names)
        return pd.DataFrame(array, columns=names).infer_objects()

    def _keep(self, model: Model, rows: list[dict[str, object]], table: Table) -> None:
        self.model_, self.trials_ = model, pd.DataFrame(rows)
        self.reading_ = pd.DataFrame([vars(reading) for reading in table.reading])
        self._n_features_out = len(model.trials) * model.encoder.width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfPredictor(ScarfEstimator):
    """What the estimators with labels share."""

    _kind: ClassVar[type[Target]]

    pretrain: str = AUTO
    method: str = "control"
    regime: str = "full"
    split: str = "random"
    cotrain: str | None = None
    metric: str | None = None
    encoder: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Self":
        """Train on rows X ``(n, M)`` with classes or numbers y ``(n,)``, of which at least 10 must be known.

        ``sample_weight`` ``(n,)`` weighs the rows in supervised training, not in pre-training, early stopping or
        scores.

        Raises:
            UsageError: a ValueError: a parameter is wrong or has no effect, or the table cannot be learned.
        """
        from .fitting import train  # imports Lightning, which takes seconds

        config, table, start = self._read(X, y, sample_weight)
        chooses, verbose = self.pretrain == AUTO, bool(self.verbose)
        model, rows, self.choice_ = train(config, table, start=start, chooses=chooses, verbose=verbose)
        self._keep(model, rows, table)
        return self

    def score_trials(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """Test the training of `fit` on rows that it has not seen; the model stays as it is.

        Each trial holds back 20 % of the labelled rows. With a ``pretrain`` other than ``auto`` these are the trials of
        the cell that ``train.py`` trains with the same options on a file of the same table, bit for bit.

        Returns:
            A row for each trial: metrics on its test rows, epochs and seconds.
        """
        from .fitting import train

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # `fit` says how columns are read
            config, table, start = clone(self)._read(X, y, sample_weight)
        chooses, verbose = self.pretrain == AUTO, bool(self.verbose)
        return pd.DataFrame(train(config, table, start=start, chooses=chooses, tests=True, verbose=verbose)[1])

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Config, Table, Model | None]:
        """The cell, the table of X and y with the weights of its rows, and the model that networks start from."""
        config = self._config()
        frame, is_plain = self._first_rows(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        check_consistent_length(frame, y)
        is_known = self._known(y)
        self.n_unlabelled_ = int((~is_known).sum())
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, frame, dtype=np.float64, ensure_non_negative=True)
        target = target_of(y, is_known, config, self._kind)
        if self.encoder is None:
            return config, table_of(frame, target, config, is_plain=is_plain, weights=weights), None
        model = load_model(self.encoder) if isinstance(self.encoder, (str, Path)) else self.encoder
        if not isinstance(model, Model):
            raise UsageError(
                "encoder must be a model, such as transformer.model_ of a fitted ScarfTransformer, or the folder of a "
                f"saved one, not {type(model).__name__}."
            )
        if any(column.n_indicators != len(column.categories or ()) for column in model.description.columns):
            raise UsageError("encoder: only encoders of encoding=onehot can be trained further.")
        network = replace(config.network, name=model.description.network, encoder=model.description.encoder)
        # A model says by fit_on whether all trials are preprocessed alike.
        config = replace(config, network=network, fit_on="all" if model.preprocessing.is_shared else "train")
        return config, table_for(model, frame, target, config, weights), model

    def _known(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows have a label; the labels are checked."""
        if y.dtype.kind == "f":
            assert_all_finite(y, allow_nan=True, input_name="y")
        if y.dtype == object and (odd := [each for each in y if not isinstance(each, Hashable)]):
            raise UsageError(f"y holds a {type(odd[0]).__name__}, which is no label; give each row one word or number.")
        known = ~pd.isna(y)
        if not known.any():
            raise UsageError("y holds no label; ScarfTransformer learns without labels.")
        return np.asarray(known)


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfClassifier(ClassifierMixin, ScarfPredictor):  # type: ignore[misc]
    """Pre-trains on all rows and fine-tunes on those with a label; the networks of ``n_trials`` trials vote.

    All rows train but those that stop training: a tenth of the labelled rows, another one in each trial. A third
    of the networks is also trained from scratch; if these have the lower loss on their validation rows, all networks
    are trained from scratch, and ``choice_`` says so. `score_trials` tests the same training on rows that it has not
    seen.

    **X.** A DataFrame is read as a file is: numbers, also as text, dates and categories become features; ids and
    constants are left out, with a warning that names them. The columns of an array of numbers are taken as they are.
    Values may be missing anywhere. In prediction, `scarf_lightning.data.reading.Reader` says what happens to unseen
    categories and missing columns.

    **y.** Rows without a label have None, NaN or -1. If fewer than two classes are left without -1, as in a y of -1
    and 1, then -1 is a class; with ``unlabelled=None`` it always is.

    Args:
        recipe: the set of defaults: ``practical``, or ``paper`` for the paper's protocol.
        pretrain: ``auto`` pre-trains with SCARF unless that does harm; an option of ``train.py --help pretrain``
            is trained as it is, and ``none`` trains from scratch.
        method, regime, split, scaling, network: an option of that axis, see ``train.py --help``.
        corruption, selection, views, loss, cotrain: further axes; None takes what goes with the others.
        n_trials: the number of networks that vote, each with its own split and random streams.
        random_state: the seed of all random streams: a whole number, a `numpy.random.RandomState`, or None for a random
            one.
        fit_on: the rows that imputation and scaling are fitted on: ``all`` or ``train``; None takes the recipe's.
        class_weight: None, or ``"balanced"`` to give every class the same weight in training.
        metric: what early stopping and tuning go by, such as ``"auroc"``; None takes the recipe's.
        encoder: a `scarf_lightning.estimators.Model`, such as ``model_`` of a fitted `ScarfTransformer`, or the folder
            of a saved one. Networks start from its encoders instead of a pre-training of their own, and read rows as
            it does. X needs the same columns.
        unlabelled: what marks a row without a label in y, besides None and NaN.
        device: ``auto``, ``cpu`` or ``cuda``.
        options: any other option of ``train.py``, such as ``{"corruption.rate": 0.3, "pretrain.max_epochs": 100,
            "dataset.categorical": ["grade"]}``. `set_params` sets one of them.
        verbose: 1 shows the progress of training in a terminal or a notebook.

    Attributes:
        classes_: the classes, sorted, ``(C,)``.
        model_: the trained `scarf_lightning.estimators.Model`, which can be saved.
        trials_: a row for each trial: epochs and seconds, and metrics on the rows that stopped it, which are a little
            better than on new rows.
        choice_: whether pre-training is used, in a sentence; None if there was no choice.
        n_unlabelled_: the number of rows without a label.
        reading_: how each column of a DataFrame was read.
    """

    _kind = Classes

    n_trials: int = 3
    class_weight: str | None = None
    unlabelled: Any = UNLABELLED

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of ``classes_``: float64 ``(n, C)``."""
        check_is_fitted(self)
        labels = pd.Series(self.classes_).tolist()  # a time is spelled as pandas does, which read it
        order = [self.model_.classes.index(spell(label)) for label in labels]
        return np.asarray(self.model_.predict_proba(self._rows(X))[:, order])

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of n rows, ``(n,)``."""
        probabilities = self.predict_proba(X)  # refuses an estimator that is not fitted, which has no classes_
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def _known(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        known = super()._known(y)
        marked = known & (y == self.unlabelled) if self.unlabelled is not None else np.zeros(len(y), dtype=bool)
        if len(set(y[known & ~marked].tolist())) < 2:
            marked[:] = False
        is_known = np.asarray(known & ~marked)
        labels = np.array(y[is_known].tolist()) if y.dtype == object else y[is_known]
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        return is_known


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfRegressor(RegressorMixin, ScarfPredictor):  # type: ignore[misc]
    """Pre-trains on all rows and fine-tunes on those with a number; the mean of ``n_trials`` networks is predicted.

    `ScarfClassifier` says how X is read, which rows train, and when pre-training is used.

    **y.** Numbers in any unit: each trial standardises them by the labels that it trains on, and predictions are in the
    unit of y. Rows without a number have None or NaN.

    Args:
        metric: what early stopping and tuning go by, such as ``"mae"``; None takes the recipe's.
        recipe, pretrain, method, regime, split, scaling, network, corruption, selection, views, loss, cotrain: axes.
        n_trials, random_state, fit_on, device, options, verbose: as in `ScarfClassifier`.

    Attributes:
        model_, trials_, choice_, n_unlabelled_, reading_: as in `ScarfClassifier`.
    """

    _kind = Number

    n_trials: int = 5

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The numbers of n rows, ``(n,)``."""
        check_is_fitted(self)
        return np.asarray(self.model_.predict(self._rows(X)))


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfTransformer(ScarfEstimator):
    """Pre-trains encoders on rows without labels; `transform` gives their embeddings.

    Nine tenths of the rows train, the others stop training early. `ScarfClassifier` says how X is
    read.

    Args:
        pretrain, scaling, network: an option of that axis, see ``train.py --help``.
        corruption, selection, views, loss: further axes; None takes what goes with the pre-training.
        n_trials: the number of encoders, whose embeddings stand side by side.
        recipe, random_state, fit_on, device, options, verbose: as in `ScarfClassifier`.

    Attributes:
        model_: the trained `scarf_lightning.estimators.Model`, which can be saved.
        trials_: a row for each trial, with its number of epochs.
        reading_: how each column of a DataFrame was read.
    """

    def fit(self, X: Any, y: Any = None) -> "ScarfTransformer":
        """Pre-train on rows X ``(n, M)``, at least 10; y is ignored."""
        from .fitting import pretrain

        config = self._config()
        if config.pretrain.name == "none":
            raise UsageError("ScarfTransformer pre-trains; choose a pretrain other than none.")
        frame, is_plain = self._first_rows(X)
        table = without_labels(frame, config, is_plain=is_plain)
        self._keep(*pretrain(config, table, verbose=bool(self.verbose)), table)
        return self
