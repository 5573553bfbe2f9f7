"""The columns of a table that models see: all of them, or those that stand out from noise."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..options.option import Options, option
from .columns import Bools, Floats
from .targets import Labels, Target

MARGIN = 2
"""Standard errors by which a forest must be better on the chosen columns."""
LARGEST = float(np.finfo(np.float32).max)


@dataclass
class Features(Options, ABC):
    """A rule that says which columns the models of a trial see. A column that is left out is constant for all of them,
    in pre-training too.

    Class variables:

    - ``uses_labels``: whether it looks at the labels that train;
    - ``keeps_all``: whether every column stays, so that `choose` need not be asked;
    - ``typical_seconds``: the processor seconds of a choice, and of each 1,000 labelled rows of 30 columns.
    """

    name: ClassVar[str]
    uses_labels: ClassVar[bool] = True
    keeps_all: ClassVar[bool] = False
    typical_seconds: ClassVar[tuple[float, float]] = (0.0, 0.0)

    @abstractmethod
    def choose(
        self, values: Floats, labels: Labels, target: Target, weights: Floats | None, random: np.random.Generator
    ) -> Bools | None:
        """The columns that models see, ``(M,)``; None for all.

        Args:
            values: the labelled training rows, imputed and scaled; codes in categorical columns, ``(n, M)``.
            labels: of these rows, ``(n,)``.
            weights: of these rows, ``(n,)``; None if all weigh the same.
            random: the trial's own stream.
        """


@dataclass
class AllFeatures(Features):
    """Every column."""

    name: ClassVar[str] = "all"
    label: ClassVar[str] = "all columns"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    uses_labels: ClassVar[bool] = False
    keeps_all: ClassVar[bool] = True

    def choose(
        self, values: Floats, labels: Labels, target: Target, weights: Floats | None, random: np.random.Generator
    ) -> None:
        return None


@dataclass
class ForestFeatures(Features):
    """The columns that a random forest on the labelled training rows finds more important than shadows, which are the
    same columns in an order of rows of their own (Kursa and Rudnicki 2010), if the forest is better on them alone.

    The threshold is the smallest with (1 + shadows above it) / (columns above it) <= ``noise_share``, the estimate of
    Barber and Candès (2015, DOI 10.1214/15-AOS1337) with shadows in place of knockoffs. All columns stay unless the
    out-of-bag error of the forest falls by more than `MARGIN` standard errors without the others: a column may say
    little by itself and be missed. So they do where no column stands out, and in a table of fewer than
    1 / ``noise_share`` columns.
    """

    name: ClassVar[str] = "forest"
    label: ClassVar[str] = "columns of a forest"
    paper: ClassVar[str] = "Kursa and Rudnicki, 2010, DOI 10.18637/jss.v036.i11"
    typical_seconds: ClassVar[tuple[float, float]] = (0.3, 1.2)
    trees: int = option(200, "trees of a forest", "[1, 100000]")
    noise_share: float = option(0.1, "estimated share of noise among the columns that are kept", "(0, 1)")

    def choose(
        self, values: Floats, labels: Labels, target: Target, weights: Floats | None, random: np.random.Generator
    ) -> Bools | None:
        # One row is in the sample of every tree, so none can judge it.
        if len(labels) == 1:
            return None
        # A number whose gap networks see is missing here, and trees compute with 32 bits.
        known = np.nan_to_num(values).clip(-LARGEST, LARGEST)
        shadows = random.permuted(known, axis=0)
        seed = int(random.integers(2**31))

        def fitted(rows: Floats, *, oob_score: bool) -> Any:
            forest = self._forest(target, seed, oob_score=oob_score)
            with warnings.catch_warnings():
                # A row that every tree has seen has no such error: it is 0 in both forests, which draw alike.
                warnings.filterwarnings("ignore", message="Some inputs do not have OOB")
                return forest.fit(rows, labels, sample_weight=weights)

        both = np.hstack([known, shadows])
        importances = fitted(both, oob_score=False).feature_importances_
        of_columns, of_shadows = np.split(importances, 2)
        threshold = noise_threshold(of_columns, of_shadows, self.noise_share)
        if threshold is None:
            return None
        is_chosen: Bools = of_columns >= threshold
        # Two equal forests would have equal errors.
        if is_chosen.all():
            return None
        on_all = fitted(known, oob_score=True)
        on_chosen = fitted(known[:, is_chosen], oob_score=True)
        errors = out_of_bag_errors(on_all, labels)
        errors_of_chosen = out_of_bag_errors(on_chosen, labels)
        if not is_smaller(errors_of_chosen, errors, weights):
            return None
        return is_chosen

    def _forest(self, target: Target, seed: int, *, oob_score: bool) -> Any:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = target.choose(classifier=RandomForestClassifier, regressor=RandomForestRegressor)
        # One thread: cells are trained side by side, a core each.
        return kind(self.trees, max_features="sqrt", oob_score=oob_score, n_jobs=1, random_state=seed)


def out_of_bag_errors(forest: Any, labels: Labels) -> Floats:
    """The squared error of each row ``(n,)`` by the trees that have not seen it: of numbers, or of the probabilities of
    classes, summed over classes."""
    if not hasattr(forest, "classes_"):
        return np.asarray((forest.oob_prediction_ - labels) ** 2)
    truth = labels[:, None] == forest.classes_
    return np.asarray(((forest.oob_decision_function_ - truth) ** 2).sum(axis=1))


def is_smaller(errors: Floats, others: Floats, weights: Floats | None) -> bool:
    """True if errors are smaller in the mean than ``others`` of the same rows, all ``(n,)``, by more than `MARGIN`
    standard errors of the difference.

    >>> is_smaller(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.5]), weights=None)
    True
    """
    gains = others - errors
    shares = np.full(len(gains), 1 / len(gains))
    if weights is not None:
        shares = weights / weights.sum()
    mean = shares @ gains
    error = np.sqrt(shares**2 @ (gains - mean) ** 2)
    return bool(mean > MARGIN * error)


def noise_threshold(of_columns: Floats, of_shadows: Floats, noise_share: float) -> float | None:
    """The smallest importance of a column, ``(M,)``, above which (1 + shadows) / columns is at most ``noise_share``.
    None if there is none.

    >>> noise_threshold(np.array([5.0, 4.0, 3.0, 0.5]), np.array([0.1, 0.6, 0.2, 0.1]), noise_share=0.4)
    3.0
    """
    threshold = None
    for importance in np.sort(of_columns)[::-1]:
        n_columns = np.count_nonzero(of_columns >= importance)
        n_shadows = np.count_nonzero(of_shadows >= importance)
        if (1 + n_shadows) / n_columns <= noise_share:
            threshold = float(importance)
    return threshold
