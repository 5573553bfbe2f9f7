"""A pretext task in training: views of a batch, f and g, the loss, and the static validation set."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from ..corruption import Corruption, Selection
from ..data.device_table import DeviceTable, TrainingRows
from ..data.targets import Target
from ..networks import Columns
from ..pretexts import Pretext, Views
from ..randomness import Roster, StackedGenerator
from .encoder import Encoder

if TYPE_CHECKING:  # it imports Lightning
    from ..data.datamodule import Batch

MEAN_CHUNK = 1024
"""Training rows that are encoded at once for their mean."""
MOST_BYTES = 2**28
"""Memory for the validation views of a stack; a wide table of a thousand rows would need several times as much."""
SIMILARITIES = 2**24
"""Pairs of rows whose similarities are computed at once, by as many trials as have no more: 64 MB of float32. A step's
temporaries are several times as large."""


class CorruptionSource(TrainingRows):
    """The training rows of each trial as a corruption sees them: a `TrainingSource` with the trial axis in front.

    The input layer of ``encoder``, f, encodes them, and a view may take its missing values.
    """

    def __init__(self, encoder: Encoder, table: DeviceTable, rows: Tensor, roster: Roster) -> None:
        super().__init__(table, rows, roster)
        self._encoder, self.n_rows = encoder, len(self)
        self._mean: Tensor | None = None
        self._edges: dict[int, Tensor] = {}

    @property
    def columns(self) -> Columns:
        """The encoded columns."""
        return self._encoder.columns

    def encoded_rows(self, positions: Tensor) -> Tensor:
        return self.encode(self.rows(positions))

    def mean(self) -> Tensor:
        if self._mean is None:
            chunks = [self.encode(chunk) for chunk in self.chunks(MEAN_CHUNK)]
            total = sum(chunk.double().sum(dim=1, keepdim=True) for chunk in chunks)
            self._mean = torch.as_tensor(total / self.n_rows, dtype=chunks[0].dtype)
        return self._roster.of(self._mean)

    def bins(self, raw: Tensor, n_bins: int) -> Tensor:
        """The bin of each number of raw rows ``(T, N, M)``, int64 ``(T, N, M_numeric)``."""
        if n_bins not in self._edges:
            numbers = torch.cat([self._numbers(chunk) for chunk in self.chunks(MEAN_CHUNK)], dim=1)
            ordered = numbers.sort(dim=1).values
            firsts = self.n_rows * torch.arange(1, n_bins, device=ordered.device) // n_bins
            self._edges[n_bins] = ordered[:, firsts].mT.contiguous()
        edges = self._roster.of(self._edges[n_bins])
        return torch.searchsorted(edges, self._numbers(raw).mT.contiguous(), right=True).mT

    def _numbers(self, raw: Tensor) -> Tensor:
        """The numeric columns of raw rows."""
        numeric = [place for place, count in enumerate(self.columns.n_categories) if not count]
        if not numeric:
            return raw[..., :0]
        # A list of places as an index would have to be copied to the device first.
        return torch.stack([raw[..., place] for place in numeric], dim=-1)

    def missing_values(self) -> Tensor:
        assert self._encoder.missing is not None
        return self._encoder.missing

    def encode(self, raw: Tensor) -> Tensor:
        """Raw features ``(T, N, M)`` to encoded ones ``(T, N, D)``."""
        encoded: Tensor = self._encoder.one_hot(raw)
        return encoded


@dataclass
class WithGaps(Selection):
    """Selects encoded columns so that the gaps of a number are selected with it. ``chosen`` is that of `Columns`."""

    selection: Selection
    chosen: list[int]

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        alone = self.selection.mask(rate, n_rows, self.chosen[-1] + 1, random)
        return alone[..., torch.tensor(self.chosen, device=alone.device)]


class BatchRows:
    """A mini-batch of each trial, from raw rows ``(T, N, M)``: the `Rows` that pretexts and methods see."""

    def __init__(self, raw: Tensor, source: CorruptionSource, random: StackedGenerator) -> None:
        self.encoded, self.columns, self.random = source.encode(raw), source.columns, random
        self._raw, self._source = raw, source

    def corrupted(self, corruption: Corruption, selection: Selection) -> tuple[Tensor, Tensor]:
        """A view of the rows, encoded, ``(T, N, D)``, and the mask of the features whose value changed."""
        is_raw = corruption.space == "raw"
        rows = self._raw if is_raw else self.encoded
        if self.columns.gaps and not is_raw:
            selection = WithGaps(selection, self.columns.chosen)
        view, _ = corruption(rows, self._source, self.random, selection)
        changed = view != rows
        if self.columns.gaps and is_raw:
            changed &= ~(view.isnan() & rows.isnan())  # a gap that another gap replaces
        return self._source.encode(view) if is_raw else view, changed

    def bins(self, n_bins: int) -> Tensor:
        """The bin of each number, int64 ``(T, N, M_numeric)``."""
        return self._source.bins(self._raw, n_bins)


class PretextTask:
    """Computes the loss of a pretext for f and g of T trials (Algorithm 1, lines 5 to 8).

    A corruption draws values from ``source``, and the training views draw from ``random``. A pretext that uses labels
    has a ``classifier``.
    """

    def __init__(
        self,
        pretext: Pretext,
        encoder: Encoder,
        head: nn.Module,
        source: CorruptionSource,
        random: StackedGenerator,
        classifier: "LabelHead | None" = None,
    ) -> None:
        self.pretext, self.encoder, self.head, self.classifier = pretext, encoder, head, classifier
        self._source, self._random = source, random

    def losses(self, batch: "Batch") -> Tensor:
        """Training loss of each trial, ``(T,)``, on a batch of raw rows ``(T, N, M)``."""
        views = self.pretext.make_views(BatchRows(batch.x, self._source, self._random))
        # One pass of all inputs together costs less than a pass for each.
        x, n = torch.cat(views.inputs, dim=1), len(views.inputs)
        if self.classifier is None:
            return _by_groups_of_trials(self.pretext.compute_loss, self._embed(x, n), views.targets)
        embedded = self.encoder.body(x)
        losses = _by_groups_of_trials(self.pretext.compute_loss, self._outputs(embedded, n), views.targets)
        return self.pretext.with_labels(losses, self.classifier.losses(embedded[:, : batch.x.shape[1]], batch))

    def validation_views(self, raw: Tensor, random: StackedGenerator, n_passes: int) -> "StaticViews":
        """``n_passes`` mini-batches made of the same raw rows ``(T, N, M)``."""
        rows = BatchRows(raw, self._source, random)
        return StaticViews.of_passes([self.pretext.make_views(rows) for _ in range(n_passes)])

    def validation(self, views: "StaticViews", *, error: bool) -> dict[str, Tensor]:
        """Mean loss, and ``error`` if asked for, over mini-batches that are evaluated one by one, ``(T,)`` each."""
        n_passes = len(views.targets)
        each_input = [self._embed(x, n) * (n_passes // n) for x, n in zip(views.inputs, views.parts, strict=True)]
        outputs = list(zip(*each_input, strict=True))
        measures = {"loss": self.pretext.compute_loss} | ({"error": self.pretext.compute_error} if error else {})
        # Passes are stacked last, so that the number of trials does not decide the order of the sum.
        return {
            name: torch.stack(
                [_by_groups_of_trials(measure, *each) for each in zip(outputs, views.targets, strict=True)], dim=-1
            ).mean(-1)
            for name, measure in measures.items()
        }

    def _embed(self, x: Tensor, n: int) -> tuple[Any, ...]:
        """The outputs of g for each of ``n`` inputs, ``x`` ``(T, n * N, D)`` one after the other."""
        return self._outputs(self.encoder.body(x), n)

    def _outputs(self, embedded: Tensor, n: int) -> tuple[Any, ...]:
        """The outputs of g for each of ``n`` inputs, from their embeddings ``(T, n * N, E)``."""
        out = self.head(embedded)
        if isinstance(out, tuple):
            return tuple(zip(*(part.chunk(n, dim=1) for part in out), strict=True))
        return tuple(out.chunk(n, dim=1))


class LabelHead(nn.Module):
    """A head from embeddings to the target, for pretexts that use labels."""

    def __init__(self, head: nn.Module, target: Target) -> None:
        super().__init__()
        self.head, self._target = head, target

    def losses(self, embedded: Tensor, batch: "Batch") -> Tensor:
        """The target's loss on embeddings ``(T, N, E)`` of a batch, of which rows without a label weigh nothing."""
        assert batch.targets is not None
        return self._target.loss(self.head(embedded), batch.targets, batch.weights)


