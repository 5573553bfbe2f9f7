"""What every pre-training offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..limits import Limited
from ..networks import Columns, ReLUNetwork
from ..randomness import StackedGenerator
from ..settings import LayerSettings

Outputs = Tensor | tuple[Tensor, ...]
"""What g makes of one input: ``(N, ...)``, or several of these."""


class Rows(Protocol):
    """A mini-batch of training rows, in each trial of the stack.

    Attributes:
        columns: what the D encoded columns are.
        encoded: the rows, one-hot encoded, ``(T, N, D)``.
        random: the stream of random numbers of each trial; a draw of shape ``(...)`` is ``(T, ...)``.
    """

    @property
    def columns(self) -> Columns: ...

    @property
    def encoded(self) -> Tensor: ...

    @property
    def random(self) -> StackedGenerator: ...

    def corrupted(self, corruption: Corruption, selection: Selection) -> tuple[Tensor, Tensor]:
        """A view of the rows, encoded, ``(T, N, D)``, and the mask of the selected features, bool: ``(T, N, M)`` of a
        corruption of the original columns, ``(T, N, D)`` of the encoded ones."""


class Views(NamedTuple):
    """What pre-training makes of a mini-batch: ``inputs``, encoded rows ``(T, N, D)`` that pass f and g, and
    ``targets``, tensors ``(T, ...)`` that the loss holds their outputs to."""

    inputs: tuple[Tensor, ...]
    targets: tuple[Tensor, ...] = ()


@dataclass
class Pretext(Limited, ABC):
    """A task that is learned without labels.

    Its fields are its options, ``pretrain.OPTION``; but a field ``corruption``, ``selection``, ``loss`` or ``views`` is
    what that axis of the configuration names, and a task without the field does not use the axis. The type of the field
    ``loss`` says which losses serve the task.

    ``can_cotrain`` says whether the task can be a term of the supervised loss; ``first_layer`` is the name within g of
    its first linear layer, for fine-tuning that keeps it, and empty where there is none.
    """

    name: ClassVar[str]
    can_cotrain: ClassVar[bool] = True
    first_layer: ClassVar[str] = "layers.0"

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        """g, for one trial: from embeddings ``(N, width)`` to `Outputs`. The paper's, unless a task has its own."""
        return ReLUNetwork([width, *[layers.width] * layers.depth])

    @abstractmethod
    def make_views(self, rows: Rows) -> Views:
        """What a mini-batch is made of. Random numbers are drawn here, from ``rows``."""

    @abstractmethod
    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        """The loss of one trial, a scalar. ``outputs`` has the `Outputs` of each of the inputs."""

    @property
    def has_error(self) -> bool:
        """Whether ``pretrain.monitor=error`` has a meaning."""
        return False

    def compute_error(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        """The share of wrong answers of one trial, a scalar. Only where ``has_error``."""
        raise TypeError(f"the answers of {self.name} are not right or wrong")

    @property
    def learns_missing_values(self) -> bool:
        """Whether f needs a learnable value for each encoded column."""
        corruption = getattr(self, "corruption", None)
        return corruption is not None and corruption.learns_missing_values
