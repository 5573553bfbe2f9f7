"""A pretext task in training: views of a batch, f and g, the loss, and the static validation set."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import register_pytree_node

from ..corruption import Corruption, Selection
from ..data.datamodule import DeviceTable, TrainingRows
from ..data.targets import Target
from ..errors import UsageError
from ..networks import Columns
from ..pretexts import Pretext, Views
from ..randomness import Roster, StackedGenerator
from .encoder import Encoder
from .hardware import VIEWS_BYTES

if TYPE_CHECKING:
    # It imports Lightning.
    from ..data.datamodule import Batch

MEAN_CHUNK = 1024
"""Training rows that are encoded at once for their mean."""
SIMILARITIES = 2**24
"""Pairs of rows whose similarities are computed at once, by as many trials as have no more: 64 MB of float32. A step's
temporaries are several times as large."""


class CorruptionSource(TrainingRows):
    """The training rows of each trial as a corruption sees them: a `TrainingSource` with the trial axis in front.

    The input layer of ``encoder``, f, encodes them, and a view may take its missing values.
    """

    def __init__(self, encoder: Encoder, table: DeviceTable, rows: Tensor, roster: Roster) -> None:
        super().__init__(table, rows, roster)
        self.n_rows = len(self)
        self._encoder = encoder
        # Computed on first use, and kept for all trials, including those that have stopped.
        self._edges: dict[int, Tensor] = {}
        self._keep_masks: dict[tuple[tuple[str, ...], str], Tensor] = {}

    @property
    def columns(self) -> Columns:
        """The encoded columns."""
        return self._encoder.columns

    def kept(self, corruption: Corruption) -> Tensor | None:
        """The columns that a corruption leaves as they are, bool ``(M,)`` or ``(D,)`` of its space; None if none."""
        if not corruption.keep:
            return None
        key = (tuple(corruption.keep), corruption.space)
        if key not in self._keep_masks:
            features = self._table.places(corruption.keep, "corruption.keep")
            owners = range(self.columns.n_features) if corruption.space == "raw" else self.columns.owners
            mask = [owner in features for owner in owners]
            self._keep_masks[key] = torch.tensor(mask, device=self._table.device)
        return self._keep_masks[key]

    def cells(self, positions: Tensor) -> Tensor:
        n_features = self._table.n_features
        if positions.shape[-1] != n_features:
            raise UsageError(
                f"source.cells takes a training row for each of the {n_features} columns of the table, before their "
                f"categories are encoded, and was asked for {positions.shape[-1]}. A corruption that works on these "
                'says space: ClassVar[str] = "raw"; one that works on encoded columns takes source.encoded_rows.'
            )
        return super().cells(positions)

    def encoded_rows(self, positions: Tensor) -> Tensor:
        return self.encode(self.rows(positions))

    def mean(self) -> Tensor:
        """The mean of the encoded training rows, ``(T, 1, D)``."""
        return self._roster.of(self._mean_of_all)

    @cached_property
    def _mean_of_all(self) -> Tensor:
        """The mean of each trial, with those that have stopped."""
        chunks = [self.encode(chunk) for chunk in self.chunks(MEAN_CHUNK)]
        total = sum(chunk.double().sum(dim=1, keepdim=True) for chunk in chunks)
        return torch.as_tensor(total / self.n_rows, dtype=chunks[0].dtype)

    def bins(self, raw: Tensor, n_bins: int) -> Tensor:
        """The bin of each number of raw rows ``(T, N, M)``, int64 ``(T, N, M_numeric)``."""
        if n_bins not in self._edges:
            self._edges[n_bins] = self._bin_edges(n_bins)
        edges = self._roster.of(self._edges[n_bins])
        # `searchsorted` needs the columns before the rows.
        numbers = self._numbers(raw).mT.contiguous()
        return torch.searchsorted(edges, numbers, right=True).mT

    def _bin_edges(self, n_bins: int) -> Tensor:
        """The smallest number of each bin but the first, ``(T, M_numeric, n_bins - 1)``."""
        chunks = [self._numbers(chunk) for chunk in self.chunks(MEAN_CHUNK)]
        sorted_numbers = torch.cat(chunks, dim=1).sort(dim=1).values
        bins = torch.arange(1, n_bins, device=sorted_numbers.device)
        firsts = self.n_rows * bins // n_bins
        return sorted_numbers[:, firsts].mT.contiguous()

    def _numbers(self, raw: Tensor) -> Tensor:
        """The numeric columns of raw rows ``(T, N, M)``: ``(T, N, M_numeric)``."""
        numeric = []
        for column, n_categories in enumerate(self.columns.n_categories):
            if n_categories == 0:
                # Column by column: a list of positions would have to be copied to the device first.
                numeric.append(raw[..., column])
        if not numeric:
            return raw[..., :0]
        return torch.stack(numeric, dim=-1)

    def missing_values(self) -> Tensor:
        assert self._encoder.missing is not None
        return self._encoder.missing

    def encode(self, raw: Tensor) -> Tensor:
        """Raw features ``(T, N, M)`` to encoded ones ``(T, N, D)``."""
        encoded: Tensor = self._encoder.one_hot(raw)
        return encoded


@dataclass
class WithGaps(Selection):
    """Selects encoded columns so that the gaps of a number are selected with it.

    Attributes:
        selection: selects numbers, and categories.
        chosen: see `Columns.chosen`.
    """

    selection: Selection
    chosen: list[int]

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        n_without_gaps = self.chosen[-1] + 1
        mask = self.selection.mask(rate, n_rows, n_without_gaps, random)
        return mask[..., torch.tensor(self.chosen, device=mask.device)]


def check_shape(part: Any, role: str, tensor: Tensor, rows: Tensor) -> None:
    """Refuse a tensor of a part that has another shape than its rows.

    Raises:
        UsageError: names the part and both shapes.
    """
    if tensor.shape != rows.shape:
        raise UsageError(
            f"{part.name} gives {role} of the shape {tuple(tensor.shape)} for rows of the shape {tuple(rows.shape)}; "
            "give one of their shape, whatever the number of rows is."
        )


def corrupt(
    corruption: Corruption, x: Tensor, source: CorruptionSource, random: StackedGenerator, selection: Selection
) -> tuple[Tensor, Tensor]:
    """The view of rows ``x (..., N, M)`` and the mask of its selected features, without the columns that it keeps."""
    view, mask = corruption(x, source, random, selection)
    check_shape(corruption, "a view", view, x)
    is_kept = source.kept(corruption)
    if is_kept is None:
        return view, mask
    return torch.where(is_kept, x, view), mask & ~is_kept


class BatchRows:
    """A mini-batch of each trial, from raw rows ``(T, N, M)``: the `Rows` that pretexts and methods see."""

    def __init__(self, raw: Tensor, source: CorruptionSource, random: StackedGenerator) -> None:
        self.encoded = source.encode(raw)
        self.columns = source.columns
        self.random = random
        self._raw = raw
        self._source = source

    def corrupted(self, corruption: Corruption, selection: Selection) -> tuple[Tensor, Tensor]:
        """A view of the rows, encoded, ``(T, N, D)``, and the mask of the features whose value changed."""
        if corruption.space == "raw":
            view, _ = corrupt(corruption, self._raw, self._source, self.random, selection)
            # A drawn value may equal the one that it replaces, so the mask holds what changed, not what was selected.
            is_changed = view != self._raw
            if self.columns.gaps:
                # NaN differs from itself, but a gap that another gap replaces has not changed.
                is_changed &= ~(view.isnan() & self._raw.isnan())
            return self._source.encode(view), is_changed

        if self.columns.gaps:
            selection = WithGaps(selection, self.columns.chosen)
        view, _ = corrupt(corruption, self.encoded, self._source, self.random, selection)
        return view, view != self.encoded

    def bins(self, n_bins: int) -> Tensor:
        """The bin of each number, int64 ``(T, N, M_numeric)``."""
        return self._source.bins(self._raw, n_bins)


class PretextTask:
    """Computes the loss of a pretext for f and g of T trials (Algorithm 1, lines 5 to 8).

    Args:
        pretext: makes the views and compares the outputs of g.
        encoder: f.
        head: g.
        source: the training rows that a corruption draws values from.
        random: the stream that training views draw from.
        classifier: the head to the target, for pretexts that use labels.
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
        self.pretext = pretext
        self.encoder = encoder
        self.head = head
        self.classifier = classifier
        self._source = source
        self._random = random

    def losses(self, batch: "Batch") -> Tensor:
        """Training loss of each trial, ``(T,)``, on a batch of raw rows ``(T, N, M)``."""
        rows = BatchRows(batch.x, self._source, self._random)
        views = self._views(rows)
        # One pass of all inputs together costs less than a pass for each.
        inputs = torch.cat(views.inputs, dim=1)
        n_inputs = len(views.inputs)
        embeddings = self._embed(inputs)
        outputs = self._outputs(embeddings, n_inputs)
        group_losses = []
        for group in _trial_groups(outputs, views.targets):
            group_losses.append(self.pretext.compute_loss(*group))
        losses = _join(group_losses)
        if self.classifier is None:
            return losses
        # The classifier takes the embeddings, so f runs once for both losses.
        n_rows = batch.x.shape[1]
        first_input = embeddings[:, :n_rows]
        return self.pretext.with_labels(losses, self.classifier.losses(first_input, batch))

    def validation_views(self, raw: Tensor, random: StackedGenerator, n_passes: int) -> "StaticViews":
        """``n_passes`` mini-batches made of the same raw rows ``(T, N, M)``."""
        rows = BatchRows(raw, self._source, random)
        return StaticViews.joined([self._views(rows) for _ in range(n_passes)])

    def _views(self, rows: BatchRows) -> Views:
        views = self.pretext.make_views(rows)
        for x in views.inputs:
            check_shape(self.pretext, "an input", x, rows.encoded)
        return views

    def validation(self, views: "StaticViews", *, error: bool) -> dict[str, Tensor]:
        """Mean loss, and with ``error`` the error rate, over mini-batches evaluated one by one, ``(T,)`` each."""
        n_passes = len(views.targets)
        outputs_by_input = []
        for x, n_parts in zip(views.inputs, views.parts, strict=True):
            # An input that all mini-batches share passes through f and g once.
            outputs = self._outputs(self._embed(x), n_parts)
            outputs_by_input.append(outputs * (n_passes // n_parts))
        passes = list(zip(*outputs_by_input, strict=True))

        measures = {"loss": self.pretext.compute_loss}
        if error:
            measures["error"] = self.pretext.compute_error
        means = {}
        for name, measure in measures.items():
            values = []
            for pass_outputs, targets in zip(passes, views.targets, strict=True):
                groups = _trial_groups(pass_outputs, targets)
                values.append(_join([measure(*group) for group in groups]))
            # Passes are stacked last, so that the number of trials does not decide the order of the sum.
            means[name] = torch.stack(values, dim=-1).mean(-1)
        return means

    def _embed(self, x: Tensor) -> Tensor:
        """The embeddings by f of encoded rows ``(T, N, D)``: ``(T, N, E)``."""
        embeddings: Tensor = self.encoder.body(x)
        return embeddings

    def _outputs(self, embeddings: Tensor, n: int) -> tuple[Any, ...]:
        """The outputs of g for each of ``n`` inputs, from their embeddings ``(T, n * N, E)``."""
        out = self.head(embeddings)
        if isinstance(out, tuple):
            # g has several heads: one tuple of outputs for each input.
            parts = [part.chunk(n, dim=1) for part in out]
            return tuple(zip(*parts, strict=True))
        return tuple(out.chunk(n, dim=1))


class LabelHead(nn.Module):
    """A head from embeddings to the target, for pretexts that use labels."""

    def __init__(self, head: nn.Module, target: Target) -> None:
        super().__init__()
        self.head = head
        self._target = target

    def losses(self, embeddings: Tensor, batch: "Batch") -> Tensor:
        """The target's loss on embeddings ``(T, N, E)`` of a batch, of which rows without a label weigh nothing."""
        assert batch.targets is not None
        return self._target.loss(self.head(embeddings), batch.targets, batch.weights)


def _trial_groups(*arguments: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Tuples of tensors ``(T, N, ...)``, divided along T so that the pairs of rows of a group fit.

    Yields one group after the other: the temporaries of its loss are gone before the next one begins.
    """
    n_trials, n_rows = _tensors(arguments)[0].shape[:2]
    # Contrastive losses compare all pairs of rows, so their memory grows with the square of the batch.
    size = max(1, SIMILARITIES // n_rows**2)
    if n_trials <= size:
        yield arguments
        return
    groups = {id(tensor): torch.split(tensor, size) for tensor in _tensors(arguments)}
    for group in range(math.ceil(n_trials / size)):
        parts = {key: chunks[group] for key, chunks in groups.items()}
        yield _replace(arguments, parts)


def _join(losses: list[Tensor]) -> Tensor:
    """The losses ``(T,)`` of all trials, from those of groups."""
    # A copy of the only group would be one more node of the graph in each step.
    return losses[0] if len(losses) == 1 else torch.cat(losses)


def _tensors(tree: Any) -> list[Tensor]:
    """All tensors in tuples of tuples, in their order."""
    if isinstance(tree, Tensor):
        return [tree]
    tensors = []
    for part in tree:
        tensors += _tensors(part)
    return tensors


def _replace(tree: Any, by_id: Mapping[int, Tensor]) -> Any:
    """The same tuples of tuples, with another tensor in place of each, looked up by its ``id``."""
    if isinstance(tree, Tensor):
        return by_id[id(tree)]
    return tuple(_replace(part, by_id) for part in tree)


@dataclass(frozen=True)
class StaticViews:
    """P mini-batches made of the same rows.

    Attributes:
        inputs: a tensor for each input of the pretext, with all mini-batches one after the other, ``(T, P * N, D)``.
            One that all mini-batches share, as they do clean rows, is there once, ``(T, N, D)``.
        parts: the number of mini-batches in each of the inputs, P or 1.
        targets: those of each mini-batch.
    """

    inputs: tuple[Tensor, ...]
    parts: tuple[int, ...]
    targets: tuple[tuple[Tensor, ...], ...]

    @classmethod
    def joined(cls, passes: list[Views]) -> "StaticViews":
        """Views of the same rows as one tensor an input."""
        inputs = []
        parts = []
        for same_input in zip(*(views.inputs for views in passes), strict=True):
            first = same_input[0]
            if all(view is first for view in same_input):
                inputs.append(first)
                parts.append(1)
            else:
                inputs.append(torch.cat(same_input, dim=1))
                parts.append(len(same_input))
        return cls(tuple(inputs), tuple(parts), tuple(views.targets for views in passes))

    @property
    def n_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self._tensors_by_id().values())

    def of(self, staying: Tensor) -> "StaticViews":
        """The views of the trials at these positions. A tensor that occurs several times stays shared."""
        tensors = {key: tensor[staying] for key, tensor in self._tensors_by_id().items()}
        return StaticViews(_replace(self.inputs, tensors), self.parts, _replace(self.targets, tensors))

    def flattened(self) -> tuple[list[Any], tuple[int, ...]]:
        """The tensors as a tree, and the rest."""
        return [self.inputs, self.targets], self.parts

    @classmethod
    def unflattened(cls, tree: Iterable[Any], parts: Any) -> "StaticViews":
        """The reverse of `flattened`."""
        inputs, targets = tree
        return cls(inputs, parts, targets)

    def _tensors_by_id(self) -> dict[int, Tensor]:
        """The tensors by their ``id``: clean rows are an input and a target of an auto-encoder."""
        return {id(tensor): tensor for tensor in _tensors((self.inputs, self.targets))}


# A captured validation copies the tensors of its argument.
register_pytree_node(StaticViews, StaticViews.flattened, StaticViews.unflattened)


class ValidationSet:
    """The static validation set (paper, section 3): ``n_passes`` views of each mini-batch of validation rows.

    Views are made at the first validation and kept. If they need more than `VIEWS_BYTES`, or change with the network,
    they are made for each validation, from the beginning of the same streams.
    """

    def __init__(self, task: PretextTask, random: StackedGenerator, n_passes: int) -> None:
        self._task = task
        self._random = random
        self._n_passes = n_passes
        # Views with learnt values change with the network.
        self._keeps = not task.pretext.learns_missing_values
        self._cached_views: list[StaticViews] = []
        self._next = 0

    def start(self) -> None:
        """Begin a validation."""
        self._random.reset()
        self._next = 0

    def views(self, raw: Tensor) -> StaticViews:
        """The views of the next mini-batch, whose raw rows are ``(T, N, M)``."""
        if self._next < len(self._cached_views):
            views = self._cached_views[self._next]
        else:
            views = self._task.validation_views(raw, self._random, self._n_passes)
            self._keep(views)
        self._next += 1
        return views

    def _keep(self, views: StaticViews) -> None:
        """Keep views for the next validation, or none at all once they need too much memory."""
        if not self._keeps:
            return
        self._cached_views.append(views)
        if sum(batch_views.n_bytes for batch_views in self._cached_views) > VIEWS_BYTES:
            self._keeps = False
            self._cached_views.clear()

    def let_leave(self, staying: Tensor) -> None:
        """Keep only the trials at these positions."""
        self._cached_views = [views.of(staying) for views in self._cached_views]