def _by_groups_of_trials(measure: Callable[..., Tensor], *of_all: tuple[Any, ...]) -> Tensor:
    """A loss ``(T,)`` of tuples of tensors ``(T, N, ...)``, so many trials at once that their pairs of rows fit."""
    first: Any = of_all
    while isinstance(first, tuple):
        first = first[0]
    size = max(1, SIMILARITIES // first.shape[1] ** 2)
    if len(first) <= size:
        return measure(*of_all)
    tensors, structure = tree_flatten(of_all)
    groups = zip(*(tensor.split(size) for tensor in tensors), strict=True)
    return torch.cat([measure(*tree_unflatten(group, structure)) for group in groups])


@dataclass(frozen=True)
class StaticViews:
    """P mini-batches made of the same rows.

    **Shape.** ``inputs`` has a tensor for each input of the pretext. It holds all mini-batches one after the other,
    ``(T, P * N, D)``, or ``(T, N, D)`` if they share it, as they do clean rows; ``parts`` says which, P or 1.
    ``targets`` are those of each mini-batch.
    """

    inputs: tuple[Tensor, ...]
    parts: tuple[int, ...]
    targets: tuple[tuple[Tensor, ...], ...]

    @classmethod
    def of_passes(cls, passes: list[Views]) -> "StaticViews":
        each_input = list(zip(*(views.inputs for views in passes), strict=True))
        distinct = [of_all[:1] if all(each is of_all[0] for each in of_all) else of_all for of_all in each_input]
        inputs = tuple(of_all[0] if len(of_all) == 1 else torch.cat(of_all, dim=1) for of_all in distinct)
        return cls(inputs, tuple(map(len, distinct)), tuple(views.targets for views in passes))

    @property
    def n_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self._distinct().values())

    def of(self, staying: Tensor) -> "StaticViews":
        """The views of the trials at these positions. A tensor that occurs several times stays shared."""
        kept = {key: tensor[staying] for key, tensor in self._distinct().items()}
        inputs, targets = tree_map(lambda tensor: kept[id(tensor)], (self.inputs, self.targets))
        return StaticViews(inputs, self.parts, targets)

    def _distinct(self) -> dict[int, Tensor]:
        return {id(tensor): tensor for tensor in tree_leaves((self.inputs, self.targets))}


