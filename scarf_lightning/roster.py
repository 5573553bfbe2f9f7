"""Which trials of a stack are still training."""

from collections.abc import Sequence

import torch
from torch import Tensor


class Roster:
    """The trials that have not left yet. Whatever carries a trial axis keeps all of it and asks here who is there.

    Attributes:
        positions: those of the trials still here among all T, in their order.
        index: the same on the device, int64 ``(A,)``.
    """

    def __init__(self, n_trials: int, device: torch.device | str = "cpu") -> None:
        self._n_trials = n_trials
        self.positions = list(range(n_trials))
        self.index = torch.arange(n_trials, device=device)

    def __len__(self) -> int:
        return len(self.positions)

    def keep(self, positions: Sequence[int]) -> None:
        """Let all trials leave but those at these positions among the ones still here."""
        self.positions = [self.positions[position] for position in positions]
        self.index = torch.tensor(self.positions, device=self.index.device)

    def of(self, stacked: Tensor) -> Tensor:
        """The part of ``stacked`` ``(T, ...)`` that belongs to the trials still here, ``(A, ...)``."""
        return stacked if len(self) == self._n_trials else stacked[self.index]
