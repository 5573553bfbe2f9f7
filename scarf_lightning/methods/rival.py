"""What the classifiers that train no network of ours share."""

import importlib
import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..engine.stack import Stack
from ..errors import UsageError
from .base import Method, MethodResult, SupervisedPhase

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lesson:
    """What a classifier learns from in one trial.

    Attributes:
        stack: of the trial alone.
        labels: of its labelled training rows, numbered from 0 among the classes that they show, ``(n_labelled,)``.
        classes: those classes, ``(n_present,)``.
        weights: of these rows, ``(n_labelled,)``; None where all weigh alike.
        seed: of whatever is random in it, below 2^31.
    """

    stack: Stack
    labels: NDArray[np.int64]
    classes: NDArray[np.int64]
    weights: Floats | None
    seed: int


@dataclass
class Rival(Method):
    """A classifier on the labelled training rows, of the same splits, regimes and preprocessing as the networks.

    A class that no label shows gets no probability; where there is one class only, it gets all.
    """

    pretrainable: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("finetune.class_weight", "finetune.metric")
    has_encoder: ClassVar[bool] = False
    trains_each_alone: ClassVar[bool] = True
    stream: ClassVar[str] = "another library's classifier"
    """Its seed is of this one."""

    def run(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        n_trials = len(stack.trials)
        weights = stack.row_weights(phase.settings)
        started = [time.perf_counter()]
        probabilities = np.zeros((*stack.data.test.shape, stack.table.n_classes))
        for position, trial in enumerate(stack.trials):
            classes, labels = np.unique(stack.data.labels[position], return_inverse=True)
            of_rows = None if weights is None else weights[position]
            seed = stack.streams.seed_of(trial, self.stream) % 2**31
            lesson = Lesson(stack.of(position), labels, classes, of_rows, seed)
            probabilities[position][:, classes] = self.predict(lesson) if len(classes) > 1 else 1
            started.append(time.perf_counter())
        once, never = np.ones(n_trials, dtype=np.int64), np.zeros(n_trials, dtype=bool)
        return MethodResult(probabilities, None, once, np.diff(started), never)

    @abstractmethod
    def predict(self, lesson: Lesson) -> Floats:
        """Learn, and give the probabilities of the classes on the test rows, ``(n_test, n_present)``."""


def need(package: str, method: str) -> None:
    """Make sure that an optional package is there, of which an extra of the same name brings it.

    Raises:
        UsageError: it is not.
    """
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"method={method} needs the package {package}: install it with `pip install -e .[{package}]`."
        ) from error