class ValidationSet:
    """The static validation set (paper, section 3): ``n_passes`` views of each mini-batch of validation rows.

    Views are made at the first validation and kept. If they need more than `MOST_BYTES`, or change with the network,
    they are made for each validation, from the beginning of the same streams.
    """

    def __init__(self, task: PretextTask, random: StackedGenerator, n_passes: int) -> None:
        self._task, self._random, self._n_passes = task, random, n_passes
        self._keeps = not task.pretext.learns_missing_values
        self._kept: list[StaticViews] = []
        self._next = 0

    def start(self) -> None:
        """Begin a validation."""
        self._random.reset()
        self._next = 0

    def views(self, raw: Tensor) -> StaticViews:
        """The views of the next mini-batch, whose raw rows are ``(T, N, M)``."""
        if self._next < len(self._kept):
            views = self._kept[self._next]
        else:
            views = self._task.validation_views(raw, self._random, self._n_passes)
            if self._keeps:
                self._kept.append(views)
                if sum(each.n_bytes for each in self._kept) > MOST_BYTES:
                    self._keeps = False
                    self._kept.clear()
        self._next += 1
        return views

    def let_leave(self, staying: Tensor) -> None:
        """Keep only the trials at these positions."""
        self._kept = [views.of(staying) for views in self._kept]
