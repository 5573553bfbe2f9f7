"""What a module of one fit is made of: networks, streams and training rows of the stack's trials."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from ..data.device_table import TrainingRows
from ..pretexts import Pretext
from ..randomness import Purpose, StackedGenerator
from ..roster import Roster
from ..settings import FinetuneSettings, FitSettings
from .encoder import Classifier, Encoder
from .fitting import watched_metric
from .lifting import give_streams
from .pretext_task import PretextTask
from .rows import CorruptionSource

if TYPE_CHECKING:
    from .stack import Stack


@dataclass(frozen=True)
class FitSetup:
    """One fit of a stack, before it begins.

    Attributes:
        stack: whose trials are trained.
        settings: how.
        number: tells apart the fits of a method that trains several models in a trial.
        pretrained: weights to start from, those of f and of the first layer of g; None starts from fresh ones.
    """

    stack: "Stack"
    settings: FitSettings
    number: int = 0
    pretrained: Mapping[str, Tensor] | None = None

    @cached_property
    def roster(self) -> Roster:
        """Of the trials still here."""
        return Roster(len(self.stack.trials), self.stack.hardware.device)

    @property
    def training(self) -> dict[str, Any]:
        """What every `StackModule` takes: the roster and the settings; and a `FinetuneModule`: its metric."""
        metric = watched_metric(self.settings)
        return {"roster": self.roster, "settings": self.settings} | ({"metric": metric} if metric else {})

    def random(self, purpose: str) -> StackedGenerator:
        """The trials' streams for a purpose, on the device."""
        stack = self.stack
        return stack.streams.torch(
            stack.trials, purpose, fit=self.number, device=stack.hardware.device, roster=self.roster
        )

    def encoder(self, *, dropout: float | None = None, learns_missing_values: bool = False) -> Encoder:
        """f, which starts from the pre-trained weights where there are any."""
        return self.stack.networks.encoder(
            self.stack.trials,
            self.pretrained,
            fit=self.number,
            dropout=dropout,
            learns_missing_values=learns_missing_values,
        )

    def classifier(self, *, dropout: float | None = None, learns_missing_values: bool = False) -> Classifier:
        """h after f."""
        encoder = self.encoder(dropout=dropout, learns_missing_values=learns_missing_values)
        if isinstance(self.settings, FinetuneSettings) and self.settings.freeze == "encoder":
            encoder.freeze()
        keeps_first = isinstance(self.settings, FinetuneSettings) and self.settings.first_layer == "pretrained"
        head = self.stack.networks.head(
            self.stack.trials, self.pretrained if keeps_first else None, fit=self.number, dropout=dropout
        )
        classifier = Classifier(encoder, head)
        give_streams(classifier, self.random(Purpose.DROPOUT))
        return classifier

    def pretext_task(
        self, pretext: Pretext, encoder: Encoder, random: StackedGenerator
    ) -> tuple[nn.Module, PretextTask]:
        """g, and the pretext at work on f and g."""
        head = self.stack.networks.pretrain_head(self.stack.trials, pretext)
        give_streams(head, self.random(Purpose.PRETRAIN_DROPOUT))
        return head, PretextTask(pretext, encoder, head, self.source(encoder), random)

    def source(self, encoder: Encoder) -> CorruptionSource:
        """The training rows, as corruption sees them."""
        stack = self.stack
        rows = TrainingRows(stack.datamodule.table, stack.on_device(stack.data.train), self.roster)
        return CorruptionSource(encoder, rows, self.roster)
