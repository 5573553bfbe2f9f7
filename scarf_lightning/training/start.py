"""Encoders of another training that networks start from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.preprocessing import Preprocessing


@dataclass(frozen=True)
class Start:
    """What networks start from in place of a pre-training: trial t from encoder t modulo E.

    Attributes:
        encoders: weights of the E encoders by name, ``(E, ...)``.
        preprocessing: in front of them.
    """

    encoders: Mapping[str, NDArray[Any]]
    preprocessing: Preprocessing

    def weights(self, trials: Sequence[int]) -> dict[str, Tensor]:
        """Of f for T trials by name, ``(T, ...)``."""
        chosen = self._chosen(trials)
        return {name: torch.from_numpy(np.array(weight[chosen])) for name, weight in self.encoders.items()}

    def preprocess(self, trials: Sequence[int], fitted: Preprocessing) -> Preprocessing:
        """The preprocessing of T trials, with what their target has ``fitted`` to their labels."""
        chosen, own = self._chosen(trials), self.preprocessing
        return Preprocessing(own.fill[chosen], own.shift[chosen], own.scale[chosen], own.is_shared, fitted.target)

    def _chosen(self, trials: Sequence[int]) -> NDArray[np.int64]:
        return np.array(trials, dtype=np.int64) % len(self.preprocessing.fill)
