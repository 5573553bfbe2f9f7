"""`Model`: trained networks to predict with, embed with, look into, save and export."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data.targets import Target
from ..errors import UsageError
from .onnx import to_onnx
from .saving import save
from .trained_networks import Floats, TrainedNetworks

if TYPE_CHECKING:
    import pandas as pd


class Model(TrainedNetworks):
    """The networks of T trials, which vote: a number, or the probability of a class, is the mean of what they give.

    `Reader` says how rows are read, and what happens to gaps, unseen categories and missing columns. Missing values are
    imputed by the column's mode or mean, as each trial did in training.
    """

    @property
    def classes(self) -> list[str]:
        """The classes in the order of the probabilities' columns."""
        return list(self.description.classes)

    @property
    def trials(self) -> list[int]:
        """The numbers of the trials."""
        return list(self.description.trials)

    def predict(self, rows: "pd.DataFrame") -> NDArray[Any]:
        """The most probable class of n rows, the first one of a tie, or their number; ``(n,)``.

        Raises:
            UsageError: see `Reader`, or the model has encoders alone.
        """
        return self.target.decided(self.predicted(rows))

    def predict_proba(self, rows: "pd.DataFrame") -> Floats:
        """Probabilities of the classes, float64 ``(n, C)``.

        Raises:
            UsageError: see `Reader`, or the model has no classes.
        """
        if not self.classes:
            raise UsageError("This model has no classes, and so no probabilities; use predict or transform.")
        return self.predicted(rows)

    def predicted(self, rows: "pd.DataFrame") -> Floats:
        """What the networks predict on average: probabilities ``(n, C)``, or numbers ``(n,)``.

        Raises:
            UsageError: see `Reader`, or the model has encoders alone.
        """
        return np.asarray(self.predictions(self.values(rows)).mean(axis=0))

    @property
    def target(self) -> Target:
        """What is predicted.

        Raises:
            UsageError: the model has encoders alone.
        """
        if self.description.predicts is None:
            raise UsageError("This model has encoders alone, which predict nothing; use transform.")
        return self.description.predicts

    def transform(self, rows: "pd.DataFrame") -> NDArray[np.float32]:
        """Embeddings of the T networks side by side, float32 ``(n, T * E)``.

        Raises:
            UsageError: see `Reader`.
        """
        return self.embeddings(self.values(rows))

    def save(self, folder: str | Path) -> None:
        """Write the model into a folder of its own: arrays as safetensors, all else as JSON.

        `load_model` opens the folder anywhere, without the training data. A model that is there is replaced, whole or
        not at all.

        Raises:
            UsageError: the folder is a link, holds a file that is not part of a model, or cannot be written.
        """
        save(self, Path(folder))

    def to_onnx(self, file: str | Path) -> None:
        """Write the model as an ONNX file; see `scarf_lightning.estimators.onnx` for its inputs and outputs.

        Raises:
            UsageError: the extra ``onnx`` is not installed, or the file cannot be written.
        """
        to_onnx(self, Path(file))

    def only(self, trial: int) -> "Model":
        """The network of one trial alone.

        Raises:
            UsageError: the model has no such trial.
        """
        if trial not in self.trials:
            raise UsageError(f"The model has no trial {trial}; it has: {', '.join(map(str, self.trials))}.")
        position = self.trials.index(trial)
        weights = {name: weight[position : position + 1] for name, weight in self.weights.items()}
        description = replace(self.description, trials=(trial,))
        return Model(description, self.preprocessing.of(position), weights, self.config)
