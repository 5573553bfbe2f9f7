"""Methods whose training set is chosen by models: pseudo-labels for unlabelled rows, and a filter of noisy labels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..options.option import option
from . import MethodResult, RaggedMethod, SupervisedPhase, bootstrap_samples

if TYPE_CHECKING:
    from ..data.datamodule import Examples
    from ..engine.stack import Stack

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
MODELS = 3
VOTE_SHARE = 0.8
"""Weight of the votes in the probabilities; the mean prediction has the rest. It is so high that two equal votes always
beat a third."""


@dataclass
class PseudoLabels:
    """The training set of one model of one trial. A label, once given, stays.

    **Shape.** ``rows`` and ``labels`` are ``(n,)`` and grow; ``unlabelled`` ``(m,)`` shrinks.
    """

    rows: Ints
    labels: Ints
    unlabelled: Ints

    @classmethod
    def start(cls, stack: "Stack") -> "PseudoLabels":
        """The labelled training rows of a stack of one."""
        data = stack.data
        labelled = data.labelled[0]
        unlabelled = np.setdiff1d(data.usable[0], labelled)
        return cls(labelled, data.labels[0], unlabelled)

    def add(self, mask: Bools, labels: Ints) -> None:
        """Label the unlabelled rows in the ``mask``, both ``(m,)``."""
        self.rows = np.concatenate([self.rows, self.unlabelled[mask]])
        self.labels = np.concatenate([self.labels, labels[mask]])
        self.unlabelled = self.unlabelled[~mask]

    def examples(self, stack: "Stack") -> "Examples":
        """The rows to train on, as a stack of one takes them."""
        return stack.examples(self.rows[None], self.labels[None])


@dataclass
class PseudoLabelling(RaggedMethod):
    """A method that gives labels to the unlabelled training rows."""

    targets: ClassVar[tuple[str, ...]] = ("classes",)
    needs_unlabelled_rows: ClassVar[bool] = True
    threshold: float = option(0.75, "probability above which a prediction becomes a label", "(0, 1)")
    iterations: int = option(10, "rounds of labelling and training", "[1, 10000]")


@dataclass
class SelfTrain(PseudoLabelling):
    """Self-training (paper, section 4). Each iteration trains a model from the same pre-trained f and
    labels the rows that it predicts with a probability above ``threshold``. A final model is trained on the final set.
    Iterations end early when all rows have a label."""

    name: ClassVar[str] = "self_train"
    label: ClassVar[str] = "self-training"
    paper: ClassVar[str] = "Yarowsky, 1995 (ACL)"
    why_not: ClassVar[str] = "it trusts the probability of a class"
    typical_fits: ClassVar[int] = 8

    def run_one(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        training = PseudoLabels.start(stack)
        earlier = []
        for iteration in range(1, self.iterations + 1):
            # Another model would learn from the same rows again.
            if len(training.unlabelled) == 0:
                break
            fit, classifier = phase.fit(stack, training.examples(stack), self, number=iteration)
            earlier.append(fit)
            probabilities = stack.predict(classifier, training.unlabelled[None])[0]
            # A round in which nothing is sure still trains another model: its batches are others.
            is_sure = probabilities.max(axis=1) > self.threshold
            training.add(is_sure, probabilities.argmax(axis=1))
        final, classifier = phase.fit(stack, training.examples(stack), self)
        return MethodResult.of_fits(stack.predict(classifier, stack.data.test), final, earlier)


@dataclass
class TriTrain(PseudoLabelling):
    """Tri-training (paper, section 4). Three models start on bootstrap samples of the labelled rows.
    Each iteration trains all three from the same pre-trained f, and gives each the rows that the other two label alike,
    both above ``threshold``. Three final models vote. Iterations end early when no model lacks a label."""

    name: ClassVar[str] = "tri_train"
    label: ClassVar[str] = "tri-training"
    paper: ClassVar[str] = "Zhou and Li, 2005 (TKDE)"
    why_not: ClassVar[str] = "its models vote for a class"
    has_encoder: ClassVar[bool] = False
    typical_fits: ClassVar[int] = 30

    def run_one(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        start = PseudoLabels.start(stack)
        sets = [self._bootstrap(stack, start, model) for model in range(MODELS)]
        unlabelled = start.unlabelled
        earlier = []
        for iteration in range(1, self.iterations + 1):
            if not any(len(training.unlabelled) for training in sets):
                break
            predictions = []
            for model, training in enumerate(sets):
                fit, classifier = phase.fit(stack, training.examples(stack), self, number=MODELS * iteration + model)
                earlier.append(fit)
                predictions.append(stack.predict(classifier, unlabelled[None])[0])
            # All three predict before any gets new labels, so their order does not matter.
            for model, training in enumerate(sets):
                # The other two models label the rows of this one.
                one, other = (predictions[m] for m in range(MODELS) if m != model)
                is_left = np.isin(unlabelled, training.unlabelled)
                is_agreed = agreed_labels(one[is_left], other[is_left], self.threshold)
                training.add(is_agreed, one[is_left].argmax(axis=1))

        finals, votes = [], []
        for model, training in enumerate(sets):
            fit, classifier = phase.fit(stack, training.examples(stack), self, number=model)
            finals.append(fit)
            votes.append(stack.predict(classifier, stack.data.test)[0])
        # A record has one final fit: that of the first model.
        first, *others = finals
        return MethodResult.of_fits(majority_vote(np.stack(votes))[None], first, [*earlier, *others])

    def _bootstrap(self, stack: "Stack", start: PseudoLabels, model: int) -> PseudoLabels:
        """The first training set of a model: as many of the labelled rows as there are, drawn with replacement."""
        (sample,) = bootstrap_samples(stack, model, len(start.rows))
        return PseudoLabels(start.rows[sample], start.labels[sample], start.unlabelled)


def agreed_labels(one: Floats, other: Floats, threshold: float) -> Bools:
    """Where two models predict the same class and both exceed the threshold: ``(m, C)`` twice gives ``(m,)``.

    >>> one, other = np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([[0.8, 0.2], [0.6, 0.4]])
    >>> agreed_labels(one, other, threshold=0.75)
    array([ True, False])
    """
    is_same = one.argmax(axis=1) == other.argmax(axis=1)
    are_sure = (one.max(axis=1) > threshold) & (other.max(axis=1) > threshold)
    return np.asarray(is_same & are_sure)


def majority_vote(probabilities: Floats) -> Floats:
    """Probabilities whose largest is the majority's class: three models' ``(3, n, C)`` to ``(n, C)``.

    If all three differ, their mean decides.

    Two models that are less sure than the third one win:

    >>> majority_vote(np.array([[[0.4, 0.6]], [[0.4, 0.6]], [[1.0, 0.0]]])).round(2)
    array([[0.39, 0.61]])
    """
    votes = np.eye(probabilities.shape[2])[probabilities.argmax(axis=2)].mean(axis=0)
    # Votes alone would give most classes the probability 0, whose log loss is infinite.
    mean = probabilities.mean(axis=0)
    return np.asarray(VOTE_SHARE * votes + (1 - VOTE_SHARE) * mean)


@dataclass
class DeepKNN(RaggedMethod):
    """Deep k-NN for noisy labels (paper, section 4). A first fit uses the given labels. A second one
    uses the rows whose label is that of the majority of their ``k`` nearest neighbours among the first model's logits,
    or all rows if fewer than two remain."""

    name: ClassVar[str] = "deep_knn"
    label: ClassVar[str] = "deep k-NN"
    paper: ClassVar[str] = "Bahri et al., 2020, arXiv:2004.12289"
    targets: ClassVar[tuple[str, ...]] = ("classes",)
    why_not: ClassVar[str] = "neighbours agree on a class, and hardly ever on a number"
    typical_fits: ClassVar[int] = 2
    k: int = option(50, "number of neighbours", "[1, inf)")

    def run_one(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        rows, labels = stack.data.labelled, stack.data.labels
        first, classifier = phase.fit(stack, stack.labelled(), self, number=1)
        # Logits that are not finite have no neighbours.
        if first.diverged.all():
            return MethodResult.of_fits(stack.predict(classifier, stack.data.test), first)
        logits = stack.outputs(classifier, rows)[0].cpu().numpy()
        is_kept = agrees_with_neighbours(logits, labels[0], self.k, stack.table.target.n_outputs)
        if is_kept.sum() < 2:
            is_kept[:] = True
        examples = stack.examples(rows[:, is_kept], labels[:, is_kept])
        fit, classifier = phase.fit(stack, examples, self)
        return MethodResult.of_fits(stack.predict(classifier, stack.data.test), fit, [first])


def agrees_with_neighbours(features: Floats, labels: Ints, k: int, n_classes: int) -> Bools:
    """True for points whose own label is at least as frequent as any class among the k nearest other points.

    **Shape.** ``features`` ``(n, E)`` and ``labels`` ``(n,)`` give ``(n,)``; k is cut to n - 1.
    """
    from sklearn.neighbors import NearestNeighbors

    k = min(k, len(labels) - 1)
    if k < 1:
        return np.ones(len(labels), dtype=bool)
    # Without new points to look up, a point is no neighbour of itself.
    search = NearestNeighbors(n_neighbors=k).fit(features)
    neighbours = search.kneighbors(return_distance=False)
    votes = np.stack([np.bincount(labels[nearest], minlength=n_classes) for nearest in neighbours])
    # A tie keeps the row: only a clear majority against its label takes it away.
    return np.asarray(votes[np.arange(len(labels)), labels] == votes.max(axis=1))
