"""`ScarfTransformer`: the pre-training of a cell as a scikit-learn transformer."""

from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from .preparing import without_labels
from .scarf_estimator import ScarfEstimator


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
        given = self._given(X)
        table = without_labels(given, config)
        model, rows = pretrain(config, table, verbose=bool(self.verbose))
        self._keep(model, rows, table, X, given)
        return self
