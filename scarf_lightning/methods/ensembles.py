"""Methods that average networks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..options.option import option
from . import Method, MethodResult, SupervisedPhase, bootstrap_samples

if TYPE_CHECKING:
    from ..data.datamodule import Examples
    from ..engine.stack import Stack


@dataclass
class Bagging(Method):
    """The mean prediction of ``members`` networks. Each starts from the same pre-trained f, and learns from as many of
    the labelled rows as there are, drawn with replacement.

    The mean is less sure of a class than a single network that has fitted each label, also wrong ones.
    """

    name: ClassVar[str] = "bagging"
    paper: ClassVar[str] = "Breiman, 1996, DOI 10.1007/BF00058655"
    has_encoder: ClassVar[bool] = False
    typical_fits: ClassVar[int] = 10
    members: int = option(10, "networks whose predictions are averaged", "[1, 10000]")

    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        fits, predictions = [], []
        for member in range(self.members):
            fit, classifier = phase.fit(stack, self.bootstrapped(stack, member), self, number=member)
            fits.append(fit)
            predictions.append(stack.predict(classifier, stack.data.test))
        # A record has one final fit: that of the first member.
        return MethodResult.of_fits(np.mean(predictions, axis=0), fits[0], fits[1:])

    def bootstrapped(self, stack: "Stack", member: int) -> "Examples":
        """The rows that a member learns from, of each trial."""
        data = stack.data
        sample = bootstrap_samples(stack, member, data.labelled.shape[1])
        return stack.examples(
            np.take_along_axis(data.labelled, sample, axis=1), np.take_along_axis(data.labels, sample, axis=1)
        )
