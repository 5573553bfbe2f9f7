"""Pre-training tasks, which learn without labels: head, views, loss and validation error of each."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..networks import Columns, ReLUNetwork
from ..options.option import Options
from ..options.settings import LayerSettings, PretrainSettings
from ..randomness import StackedGenerator

Outputs = Tensor | tuple[Tensor, ...]
"""What g returns for one input: ``(..., N, E)``, or several of these."""


VIEWS = 2
ROWS_OF_A_PRETEXT = 4
"""Rows that a pretext keeps in f for each row of a mini-batch: two views, and as much for g and the loss."""


class Rows(Protocol):
    """A mini-batch of training rows. Leading axes are ``...``: the trial axis in training.

    Attributes:
        columns: the D encoded columns.
        encoded: the rows, one-hot encoded, ``(..., N, D)``.
        random: random numbers; a draw has the same leading axes as the rows.
    """

    @property
    def columns(self) -> Columns: ...

    @property
    def encoded(self) -> Tensor: ...

    @property
    def random(self) -> StackedGenerator: ...

    def corrupted(self, corruption: Corruption, selection: Selection) -> tuple[Tensor, Tensor]:
        """A view of the rows, encoded, ``(..., N, D)``, and the mask of the features whose value changed, bool:
        ``(..., N, M)`` if the corruption works on raw columns, ``(..., N, D)`` if it works on encoded ones."""

    def bins(self, n_bins: int) -> Tensor:
        """The bin of each number, int64 ``(..., N, M_numeric)`` from 0, among bins of its column that hold equally many
        training rows."""


class Views(NamedTuple):
    """Inputs and targets that a task makes of a mini-batch.

    Attributes:
        inputs: encoded rows ``(..., N, D)`` that pass through f and g.
        targets: ``(..., N, ...)``, with which the loss compares the outputs."""

    inputs: tuple[Tensor, ...]
    targets: tuple[Tensor, ...] = ()


def rows_and_views(batch_size: int, pretraining: PretrainSettings | None, auxiliary: Any) -> tuple[int, int]:
    """The rows that pass through f at once, at most, and the views of each validation row that are kept.

    Args:
        batch_size: of the supervised phase.
        pretraining: settings, if there is one.
        auxiliary: a pretext that co-training computes on the supervised batches, if there is one.
    """
    rows = batch_size if auxiliary is None else batch_size * ROWS_OF_A_PRETEXT
    if pretraining is None:
        return rows, 0
    passes = pretraining.validation_passes
    return max(rows, (ROWS_OF_A_PRETEXT + passes) * pretraining.batch_size), VIEWS * passes


def head_of_width(n_outputs: int, width: int, layers: LayerSettings) -> ReLUNetwork:
    """A head from embeddings ``(..., N, width)`` to ``(..., N, n_outputs)``."""
    # The first layer takes the embedding; all but the last have the width of the settings.
    return ReLUNetwork([width, *[layers.width] * (layers.depth - 1), n_outputs])


class SideBySide(nn.Module):
    """Several heads on the same embeddings ``(..., N, width)``; their outputs are a tuple."""

    acts_on_last_axis = True

    def __init__(self, **heads: nn.Module) -> None:
        super().__init__()
        for name, head in heads.items():
            self.add_module(name, head)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(head(x) for head in self.children())


@dataclass
class Pretext(Options, ABC):
    """A task that is learned without labels.

    Its fields are its options, ``pretrain.OPTION``. Four field names stand for axes of the configuration instead:
    ``corruption``, ``selection``, ``loss`` and ``views``. A task without such a field does not use the axis. The type
    of ``loss`` names the losses that serve the task.

    Class variables:

    - ``can_cotrain``: whether ``method=cotrain`` may add the task to the supervised loss;
    - ``uses_labels``: whether labelled training rows add the target's loss, by `with_labels`. The regime, and what it
      lets train, is then part of the identity of a pre-training.
    """

    name: ClassVar[str]
    settings_beside: ClassVar[type[Options] | None] = PretrainSettings
    can_cotrain: ClassVar[bool] = True
    uses_labels: ClassVar[bool] = False

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        """g for one trial, from embeddings ``(..., N, width)`` to `Outputs`; by default the paper's."""
        return head_of_width(layers.width, width, layers)

    @abstractmethod
    def make_views(self, rows: Rows) -> Views:
        """The inputs and targets of a mini-batch. Random numbers are drawn here, from ``rows``."""

    @abstractmethod
    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        """The loss ``(...)``: a mean over rows. ``outputs`` holds the `Outputs` of each input."""

    def with_labels(self, loss: Tensor, labels_loss: Tensor) -> Tensor:
        """The training loss ``(...)`` of a task that ``uses_labels``, from its own and that of the target on the first
        input of the labelled rows, 0 without any."""
        raise TypeError(f"{self.name} uses no labels")

    @property
    def has_error(self) -> bool:
        """True if ``pretrain.monitor=error`` is defined."""
        return False

    def compute_error(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        """The share of wrong answers ``(...)``. Only if ``has_error``."""
        raise TypeError(f"the answers of {self.name} are not right or wrong")

    @property
    def learns_missing_values(self) -> bool:
        """True if f needs a learnable value for each encoded column."""
        corruption = getattr(self, "corruption", None)
        return corruption is not None and corruption.learns_missing_values


@dataclass
class CorruptingPretext(Pretext):
    """A task on corrupted views of rows."""

    corruption: Corruption
    selection: Selection

    def corrupted(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """A corrupted view and its mask, as `Rows.corrupted` gives them."""
        return rows.corrupted(self.corruption, self.selection)
