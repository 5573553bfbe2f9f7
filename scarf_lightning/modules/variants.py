"""Variants of the supervised fit: what is put in place of plain cross-entropy on the rows as they are."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from ..data.device_table import TrainingRows
from ..losses.bitempered import bitempered
from ..nn import Encoder, Head
from ..randomness import Purpose, StackedGenerator
from .augment import AugmentModule
from .cotrain import CotrainModule
from .dropout import DropoutModule
from .finetune import FinetuneModule
from .mixup import MixupModule
from .pretext import Pretext
from .views import Augmentation, PretextTask, ViewMaker


@dataclass(frozen=True)
class Ingredients:
    """What a variant makes its module of: f and h of the stack, Adam's options, and where the rest comes from."""

    encoder: Encoder
    head: Head
    adam: dict[str, Any]
    random: Callable[[Purpose], StackedGenerator]
    training_rows: Callable[[], TrainingRows]
    pretrain_head: Callable[[PretextTask], nn.Module]


@dataclass(frozen=True)
class Variant(ABC):
    """A supervised fit."""

    @property
    def learns_missing_values(self) -> bool:
        """Whether f needs a learnable value for each encoded column."""
        return False

    @abstractmethod
    def module(self, ingredients: Ingredients) -> FinetuneModule:
        """The module that trains it."""


@dataclass(frozen=True)
class Plain(Variant):
    """Cross-entropy on the rows."""

    def module(self, ingredients: Ingredients) -> FinetuneModule:
        return FinetuneModule(ingredients.encoder, ingredients.head, **ingredients.adam)


@dataclass(frozen=True)
class Augmented(Variant):
    """Cross-entropy on corrupted views of the rows."""

    augmentation: Augmentation

    @property
    def learns_missing_values(self) -> bool:
        return self.augmentation.corruption.learns_missing_values

    def module(self, ingredients: Ingredients) -> FinetuneModule:
        encoder = ingredients.encoder
        view_maker = ViewMaker(self.augmentation, encoder, ingredients.training_rows())
        random = ingredients.random(Purpose.FINETUNE_CORRUPTION)
        return AugmentModule(encoder, ingredients.head, view_maker, random, **ingredients.adam)


@dataclass(frozen=True)
class Cotrained(Variant):
    """Cross-entropy, and a pretext loss with a weight."""

    task: PretextTask
    weight: float

    @property
    def learns_missing_values(self) -> bool:
        return self.task.augmentation.corruption.learns_missing_values

    def module(self, ingredients: Ingredients) -> FinetuneModule:
        encoder, pretrain_head = ingredients.encoder, ingredients.pretrain_head(self.task)
        view_maker = ViewMaker(self.task.augmentation, encoder, ingredients.training_rows())
        random = ingredients.random(Purpose.FINETUNE_CORRUPTION)
        pretext = Pretext(self.task, encoder, pretrain_head, view_maker, random)
        return CotrainModule(encoder, ingredients.head, pretrain_head, pretext, weight=self.weight, **ingredients.adam)


@dataclass(frozen=True)
class WithDropout(Variant):
    """Cross-entropy with units of f and h left out at this rate."""

    rate: float

    def module(self, ingredients: Ingredients) -> FinetuneModule:
        random = ingredients.random(Purpose.DROPOUT)
        return DropoutModule(ingredients.encoder, ingredients.head, random, rate=self.rate, **ingredients.adam)


@dataclass(frozen=True)
class Mixed(Variant):
    """Cross-entropy on mixtures of two rows and of their labels."""

    alpha: float

    def module(self, ingredients: Ingredients) -> FinetuneModule:
        random = ingredients.random(Purpose.MIXUP)
        return MixupModule(ingredients.encoder, ingredients.head, random, alpha=self.alpha, **ingredients.adam)


@dataclass(frozen=True)
class Tempered(Variant):
    """The bi-tempered logistic loss in place of cross-entropy."""

    t1: float
    t2: float
    iterations: int

    def module(self, ingredients: Ingredients) -> FinetuneModule:
        module = FinetuneModule(ingredients.encoder, ingredients.head, **ingredients.adam)
        module.criterion = lambda *given: bitempered(*given, t1=self.t1, t2=self.t2, iterations=self.iterations)
        return module
