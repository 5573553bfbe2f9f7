"""f, g and h of a stack, each trial's freshly built from its own stream."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from ..errors import UsageError
from ..networks import Columns, Initialisation, Network, ReLUNetwork
from ..pretexts import Pretext
from ..randomness import Purpose, Streams
from ..settings import NetworkSettings
from .encoder import Encoder
from .lifting import lift, load_state, part_of, state


@dataclass(frozen=True)
class Networks:
    """Makes the networks of trials on a table.

    Args:
        columns: of the table.
        n_classes: that h tells apart.
        streams: of random numbers.
        network: f.
        settings: of g and h, and how linear layers start.
        look: gives the encoded training rows ``(n, D)`` of the trial at a position, for networks that look at them.
    """

    columns: Columns
    n_classes: int
    streams: Streams
    network: Network
    settings: NetworkSettings
    look: Callable[[int], Tensor]

    def encoder(
        self,
        trials: Sequence[int],
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        fit: int = 0,
        dropout: float | None = None,
        learns_missing_values: bool = False,
    ) -> Encoder:
        """f, with the ``pretrained`` weights where there are any. Missing values always start anew."""
        built = self._build(trials, Purpose.ENCODER, fit, lambda: self.network.build(self.columns, dropout))
        if not self.network.starts_as_built:
            self._initialise(built, trials, Purpose.ENCODER, fit)
        if type(self.network).prepare is not Network.prepare and pretrained is None:
            for position, module in enumerate(built):
                self.network.prepare(module, self.look(position))
        encoder = Encoder(self.columns, built, self.width, learns_missing_values=learns_missing_values)
        if pretrained is not None:
            load_state(encoder.body, part_of(pretrained, "body"))
        return encoder

    def head(
        self,
        trials: Sequence[int],
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        fit: int = 0,
        dropout: float | None = None,
    ) -> nn.Module:
        """h, an output a class, with the first layer that is among the ``pretrained`` weights where these are given.

        Raises:
            UsageError: there is none among them.
        """
        built = self._build(trials, Purpose.HEAD, fit, lambda: self.plain_head(dropout))
        self._initialise(built, trials, Purpose.HEAD, fit)
        head = lift(built)
        if pretrained is not None:
            first = part_of(pretrained, "head")
            if not first:
                raise UsageError("finetune.first_layer=pretrained: g has no layer that its task names in first_layer.")
            load_state(head, state(head) | first)
        return head

    def plain_head(self, dropout: float | None = None) -> ReLUNetwork:
        """h of one trial."""
        layers = self.settings.head
        return ReLUNetwork([self.width, *[layers.width] * (layers.depth - 1), self.n_classes], dropout=dropout)

    def pretrain_head(self, trials: Sequence[int], pretext: Pretext) -> nn.Module:
        """g, as the pre-training has it."""
        layers = self.settings.pretrain_head
        built = self._build(trials, Purpose.PRETRAIN_HEAD, 0, lambda: pretext.head(self.width, self.columns, layers))
        self._initialise(built, trials, Purpose.PRETRAIN_HEAD, 0)
        return lift(built)

    @cached_property
    def width(self) -> int:
        """E, the width of an embedding."""
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            alone = self.network.build(self.columns, None).eval()
            return int(alone(torch.zeros(2, self.columns.n_encoded)).shape[-1])

    def _build(
        self, trials: Sequence[int], purpose: Purpose, fit: int, build: Callable[[], nn.Module]
    ) -> list[nn.Module]:
        """A module a trial, whose constructor draws from the trial's stream."""
        built = []
        for trial in trials:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.streams.seed_of(trial, purpose, fit))
                built.append(build())
        return built

    def _initialise(self, built: Sequence[nn.Module], trials: Sequence[int], purpose: Purpose, fit: int) -> None:
        """Let the linear layers start as the settings say."""
        initialisation = Initialisation(self.settings.weight_init, self.settings.bias_init)
        for module, trial in zip(built, trials, strict=True):
            initialisation.apply(module, torch.Generator().manual_seed(self.streams.seed_of(trial, purpose, fit)))
