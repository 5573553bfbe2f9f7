"""Training rows with labels, given or predicted, and the rows that have none yet."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.datamodule import Examples
from ..engine.stack import Stack

Ints = NDArray[np.int64]


@dataclass
class PseudoLabels:
    """The training set of one model of one trial. A label, once given, stays.

    **Shape.** ``rows`` and ``labels`` are ``(n,)`` and grow; ``unlabelled`` ``(m,)`` shrinks.
    """

    rows: Ints
    labels: Ints
    unlabelled: Ints

    @classmethod
    def start(cls, stack: Stack) -> "PseudoLabels":
        """The labelled training rows of a stack of one."""
        train, labelled = stack.data.train[0], stack.data.labelled[0]
        return cls(labelled, stack.data.labels[0], np.setdiff1d(train, labelled))

    def add(self, chosen: NDArray[np.bool_], labels: Ints) -> None:
        """Label the ``chosen`` ones of the unlabelled rows, both ``(m,)``."""
        self.rows = np.concatenate([self.rows, self.unlabelled[chosen]])
        self.labels = np.concatenate([self.labels, labels[chosen]])
        self.unlabelled = self.unlabelled[~chosen]

    def examples(self, stack: Stack) -> Examples:
        return stack.examples(self.rows[None], self.labels[None])
