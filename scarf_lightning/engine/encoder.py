"""f, g and h of a stack: each trial's is built from its own random stream, then all are lifted into one module."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor, nn

from ..networks import Columns, Network, OneHot, initialise
from ..options.settings import NetworkSettings
from ..pretexts import Pretext
from ..randomness import Purpose, Streams
from .lifting import lift, load_state, part_of, unlift


class Encoder(nn.Module):
    """f of T trials: the one-hot input layer, and a network on encoded rows.

    **Shape.** Raw features ``(T, N, M)`` to embeddings ``(T, N, E)``; ``width`` is E. Those of one trial may lack its
    axis. ``body`` takes encoded features ``(T, N, D)``, for views that are made after the encoding. ``missing``, if
    any, is a learnable value of each encoded column, ``(T, 1, D)``, that starts at 0.
    """

    def __init__(
        self, columns: Columns, networks: Sequence[nn.Module], width: int, *, learns_missing_values: bool
    ) -> None:
        super().__init__()
        self.columns = columns
        self.width = width
        self.is_frozen = False
        self.one_hot = OneHot(columns.n_categories, columns.gaps)
        self.missing: nn.Parameter | None = None
        if learns_missing_values:
            zeros = torch.zeros(len(networks), 1, columns.n_encoded, dtype=torch.float32)
            self.missing = nn.Parameter(zeros)
        self.body = lift(networks)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        out: Tensor = self.body(self.one_hot(x))
        return out

    def freeze(self) -> None:
        """Stop learning. `FinetuneModule` also keeps a frozen encoder in evaluation mode while it trains."""
        self.is_frozen = True
        self.requires_grad_(False)


class Classifier(nn.Module):
    """h after f.

    **Shape.** Raw features ``(T, N, M)`` to outputs ``(T, N, C)``: logits of classes, one standardised number. Those of
    one trial may lack its axis.
    """

    def __init__(self, encoder: Encoder, head: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return self.predict_encoded(self.encoder.one_hot(x))

    def predict_encoded(self, encoded: Tensor) -> Tensor:
        """Encoded features ``(T, N, D)`` to outputs ``(T, N, C)``."""
        outputs: Tensor = self.head(self.encoder.body(encoded))
        return outputs


@dataclass(frozen=True)
class TrainingData:
    """Training rows for networks that look at them before they train (MLP-PLE takes its bins from them), on the host.

    Attributes:
        rows: the encoded training rows ``(n, D)`` of the trial at a position.
        targets: the labels that training sees of this trial, ``(m, ...)``, as `Target.encode` gives them.
    """

    rows: Callable[[int], Tensor]
    targets: Callable[[int], Tensor]


@dataclass(frozen=True)
class Networks:
    """Makes the networks of trials on a table.

    Attributes:
        columns: the encoded columns.
        n_outputs: outputs of h.
        streams: draw the initial weights.
        network: f.
        settings: of g, h and the initial weights.
        data: for networks that look at it; without it they start as they are built.
    """

    columns: Columns
    n_outputs: int
    streams: Streams
    network: Network
    settings: NetworkSettings
    data: TrainingData | None = None

    def encoder(
        self,
        trials: Sequence[int],
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        fit: int = 0,
        dropout: float | None = None,
        learns_missing_values: bool = False,
    ) -> Encoder:
        """f, with the ``pretrained`` weights if there are any. Missing values always start at 0."""
        prepare = None
        # Pre-trained weights bring what `prepare` would set, such as bins.
        if pretrained is None and self._overrides("prepare"):
            prepare = self._prepare
        networks = self._build(
            trials,
            Purpose.ENCODER,
            fit,
            partial(self.network.build, self.columns, dropout),
            prepare=prepare,
            draws_linear_layers=not self.network.starts_as_built,
        )
        encoder = Encoder(self.columns, networks, self.width, learns_missing_values=learns_missing_values)
        if pretrained is not None:
            load_state(encoder.body, part_of(pretrained, "body"))
        return encoder

    def head(
        self, trials: Sequence[int], encoder: Encoder | None = None, *, fit: int = 0, dropout: float | None = None
    ) -> nn.Module:
        """h, with the outputs that the target needs. A new one may look at the embeddings of ``encoder``."""
        prepare = None
        if encoder is not None and self._overrides("prepare_head"):
            # The lifted f runs T trials at once. The data of the trials differ in size, so each gets its own f.
            encoders = self._build(trials, Purpose.ENCODER, fit, partial(self.network.build, self.columns, dropout))
            prepare = partial(self._prepare_head, unlift(encoder.body, encoders))
        heads = self._build(trials, Purpose.HEAD, fit, partial(self.plain_head, dropout), prepare=prepare)
        return lift(heads)

    def plain_head(self, dropout: float | None = None) -> nn.Module:
        """h of one trial."""
        layers = self.settings.head
        hidden_widths = [layers.width] * (layers.depth - 1)
        return self.network.head([self.width, *hidden_widths, self.n_outputs], dropout)

    def pretrain_head(self, trials: Sequence[int], pretext: Pretext) -> nn.Module:
        """g, as the pretext builds it and the network trains it."""
        heads = self._build(trials, Purpose.PRETRAIN_HEAD, 0, partial(self.plain_pretrain_head, pretext))
        return lift(heads)

    def plain_pretrain_head(self, pretext: Pretext) -> nn.Module:
        """g of one trial."""
        head = pretext.head(self.width, self.columns, self.settings.pretrain_head)
        return self.network.pretrain_head(head)

    @cached_property
    def width(self) -> int:
        """E, the width of an embedding."""
        # A network is tried out, since its class may make embeddings of any width.
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            encoder = self.network.build(self.columns, None).eval()
            # Two rows, because batch normalisation refuses one.
            embedding = encoder(torch.zeros(2, self.columns.n_encoded))
            return int(embedding.shape[-1])

    def _overrides(self, method: str) -> bool:
        """True if the network looks at data, by a method of its own."""
        return getattr(type(self.network), method) is not getattr(Network, method)

    def _prepare(self, module: nn.Module, position: int) -> None:
        assert self.data is not None
        self.network.prepare(module, self.data.rows(position))

    @torch.no_grad()
    def _prepare_head(self, encoders: Sequence[nn.Module], head: nn.Module, position: int) -> None:
        assert self.data is not None
        encoder = encoders[position].eval()
        # f and h may have other number types than the rows.
        rows = self.data.rows(position).to(next(encoder.parameters()))
        embeddings = encoder(rows).to(next(head.parameters()))
        self.network.prepare_head(head, embeddings, self.data.targets(position))

    def _build(
        self,
        trials: Sequence[int],
        purpose: Purpose,
        fit: int,
        build: Callable[[], nn.Module],
        *,
        prepare: Callable[[nn.Module, int], None] | None = None,
        draws_linear_layers: bool = True,
    ) -> list[nn.Module]:
        """A module for each trial. Its constructor, its linear layers and ``prepare`` draw from the trial's stream."""
        modules = []
        for position, trial in enumerate(trials):
            seed = self.streams.seed_of(trial, purpose, fit)
            # A constructor draws from PyTorch's global stream of the CPU, which belongs to the user and is put back.
            # The streams of GPUs, which `torch.manual_seed` seeds as well, are left alone.
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(seed)
                module = build()
                # From a generator of their own, so that what a constructor draws does not change them.
                if draws_linear_layers:
                    generator = torch.Generator().manual_seed(seed)
                    initialise(module, self.settings.weight_init, generator)
                if prepare is not None:
                    prepare(module, position)
            modules.append(module)
        return modules
