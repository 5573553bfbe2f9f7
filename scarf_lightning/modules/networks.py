"""f, g and h of a stack, freshly initialised."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from ..data.table import Table
from ..losses import PretextLoss
from ..nn import Encoder, Head, Initialisation, StackedLinear
from ..randomness import Purpose, Streams
from ..settings import NetworkSettings
from .fitting import load_weights


@dataclass(frozen=True)
class Networks:
    """Makes the networks of ``trials`` on a table."""

    table: Table
    trials: tuple[int, ...]
    streams: Streams
    settings: NetworkSettings

    def encoder(
        self,
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        fit: int = 0,
        learns_missing_values: bool = False,
    ) -> Encoder:
        """f, with the ``pretrained`` weights where there are any. Missing values always start anew."""
        settings = self.settings.encoder
        encoder = Encoder(
            self.table.n_categories,
            self.streams.torch(self.trials, Purpose.ENCODER, fit=fit),
            self._initialisation,
            width=settings.width,
            depth=settings.depth,
            final_relu=settings.final_relu,
            learns_missing_values=learns_missing_values,
        )
        if pretrained is not None:
            start = "body."
            body = {name.removeprefix(start): w for name, w in pretrained.items() if name.startswith(start)}
            load_weights(encoder.body, body)
        return encoder

    def head(self, fit: int = 0) -> Head:
        """h, an output a class."""
        settings = self.settings.head
        random = self.streams.torch(self.trials, Purpose.HEAD, fit=fit)
        n_out = self.table.n_classes
        return Head(self._width, n_out, random, self._initialisation, width=settings.width, depth=settings.depth)

    def pretrain_head(self, loss: PretextLoss, encoded_width: int) -> nn.Module:
        """g: as wide as the encoded rows where they are reconstructed; with a linear layer to one logit after it where
        views are told from rows (paper, section 4, "Discriminative SCARF")."""
        settings = self.settings.pretrain_head
        random = self.streams.torch(self.trials, Purpose.PRETRAIN_HEAD)
        n_out = encoded_width if loss.task == "reconstruction" else settings.width
        head = Head(self._width, n_out, random, self._initialisation, width=settings.width, depth=settings.depth)
        if loss.task != "discrimination":
            return head
        return nn.Sequential(head, StackedLinear(n_out, 1, random, self._initialisation))

    @property
    def _width(self) -> int:
        return self.settings.encoder.width

    @property
    def _initialisation(self) -> Initialisation:
        return Initialisation(self.settings.weight_init, self.settings.bias_init)
