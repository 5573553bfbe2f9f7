"""What every method offers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import Examples
from ..modules.finetune import Classifier
from ..modules.fitting import Fit
from ..modules.stack import Stack
from ..modules.variants import Cotrained, Variant
from ..modules.views import Augmentation
from ..settings import FitSettings


@dataclass(frozen=True)
class Supervision:
    """What a cell gives its method: how to train, the weights of a pre-trained f, and what some methods ask for."""

    settings: FitSettings
    pretrained: Mapping[str, Tensor] | None = None
    augmentation: Augmentation | None = None
    cotraining: Cotrained | None = None

    def fit(
        self, stack: Stack, examples: Examples, variant: Variant | None = None, number: int = 0
    ) -> tuple[Fit, Classifier]:
        """One supervised fit, from the pre-trained weights where there are any; ``number`` tells it from others."""
        return stack.finetune(self.settings, examples, self.pretrained, variant=variant, fit=number)

    def of(self, position: int) -> "Supervision":
        """That of the trial at this position, alone."""
        if self.pretrained is None:
            return self
        return replace(self, pretrained={n: weight[position : position + 1] for n, weight in self.pretrained.items()})


@dataclass(frozen=True)
class Outcome:
    """What came of a method.

    **Shape.** ``probabilities`` of the classes on the test rows, float64 ``(T, n_test, C)``; ``fit`` is the final one,
    or None where no network is trained; ``fits`` and ``seconds`` of all fits, ``(T,)``; ``diverged``, whether one of
    them did, ``(T,)``.
    """

    probabilities: NDArray[np.float64]
    fit: Fit | None
    fits: NDArray[np.int64]
    seconds: NDArray[np.float64]
    diverged: NDArray[np.bool_]

    @classmethod
    def of_fits(cls, probabilities: NDArray[np.float64], final: Fit, earlier: Sequence[Fit] = ()) -> "Outcome":
        """An outcome of a final fit and those before it."""
        fits = np.full(len(probabilities), 1 + len(earlier))
        diverged = np.logical_or.reduce([fit.diverged for fit in (final, *earlier)])
        return cls(probabilities, final, fits, final.seconds + sum(fit.seconds for fit in earlier), diverged)

    @classmethod
    def join(cls, outcomes: Sequence["Outcome"]) -> "Outcome":
        """The outcomes of several stacks as one."""
        final = [outcome.fit for outcome in outcomes if outcome.fit is not None]
        return cls(
            np.concatenate([outcome.probabilities for outcome in outcomes]),
            Fit.join(final) if final else None,
            np.concatenate([outcome.fits for outcome in outcomes]),
            np.concatenate([outcome.seconds for outcome in outcomes]),
            np.concatenate([outcome.diverged for outcome in outcomes]),
        )


@dataclass
class Method(ABC):
    """A supervised phase. Test rows are predicted and never trained on; their labels are not seen."""

    name: ClassVar[str]
    trains_each_alone: ClassVar[bool] = False
    """Whether trials of a stack are fitted one after the other, so that none needs the others."""

    @abstractmethod
    def run(self, stack: Stack, supervision: Supervision) -> Outcome:
        """Train each trial of the stack and predict its test rows."""


@dataclass
class SingleFitMethod(Method):
    """A method of one fit on the labelled training rows."""

    def run(self, stack: Stack, supervision: Supervision) -> Outcome:
        fit, classifier = supervision.fit(stack, self.examples(stack), self.variant(supervision))
        return Outcome.of_fits(stack.predict(classifier, stack.data.test), fit)

    def examples(self, stack: Stack) -> Examples:
        """What is trained on."""
        return stack.labelled()

    def variant(self, supervision: Supervision) -> Variant | None:
        """What is done in place of plain cross-entropy."""
        return None


@dataclass
class RaggedMethod(Method):
    """A method whose training sets differ in size by trial: each trial is a stack of its own, which changes nothing."""

    trains_each_alone: ClassVar[bool] = True

    def run(self, stack: Stack, supervision: Supervision) -> Outcome:
        positions = range(len(stack.data.trials))
        return Outcome.join([self.run_one(stack.of(p), supervision.of(p)) for p in positions])

    @abstractmethod
    def run_one(self, stack: Stack, supervision: Supervision) -> Outcome:
        """Train the one trial of the stack and predict its test rows."""
