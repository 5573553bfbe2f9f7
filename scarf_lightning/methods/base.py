"""What every method offers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import Examples
from ..engine.encoder import Classifier
from ..engine.finetune import FinetuneModule
from ..engine.fitting import Fit
from ..engine.setup import FitSetup
from ..engine.stack import MakeModule, Stack, plain
from ..limits import Limited
from ..settings import FitSettings


@dataclass(frozen=True)
class SupervisedPhase:
    """What a cell gives its method: how to train, and the weights of a pre-trained f, where there is one."""

    settings: FitSettings
    pretrained: Mapping[str, Tensor] | None = None

    def fit(
        self, stack: Stack, examples: Examples, make: MakeModule = plain, number: int = 0
    ) -> tuple[Fit, Classifier]:
        """One supervised fit, from the pre-trained weights where there are any; ``number`` tells it from others."""
        return stack.finetune(self.settings, examples, self.pretrained, make=make, number=number)

    def of(self, position: int) -> "SupervisedPhase":
        """That of the trial at this position, alone."""
        if self.pretrained is None:
            return self
        return replace(self, pretrained={n: weight[position : position + 1] for n, weight in self.pretrained.items()})


@dataclass(frozen=True)
class MethodResult:
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
    def of_fits(cls, probabilities: NDArray[np.float64], final: Fit, earlier: Sequence[Fit] = ()) -> "MethodResult":
        """An outcome of a final fit and those before it."""
        fits = np.full(len(probabilities), 1 + len(earlier))
        diverged = np.logical_or.reduce([fit.diverged for fit in (final, *earlier)])
        return cls(probabilities, final, fits, final.seconds + sum(fit.seconds for fit in earlier), diverged)

    @classmethod
    def join(cls, outcomes: Sequence["MethodResult"]) -> "MethodResult":
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
class Method(Limited, ABC):
    """A supervised phase. Test rows are predicted and never trained on; their labels are not seen.

    What a method is, it says by class variables, which are read from its source without importing it:

    - ``pretrainable``: whether it may start from a pre-trained f;
    - ``needs_unlabelled_rows``: whether there must be training rows without a label;
    - ``uses``: which of ``network`` and ``finetune`` have a part in it, or which options of theirs;
    - ``trains_each_alone``: whether trials of a stack are fitted one after the other, so that none needs the others;
    - ``has_encoder``: whether one encoder comes of it;
    - ``search_space``: ranges of its options for ``tune``, see `scarf_lightning.config.search_space`;
    - ``typical_fits``: how many supervised fits it makes, about, for estimates of time.

    A field ``corruption`` or ``selection`` is what that axis of the configuration names.
    """

    name: ClassVar[str]
    pretrainable: ClassVar[bool] = True
    needs_unlabelled_rows: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("network", "finetune")
    has_encoder: ClassVar[bool] = True
    typical_fits: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Any]] = {}
    trains_each_alone: ClassVar[bool] = False

    @abstractmethod
    def run(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        """Train each trial of the stack and predict its test rows."""


@dataclass
class SingleFitMethod(Method):
    """A method of one fit on the labelled training rows."""

    def run(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        fit, classifier = phase.fit(stack, self.examples(stack), self.module)
        return MethodResult.of_fits(stack.predict(classifier, stack.data.test), fit)

    def examples(self, stack: Stack) -> Examples:
        """What is trained on."""
        return stack.labelled()

    def module(self, setup: FitSetup) -> FinetuneModule:
        """What is trained."""
        return plain(setup)


@dataclass
class RaggedMethod(Method):
    """A method whose training sets differ in size by trial: each trial is a stack of its own, which changes nothing."""

    trains_each_alone: ClassVar[bool] = True

    def run(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        positions = range(len(stack.data.trials))
        return MethodResult.join([self.run_one(stack.of(p), phase.of(p)) for p in positions])

    @abstractmethod
    def run_one(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        """Train the one trial of the stack and predict its test rows."""
