"""`ScarfClassifier`, `ScarfRegressor` and `ScarfTransformer`: cells of the workbench as scikit-learn estimators.

`fit` reads X and y as a file is read, trains the trials of a cell, and keeps them as a `Model`. An estimator that
refuses its input stays as it was, because attributes are set at the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ..data.reading.frames import frame_of
from ..data.table import Table
from ..data.targets import Classes, Number, Target
from ..errors import UsageError
from ..options import Config
from ..sweeping.folders import flat
from .model import Model
from .parameters import Default, config_of, default_for, plain
from .preparing import (
    GivenLabels,
    labels_of_classes,
    labels_of_numbers,
    one_a_row,
    table_of,
    target_of,
    weights_of,
    without_labels,
)  # fmt: skip

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
OF_THE_TABLE = ("dataset.", "trainer.")
"""Options that say nothing about the network and its training."""


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
        return self._fitted_model.transform(self._rows(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``embedding_<trial>_<number>``."""
        numbers = range(self._fitted_model.encoder.width)
        names = [f"embedding_{trial}_{number}" for trial in self._fitted_model.trials for number in numbers]
        return np.array(names, dtype=object)

    def save(self, folder: "str | PathLike[str]") -> None:
        """Write the networks into a folder that `scarf_lightning.load_model` opens; see `Model.save`."""
        self._fitted_model.save(folder)

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
    def _fitted_model(self) -> Model:
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
        """The configuration of the cell that the parameters ask for, with the choices of a default beside them."""
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

    def _input_frame(self, X: Any) -> tuple[pd.DataFrame, bool]:
        """X in `fit` as a frame, and whether its columns have names. Those of an array are called x0, x1 and so on."""
        frame = frame_of(X)
        if frame is None:
            # Columns may hold anything: a column that is left out may be infinite.
            array = validate_data(self, X, dtype=None, ensure_all_finite=False, ensure_min_samples=2)
            return pd.DataFrame(array, columns=[f"x{position}" for position in range(array.shape[1])]), False
        duplicates = frame.columns[frame.columns.duplicated()]
        if len(duplicates):
            raise UsageError(f"X has more than one column {duplicates[0]!r}; rename all but one.")
        if len(frame) < 2 or not len(frame.columns):
            # scikit-learn has its own words for these.
            check_array(np.empty(frame.shape), ensure_min_samples=2, estimator=self)
        # It checks the names of columns only if all of them are text.
        names = X.columns if isinstance(X, pd.DataFrame) else frame.columns
        validate_data(self, frame.set_axis(list(names), axis=1), skip_check_array=True)
        return frame.reset_index(drop=True), True

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
        self, model: Model, rows: Sequence[Mapping[str, object]], table: Table, frame: pd.DataFrame, is_named: bool
    ) -> None:
        """Set the attributes of a fitted estimator."""
        inputs = tuple(frame.columns)
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


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfPredictor(ScarfEstimator):
    """The parameters of the estimators that learn labels, and their `fit`."""

    _kind: ClassVar[type[Target]]

    pretrain: str = AUTO
    method: str = "control"
    cotrain: str | None = None
    metric: str | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X ``(n, M)`` with classes or numbers y ``(n,)``, of which at least 10 must be known.

        ``sample_weight`` ``(n,)`` weighs the rows in supervised training, not in pre-training, early stopping or
        scores.

        Raises:
            UsageError: a ValueError: a parameter is wrong or has no effect, or the table cannot be learned.
        """
        # Imports Lightning, which takes seconds.
        from .fitting import train

        task = self._read(X, y, sample_weight)
        model, rows, choice = train(
            task.config,
            task.table,
            chooses=plain(self.pretrain) == AUTO,
            verbose=bool(self.verbose),
        )
        self._keep(model, rows, task.table, task.frame, task.is_named)
        if task.default is not None:
            choice = f"{len(task.labels.known):,} labels are enough for {task.default.name}."
        self.choice_ = choice
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of n rows, in the type of the labels that `fit` was given, or their number; ``(n,)``."""
        return self._fitted_model.predict(self._rows(X))

    def _read(self, X: Any, y: Any, sample_weight: Any) -> "Task":
        """Read the task of a fit: the cell, its table, and the model that networks start from."""
        frame, is_named = self._input_frame(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = one_a_row(y)
        check_consistent_length(frame, y)
        labels = self._labels(y)
        default = self._default(labels)
        config = self._config(default)
        weights = weights_of(labels, sample_weight, getattr(self, "class_weight", None))
        table = table_of(frame, target_of(labels, self._kind), config, weights)
        return Task(config, table, labels, frame, is_named, default)

    def _labels(self, y: NDArray[Any]) -> GivenLabels:
        """The labels, checked."""
        return labels_of_numbers(y)

    def _default(self, labels: GivenLabels) -> Default | None:
        """The training where the user has chosen nothing, if that depends on the labels."""
        return None


@dataclass(frozen=True)
class Task:
    """Task of a fit.

    Attributes:
        config: the cell.
        table: of X and y, with the weights of its rows.
        labels: y.
        frame, is_named: X, and whether its columns have names.
        default: the training that the number of labels chose, if it did.
    """

    config: Config
    table: Table
    labels: GivenLabels
    frame: pd.DataFrame
    is_named: bool
    default: Default | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfClassifier(ClassifierMixin, ScarfPredictor):  # type: ignore[misc]
    """Pre-trains on all rows and fine-tunes on those with a label; the networks of ``n_trials`` trials vote.

    Each network trains on all rows but a tenth of the labelled ones, another tenth for each. These rows score it, and
    stop it where the recipe stops training early. Where pre-training is tried, all networks are trained from scratch
    too. If pre-training lowers the loss on the rows that a network did not train on by more than chance would, all
    networks are pre-trained, otherwise none is, and ``choice_`` says so. With many labels it is not tried, see
    ``recipe``.

    **X.** A table of any library, such as a frame of pandas or polars or an Arrow table, or an array. It is read as a
    file is: numbers, also as text, dates, lengths of time and categories become features; ids and constants are left
    out, with a warning that names ids. Values may be missing anywhere. The same values give the same model, whatever
    they come in. In prediction, `scarf_lightning.data.reading.Reader` says what happens to unseen categories and
    missing columns.

    **y.** Whole numbers, text or truth values, which predictions are again. Rows without a label have None or NaN; or
    -1 beside two other numbers, as for scikit-learn's semi-supervised estimators.

    Args:
        recipe: the set of defaults: ``practical``, ``paper`` for the paper's protocol, or another one of ``train.py
            --help``. ``auto`` chooses by the number of labels, if no row lacks one and you choose nothing about the
            network and its training: ``practical`` with pre-training if that helps; from 400 labels on half as many
            steps without it; from 700 on RealMLP-TD-S for 64 epochs, and from 2,000 on for 256. Otherwise it is
            ``practical``.
        pretrain: ``auto`` pre-trains with SCARF if that helps; an option of ``train.py --help``
            is trained as it is, and ``none`` trains from scratch.
        method, scaling, network: an option of that axis, see ``train.py --help``.
        corruption, selection, views, loss, cotrain: further axes; None takes what goes with the others.
        n_trials: the number of networks that vote, each with its own split and random streams. One takes a third of the
            time of three; more lower the log-loss a little.
        random_state: the seed of all random streams: a whole number, a `numpy.random.RandomState`, or None for a random
            one.
        fit_on: the rows that imputation and scaling are fitted on: ``all`` or ``train``; None takes the recipe's.
        class_weight: None; ``"balanced"`` to give every class the same weight in training; or the weight of each class,
            as ``{0: 1, 1: 5}``, which multiplies that of its rows.
        metric: the metric of early stopping, such as ``"auroc"``; None takes the recipe's.
        device: ``auto``, ``cpu`` or ``cuda``.
        options: any other option of ``train.py``, such as ``{"corruption.rate": 0.3, "pretrain.max_epochs": 100,
            "dataset.categorical": ["grade"]}``. `set_params` sets one of them.
        verbose: 1 shows the progress of training in a terminal or a notebook.

    Attributes:
        classes_: the classes, sorted, ``(C,)``.
        model_: the trained `scarf_lightning.estimators.Model`, which can be saved.
        trials_: a row for each trial: epochs and seconds, and metrics on the rows that it did not train on. Where these
            rows stopped it, they are a little better than on new rows.
        choice_: whether pre-training is used, in a sentence; None if there was no choice.
        reading_: how each column of X was read.
    """

    _kind = Classes

    recipe: str = AUTO
    n_trials: int = 3
    class_weight: str | Mapping[Any, float] | None = None

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        return self.model_.classes_

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of ``classes_``: float64 ``(n, C)``."""
        return self._fitted_model.predict_proba(self._rows(X))

    def _labels(self, y: NDArray[Any]) -> GivenLabels:
        return labels_of_classes(y)

    def _default(self, labels: GivenLabels) -> Default | None:
        # Rows without a label are what pre-training is for.
        if self._chooses_training or not labels.is_known.all():
            return None
        return default_for(len(labels.known))

    @property
    def _chooses_training(self) -> bool:
        """True if the user has chosen a part of the training, and so means the training that is described."""
        is_chosen = set(self._axes()) - {"pretrain"} or plain(self.pretrain) not in (AUTO, "none")
        return bool(is_chosen) or not all(option.startswith(OF_THE_TABLE) for option in self._options)


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfRegressor(RegressorMixin, ScarfPredictor):  # type: ignore[misc]
    """Pre-trains on all rows and fine-tunes on those with a number; the mean of ``n_trials`` networks is predicted.

    `ScarfClassifier` says how X is read, which rows train, and when pre-training is used.

    **y.** Numbers in any unit: each trial standardises them by the labels that it trains on, and predictions are in the
    unit of y. Rows without a number have None or NaN.

    Args:
        metric: the metric of early stopping, such as ``"mae"``; None takes the recipe's.
        recipe, pretrain, method, scaling, network, corruption, selection, views, loss, cotrain: axes.
        n_trials, random_state, fit_on, device, options, verbose: as in `ScarfClassifier`.

    Attributes:
        model_, trials_, choice_, reading_: as in `ScarfClassifier`.
    """

    _kind = Number

    n_trials: int = 5


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
        reading_: how each column of X was read.
    """

    def fit(self, X: Any, y: Any = None) -> "ScarfTransformer":
        """Pre-train on rows X ``(n, M)``, at least 10; y is ignored."""
        from .fitting import pretrain

        config = self._config()
        if not config.is_pretrained:
            raise UsageError("ScarfTransformer pre-trains; choose a pretrain other than none.")
        frame, is_named = self._input_frame(X)
        table = without_labels(frame, config)
        model, rows = pretrain(config, table, verbose=bool(self.verbose))
        self._keep(model, rows, table, frame, is_named)
        return self
