"""`ScarfClassifier` and `ScarfRegressor`: a cell of the workbench as a scikit-learn estimator.

`fit` reads X and y as a file is read, trains the trials of a cell, and keeps them as a `Model`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_consistent_length

from ..data.table import Table
from ..data.targets import Classes, Number, Target
from ..options import Config
from .defaults import Default, default_for
from .labels import GivenLabels, labels_of_classes, labels_of_numbers, one_a_row, weights_of
from .parameters import plain
from .preparing import table_of, target_of
from .scarf_estimator import AUTO, ScarfEstimator

if TYPE_CHECKING:
    from typing import Self


OF_THE_TABLE = ("dataset.", "trainer.")
"""Options that say nothing about the network and its training."""


@dataclass(kw_only=True, eq=False, repr=False)
class ScarfPredictor(ScarfEstimator):
    """The parameters of the estimators that learn labels, and their `fit`."""

    _kind: ClassVar[type[Target]]

    pretrain: str = AUTO
    method: str = "control"
    cotrain: str | None = None
    metric: str | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Self":
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
        self._keep(model, rows, task.table, X, task.given)
        if task.default is not None:
            choice = f"{len(task.labels.known):,} labels are enough for {task.default.name}."
        self.choice_ = choice
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of n rows, in the type of the labels that `fit` was given, or their number; ``(n,)``."""
        return self._fitted.predict(self._rows(X))

    def _read(self, X: Any, y: Any, sample_weight: Any) -> "Task":
        """Read the task of a fit: the cell, its table, and the model that networks start from."""
        given = self._given(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = one_a_row(y)
        check_consistent_length(given, y)
        labels = self._labels(y)
        default = self._default(labels)
        config = self._config(default)
        weights = weights_of(labels, sample_weight, getattr(self, "class_weight", None))
        table = table_of(given, target_of(labels, self._kind), config, weights)
        return Task(config, table, labels, given, default)

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
        given: X.
        default: the training that the number of labels chose, if it did.
    """

    config: Config
    table: Table
    labels: GivenLabels
    given: pd.DataFrame
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
            --help``. ``auto`` goes by the number of labels, if no row lacks one and you choose nothing about the
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
        metric: what early stopping goes by, such as ``"auroc"``; None takes the recipe's.
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
        return self._fitted.predict_proba(self._rows(X))

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
        metric: what early stopping goes by, such as ``"mae"``; None takes the recipe's.
        recipe, pretrain, method, scaling, network, corruption, selection, views, loss, cotrain: axes.
        n_trials, random_state, fit_on, device, options, verbose: as in `ScarfClassifier`.

    Attributes:
        model_, trials_, choice_, reading_: as in `ScarfClassifier`.
    """

    _kind = Number

    n_trials: int = 5
