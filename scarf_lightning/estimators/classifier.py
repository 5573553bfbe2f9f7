"""`ScarfClassifier`: the cell of a workbench as a scikit-learn classifier."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ..data.table import spell
from ..errors import UsageError
from .base import ScarfEstimator
from .fitting import train
from .tables import labels_of, table_of

UNLABELLED = -1


class ScarfClassifier(ClassifierMixin, ScarfEstimator):  # type: ignore[misc]
    """Pre-trains on all rows, fine-tunes on those with a label; the networks of ``n_trials`` trials vote.

    It is the cell that ``train.py`` trains with the same choices on a file of the same table, bit for bit: every trial
    trains on 70 % of the labelled rows (and on those without a label), stops early by 10 %, and is tested on 20 %,
    another split in every trial. ``trials_`` says what each scored on rows that it has not seen.

    **X.** A DataFrame is read as a file is: numbers, also as text; dates; categories; ids and constants are left out,
    with a warning that names them. Of an array of numbers the columns are taken as they are. Gaps may be anywhere; of
    rows in prediction, with unseen categories and missing columns, see `scarf_lightning.data.reading.Reader`.

    **Rows without a label** have None, NaN or -1 in y. So that -1 may be a class, too, it is one where fewer than two
    classes were left without it, as in y of -1 and 1; with ``unlabelled=None`` it always is.

    Args:
        pretrain, method, regime, split, scaling, network: an option of that axis, see ``train.py --help``. ``"none"``
            is no pre-training.
        corruption, selection, views, loss, cotrain: also axes; None takes what goes with the others.
        n_trials: networks that vote, each with a split and random streams of its own.
        seed: of all random streams.
        fit_on: rows that imputation and scaling are fitted on: ``all``, as the paper, or ``train``.
        unlabelled: what marks a row without a label in y, beside None and NaN.
        options: all else that ``train.py`` takes, such as ``{"corruption.rate": 0.3, "pretrain.max_epochs": 100,
            "dataset.categorical": ["grade"], "trainer.accelerator": "cpu"}``.

    Attributes:
        classes_: the classes, sorted, ``(C,)``.
        model_: the trained `scarf_lightning.estimators.Model`, which can be saved.
        trials_: a row a trial: metrics on its test rows, epochs and seconds.
        n_unlabelled_: rows of y without a label.
        reading_: how each column of a DataFrame was read.

    Raises:
        UsageError: a ValueError; in `fit`, when a parameter is wrong or of no use, or the table cannot be trained on.
    """

    _needs_classes: ClassVar[bool] = True

    def __init__(
        self,
        *,
        pretrain: str = "scarf",
        method: str = "control",
        regime: str = "full",
        split: str = "random",
        scaling: str = "zscore",
        network: str = "mlp",
        corruption: str | None = None,
        selection: str | None = None,
        views: str | None = None,
        loss: str | None = None,
        cotrain: str | None = None,
        n_trials: int = 5,
        seed: int = 0,
        fit_on: str = "all",
        unlabelled: Any = UNLABELLED,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.pretrain, self.method, self.regime, self.split = pretrain, method, regime, split
        self.scaling, self.network = scaling, network
        self.corruption, self.selection, self.views, self.loss = corruption, selection, views, loss
        self.cotrain, self.n_trials, self.seed, self.fit_on = cotrain, n_trials, seed, fit_on
        self.unlabelled, self.options = unlabelled, options

    def fit(self, X: Any, y: Any) -> "ScarfClassifier":
        """Train on rows X ``(n, M)`` with labels y ``(n,)``, at least 10 of them known, in two classes or more.

        Raises:
            UsageError: see above.
        """
        config = self._config()
        frame, is_plain = self._first_rows(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        check_consistent_length(frame, y)
        is_known = self._known(y)
        known = np.array(y[is_known].tolist()) if y.dtype == object else y[is_known]
        check_classification_targets(known)
        self.classes_ = np.unique(known)
        self.n_unlabelled_ = int((~is_known).sum())
        table = table_of(frame, labels_of(y, is_known, config), config, is_plain=is_plain)
        spelled = [spell(label) for label in self.classes_]
        self._order = np.array([table.classes.index(text) for text in spelled])
        self.reading_ = pd.DataFrame([vars(reading) for reading in table.reading])
        self._keep(train(config, table))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of ``classes_``: float64 ``(n, C)``.

        Raises:
            UsageError: see `scarf_lightning.data.reading.Reader`.
        """
        check_is_fitted(self)
        return np.asarray(self.model_.predict_proba(self._rows(X))[:, self._order])

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of n rows, ``(n,)``.

        Raises:
            UsageError: see `scarf_lightning.data.reading.Reader`.
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def _known(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows have a label."""
        if y.dtype.kind == "f":
            assert_all_finite(y, allow_nan=True, input_name="y")
        known = ~pd.isna(y)
        marked = known & (y == self.unlabelled) if self.unlabelled is not None else np.zeros(len(y), dtype=bool)
        if len(set(y[known & ~marked].tolist())) < 2:
            marked[:] = False
        if not (known & ~marked).any():
            raise UsageError("y holds no label; ScarfTransformer learns without labels.")
        return np.asarray(known & ~marked)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = False
        return tags
