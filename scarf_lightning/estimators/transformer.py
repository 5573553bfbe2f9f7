"""`ScarfTransformer`: a pre-training as a scikit-learn transformer."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pandas as pd

from ..errors import UsageError
from .base import ScarfEstimator
from .fitting import pretrain
from .tables import without_labels


class ScarfTransformer(ScarfEstimator):
    """Pre-trains encoders on rows without labels: `transform` gives their embeddings.

    Nine tenths of the rows train, the others stop it early; there is no test. X is read as `ScarfClassifier` reads it.

    Args:
        pretrain, scaling, network: an option of that axis, see ``train.py --help``.
        corruption, selection, views, loss: also axes; None takes what goes with the pre-training.
        n_trials: encoders, whose embeddings stand side by side.
        seed: of all random streams.
        fit_on: rows that imputation and scaling are fitted on: ``all`` or ``train``.
        options: all else that ``train.py`` takes, such as ``{"corruption.rate": 0.3}``.

    Attributes:
        model_: the trained `scarf_lightning.estimators.Model`, which can be saved.
        trials_: a row a trial, with the epochs that it trained.
        reading_: how each column of a DataFrame was read.

    Raises:
        UsageError: a ValueError; in `fit`, when a parameter is wrong or of no use, or the table cannot be trained on.
    """

    _needs_classes: ClassVar[bool] = False

    def __init__(
        self,
        *,
        pretrain: str = "scarf",
        scaling: str = "zscore",
        network: str = "mlp",
        corruption: str | None = None,
        selection: str | None = None,
        views: str | None = None,
        loss: str | None = None,
        n_trials: int = 1,
        seed: int = 0,
        fit_on: str = "all",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.pretrain, self.scaling, self.network = pretrain, scaling, network
        self.corruption, self.selection, self.views, self.loss = corruption, selection, views, loss
        self.n_trials, self.seed, self.fit_on, self.options = n_trials, seed, fit_on, options

    def fit(self, X: Any, y: Any = None) -> "ScarfTransformer":
        """Pre-train on rows X ``(n, M)``, at least 10; y is not looked at.

        Raises:
            UsageError: see above.
        """
        config = self._config()
        if config.pretrain.name == "none":
            raise UsageError("ScarfTransformer pre-trains; choose a pretrain other than none.")
        frame, is_plain = self._first_rows(X)
        table = without_labels(frame, config, is_plain=is_plain)
        self.reading_ = pd.DataFrame([vars(reading) for reading in table.reading])
        self._keep(pretrain(config, table))
        return self
