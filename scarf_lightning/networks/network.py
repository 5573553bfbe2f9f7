"""The interface of the axis ``network``, and the columns of a table as a network sees them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import ClassVar, Protocol, Self

from torch import Tensor, nn

from ..options.option import Options
from .layers import ReLUNetwork


class EncodedColumn(Protocol):
    """A column of a table, as its encoding describes it.

    Attributes:
        n_indicators: how many of its categories have a column of their own; 0 for a number.
        adds_gap_column: whether a column beside the number shows where it is missing.
    """

    @property
    def n_indicators(self) -> int: ...

    @property
    def adds_gap_column(self) -> bool: ...


@dataclass(frozen=True)
class Columns:
    """The features of a table and their encoded columns, in order.

    Attributes:
        n_categories: the number of categories of each of the M features, 0 for a numeric one.
        gaps: whether a feature, which is then a number, has a column beside it that shows where it is missing; empty if
            none has.
    """

    n_categories: tuple[int, ...]
    gaps: tuple[bool, ...] = ()

    @classmethod
    def of(cls, columns: Iterable["EncodedColumn"]) -> Self:
        """The features of encoded columns."""
        n_categories: list[int] = []
        gaps: list[bool] = []
        for column in columns:
            n_categories.append(column.n_indicators)
            gaps.append(column.adds_gap_column)
        # An empty tuple stands for a table whose gaps are not shown.
        return cls(tuple(n_categories), tuple(gaps) if any(gaps) else ())

    @property
    def n_features(self) -> int:
        """M."""
        return len(self.n_categories)

    @cached_property
    def n_encoded(self) -> int:
        """D: one column for a numeric feature, one for its gaps if it shows them, and one for each category."""
        return self._bounds[-1][1]

    @cached_property
    def numeric(self) -> list[int]:
        """The encoded columns of the numeric features."""
        columns = []
        for (start, _), n_categories in zip(self._bounds, self.n_categories, strict=True):
            if n_categories == 0:
                columns.append(start)
        return columns

    @cached_property
    def categorical(self) -> list[slice]:
        """The encoded columns of each categorical feature. The gaps of a number are a category too."""
        parts = []
        for (start, stop), n_categories in zip(self._bounds, self.n_categories, strict=True):
            if n_categories > 0:
                parts.append(slice(start, stop))
            elif stop - start > 1:
                # The first column is the number itself.
                parts.append(slice(start + 1, stop))
        return parts

    @cached_property
    def chosen(self) -> list[int]:
        """For each encoded column its place among those that a corruption selects by themselves: gaps share the place
        of their number."""
        # A number without its gap, or a gap without its number, would be no value of the feature.
        gaps = set[int]()
        for bounds, n_categories in zip(self._bounds, self.n_categories, strict=True):
            if n_categories == 0:
                gaps.update(range(bounds[0] + 1, bounds[1]))
        places, place = [], -1
        for column in range(self.n_encoded):
            if column not in gaps:
                place += 1
            places.append(place)
        return places

    @cached_property
    def owners(self) -> list[int]:
        """The feature of each encoded column."""
        features: list[int] = []
        for feature in range(self.n_features):
            features += [feature] * len(self.encoded_columns(feature))
        return features

    def encoded_columns(self, feature: int) -> range:
        """The encoded columns of one feature."""
        return range(*self._bounds[feature])

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        """First encoded column of each feature, and the one after its last."""
        bounds, start = [], 0
        for n_categories, has_gap in zip_longest(self.n_categories, self.gaps, fillvalue=False):
            # A numeric feature has 0 categories, and one column all the same.
            stop = start + max(n_categories, 1) + has_gap
            bounds.append((start, stop))
            start = stop
        return bounds


@dataclass
class Network(Options, ABC):
    """An encoder f: its options, and how they build a module.

    Class variables:

    - ``starts_as_built``: whether the module's constructor draws its initial weights, from the trial's stream. If not,
      ``network.weight_init`` initialises the linear layers.
    - ``typical_cost``: the time of a training step relative to ``mlp`` on 30 columns, for estimates.
    - ``costs_by_column``: true if that time is proportional to the number of columns.
    """

    name: ClassVar[str]
    starts_as_built: ClassVar[bool] = True
    typical_cost: ClassVar[float] = 1.0
    costs_by_column: ClassVar[bool] = False

    @abstractmethod
    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        """A module from encoded rows ``(..., N, D)`` to embeddings ``(..., N, E)``, of any width E.

        The engine runs it under `torch.vmap`, which hides the trial axis. A module that consists of layers on the last
        axis alone may declare ``acts_on_last_axis = True``; it is then called with the trial axis, which is faster. Its
        own parameters and buffers get that axis in front too, so they must broadcast with it: a bias is ``(1, width)``.

        A module may train its own parameters at other `Rates`.

        Args:
            columns: the D encoded columns.
            dropout: the rate of ``method=dropout``, for the network's `Dropout` layers; None keeps its own rate.
        """

    def prepare(self, module: nn.Module, rows: Tensor) -> None:
        """Set up the module with the encoded training rows ``(n, D)`` before training, for example its bins. Random
        numbers are drawn from the global generator, which holds the trial's stream."""
        return

    def head(self, widths: Sequence[int], dropout: float | None) -> nn.Module:
        """h: from embeddings to outputs, ``(..., N, widths[0])`` to ``(..., N, widths[-1])``. ``dropout`` is as in
        `build`. Linear layers are initialised by ``network.weight_init``."""
        return ReLUNetwork(widths, dropout=dropout)

    def pretrain_head(self, head: nn.Module) -> nn.Module:
        """g as the network trains it, from the one that the pretext made."""
        return head

    def prepare_head(self, head: nn.Module, embeddings: Tensor, targets: Tensor) -> None:
        """Set up h with the embeddings ``(n, E)`` of the training rows, and with the labels that training sees as
        `Target.encode` gives them, as `prepare` does f."""
        return
