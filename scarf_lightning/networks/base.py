"""What every network offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ..limits import Limited
from .columns import Columns


@dataclass
class Network(Limited, ABC):
    """An encoder f: its options, and how they build a plain module for one trial.

    ``starts_as_built`` says that the module's own constructor draws its first weights, from the trial's stream; without
    it the linear layers start as ``network.weight_init`` and ``network.bias_init`` say. ``typical_cost`` is how many
    times as long as of ``mlp`` a step of it takes, about, for estimates of time.
    """

    name: ClassVar[str]
    starts_as_built: ClassVar[bool] = True
    typical_cost: ClassVar[float] = 1.0
    search_space: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        """A module from encoded rows ``(N, D)`` to embeddings ``(N, E)``, of any width E.

        A module that is made of layers on the last axis alone, and says so by ``acts_on_last_axis``, trains a stack of
        trials without the overhead of `torch.vmap`.

        Args:
            columns: what the D encoded columns are.
            dropout: the rate at which ``method=dropout`` leaves units out, by `Dropout`; None asks for what the network
                does of itself.
        """

    def prepare(self, module: nn.Module, rows: Tensor) -> None:
        """Look at the encoded training rows ``(n, D)`` before training, such as for the bins of an embedding."""
        return
