"""The supervised phase: what a method changes of a fit, and how it combines fits. No method imports Lightning."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..engine.supervision import Supervision
from ..options.option import Options
from ..options.settings import FinetuneSettings
from ..randomness import Purpose

if TYPE_CHECKING:
    # These modules import Lightning.
    from ..data.datamodule import Examples
    from ..engine.encoder import Classifier
    from ..engine.fit import Fit
    from ..engine.stack import Stack


@dataclass(frozen=True)
class SupervisedPhase:
    """Supervised phase of a cell, as its method gets it: settings, and the weights of a pre-trained f, if any."""

    settings: FinetuneSettings
    pretrained: Mapping[str, Tensor] | None = None

    def fit(
        self, stack: "Stack", examples: "Examples", supervision: Supervision, number: int = 0
    ) -> "tuple[Fit, Classifier]":
        """One supervised fit, from the pre-trained weights if any; ``number`` distinguishes it from other fits."""
        return stack.finetune(self.settings, examples, self.pretrained, supervision=supervision, number=number)

    def of(self, positions: Sequence[int]) -> "SupervisedPhase":
        """The phase of the trials at these positions; one may be there several times."""
        if self.pretrained is None:
            return self
        return replace(self, pretrained={name: weight[list(positions)] for name, weight in self.pretrained.items()})


@dataclass(frozen=True)
class MethodResult:
    """The predictions of a method and what they cost.

    **Shape.** ``predictions`` of the rows ``stack.data.test``: float64 probabilities of classes ``(T, n, C)`` or
    numbers ``(T, n)``; ``fit`` is the final one, or None if no network is trained; ``fits`` and ``seconds`` of all
    fits, ``(T,)``; ``diverged``, whether one of them did, ``(T,)``.
    """

    predictions: NDArray[np.float64]
    fit: "Fit | None"
    fits: NDArray[np.int64]
    seconds: NDArray[np.float64]
    diverged: NDArray[np.bool_]

    @classmethod
    def of_fits(cls, predictions: NDArray[np.float64], final: "Fit", earlier: "Sequence[Fit]" = ()) -> "MethodResult":
        """The result of a final fit and those before it."""
        # A trial in which any of its fits diverged counts as diverged.
        diverged = np.logical_or.reduce([fit.diverged for fit in (final, *earlier)])
        seconds = final.seconds + sum(fit.seconds for fit in earlier)
        return cls(predictions, final, np.full(len(predictions), 1 + len(earlier)), seconds, diverged)

    @classmethod
    def join(cls, results: Sequence["MethodResult"]) -> "MethodResult":
        """The results of several stacks as one."""
        # Of one method either all results have a fit, or none.
        final = [result.fit for result in results if result.fit is not None]
        return cls(
            np.concatenate([result.predictions for result in results]),
            final[0].join(final) if final else None,
            np.concatenate([result.fits for result in results]),
            np.concatenate([result.seconds for result in results]),
            np.concatenate([result.diverged for result in results]),
        )


@dataclass
class Method(Options, Supervision, ABC):
    """A supervised phase. It predicts the rows ``stack.data.test`` and never trains on them.

    `run` makes the fits, and the hooks of `Supervision` change the training steps of each.

    Class variables:

    - ``pretrainable``: whether it may start from a pre-trained f;
    - ``needs_unlabelled_rows``: whether there must be training rows without a label;
    - ``uses``: the settings that it uses: ``network``, ``finetune``, or single options of these;
    - ``has_encoder``: whether it ends with one encoder;
    - ``is_folded``: whether ``finetune.folds`` may choose its steps: one fit of one loss, which mixes no two rows;
    - ``embeds``: whether another model learns from the embeddings of all rows;
    - ``targets``: the kinds of target that it serves, all of them if none is named, and ``why_not``: why no others;
    - ``typical_fits``: its usual number of supervised fits, for estimates of time;
    - ``typical_seconds``: of a method without a supervised phase of ours, the processor seconds of its fit, and of each
      1,000 labelled rows of 30 columns.

    A field ``corruption`` or ``selection`` holds the choice of that axis of the configuration.
    """

    name: ClassVar[str]
    pretrainable: ClassVar[bool] = True
    needs_unlabelled_rows: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("network", "finetune")
    has_encoder: ClassVar[bool] = True
    is_folded: ClassVar[bool] = False
    embeds: ClassVar[bool] = False
    targets: ClassVar[tuple[str, ...]] = ()
    why_not: ClassVar[str] = ""
    typical_fits: ClassVar[int] = 1
    typical_seconds: ClassVar[tuple[float, float]] = (0.1, 0.2)

    @property
    def libraries(self) -> tuple[str, ...]:
        """Other libraries, by their modules, whose versions decide its numbers."""
        return ()

    @abstractmethod
    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        """Train each trial of the stack and predict the rows ``stack.data.test``."""


@dataclass
class SingleFitMethod(Method):
    """A method of one fit on the labelled training rows."""

    is_folded: ClassVar[bool] = True

    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        fit, classifier = phase.fit(stack, self.examples(stack), self)
        return MethodResult.of_fits(stack.predict(classifier, stack.data.test), fit)

    def examples(self, stack: "Stack") -> "Examples":
        """The rows to train on, with their targets."""
        return stack.labelled()


@dataclass
class RaggedMethod(Method):
    """A method whose training sets differ in size by trial, so that each trial is a stack of its own."""

    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        singles = [[position] for position in range(len(stack.data.trials))]
        return MethodResult.join([self.run_one(stack.of(positions), phase.of(positions)) for positions in singles])

    @abstractmethod
    def run_one(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        """Train the one trial of the stack and predict the rows ``stack.data.test``."""


def bootstrap_samples(stack: "Stack", model: int, n: int) -> NDArray[np.int64]:
    """Positions ``(T, n)`` of as many rows as there are, drawn with replacement from each trial's stream."""
    trials, streams = stack.data.trials, stack.streams
    return np.stack([streams.numpy(trial, Purpose.BOOTSTRAP, model).integers(n, size=n) for trial in trials])
