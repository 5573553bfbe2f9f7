"""The trials of a stack: which labels training sees (paper, section 4), their rows and their preprocessing."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..errors import UsageError, counted
from ..options.option import Options, option
from ..randomness import Purpose, Streams
from .columns import Bools, Ints
from .preprocessing import Preprocessing, Scaling
from .splits import Random, Split, Splitting
from .targets import Labels, Target

if TYPE_CHECKING:
    from .table import Table

Watches = Callable[[int], bool]
"""Whether anything stops or chooses by labels, given the number of labels in all."""


@dataclass(kw_only=True)
class Regime(Options, ABC):
    """A rule that says which labels a cell sees.

    The rule is applied to a pool of labels. With ``validation=outside``, as in the paper, these are the labels of the
    training rows. Those of the validation rows stop or choose, and do not count. With ``validation=inside`` the pool is
    all labels but those of test rows. Some of the labels that the rule shows stop or choose: a share of them if the
    rule hides others, else those of the split's validation rows. Where nothing stops or chooses, all of them train.

    Class variables:

    - ``hides_labels``: whether it leaves rows without a label.
    """

    name: ClassVar[str]
    hides_labels: ClassVar[bool] = False
    validation: Literal["outside", "inside"] = option(
        "outside", "labels that stop or choose: outside those that are counted, as in the paper, or a part of them"
    )

    @abstractmethod
    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        """Positions in the pool that keep a label, and the labels there: both ``(n_labels,)``.

        Raises:
            UsageError: there are fewer labels than the regime shows.
        """

    def validating(self, strata: Ints, is_of_split: Bools, random: np.random.Generator) -> Bools:
        """The labels that validate with ``validation=inside``, if anything stops or chooses.

        Args:
            strata: the classes of the labels, or groups of numbers, ``(n_labels,)``.
            is_of_split: whether a label is one of the split's validation rows, ``(n_labels,)``.
        """
        return is_of_split


@dataclass(kw_only=True)
class HidingRegime(Regime, ABC):
    """A rule that hides the labels of some rows, which stay as rows without a label."""

    hides_labels: ClassVar[bool] = True
    validation_share: float = option(
        0.2, "share of the labels that validates with validation=inside, if anything stops or chooses", "(0, 1)"
    )

    def validating(self, strata: Ints, is_of_split: Bools, random: np.random.Generator) -> Bools:
        return validating_share(strata, self.validation_share, random)


@dataclass
class Full(Regime):
    """Every label is seen."""

    name: ClassVar[str] = "full"
    label: ClassVar[str] = "all labels"

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        return np.arange(len(labels)), labels


@dataclass
class Few(HidingRegime):
    """Some random rows keep their label; the others stay as unlabelled rows.

    Of two numbers of labels, the smaller one shows a part of the labels that the larger one shows.
    """

    name: ClassVar[str] = "few"
    labels: float = option(20, "rows that keep their label: a number, or a share below 1", "(0, inf)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels > 1 and self.labels != int(self.labels):
            raise ValueError(f"labels must be a whole number of rows, or a share between 0 and 1, not {self.labels}")

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        if self.labels > len(labels):
            raise UsageError(
                f"regime.labels={self.labels:g} is more than the {len(labels)} training rows with a label."
            )
        n_kept = int(self.labels)
        # A share is rounded to the nearest number of rows.
        if self.labels < 1:
            n_kept = round(self.labels * len(labels))
        return _kept(labels, n_kept, streams, trial)


@dataclass
class Semi25(HidingRegime):
    """A random share of the rows keeps its label (section 4.4), as in ``few`` with a share."""

    name: ClassVar[str] = "semi25"
    label: ClassVar[str] = "25 % labelled"
    labelled: float = option(0.25, "share of the labels that are kept", "(0, 1]")

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        return _kept(labels, round(self.labelled * len(labels)), streams, trial)


def _kept(labels: Labels, n: int, streams: Streams, trial: int) -> tuple[Ints, Labels]:
    """Random rows, at least one, in their order, and their labels."""
    kept = _subset(len(labels), max(1, n), streams, trial, Purpose.LABELLED_SUBSET)
    return kept, labels[kept]


def _subset(size: int, n: int, streams: Streams, trial: int, purpose: Purpose) -> Ints:
    """Positions of n random ones of so many rows, in their order. Of two numbers n, the smaller one takes a part."""
    # The beginning of one order, whatever n.
    permutation = streams.numpy(trial, purpose).permutation(size)
    return np.sort(permutation[:n])


@dataclass
class Noise30(Regime):
    """Exactly round(noise * n) labels are drawn at random: of classes uniformly over all, the true one
    included; of numbers each is that of another row."""

    name: ClassVar[str] = "noise30"
    label: ClassVar[str] = "30 % of labels redrawn"
    noise: float = option(0.3, "share of the labels that are drawn at random", "[0, 1]")

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        random = streams.numpy(trial, Purpose.LABEL_NOISE)
        redrawn = random.permutation(len(labels))[: round(self.noise * len(labels))]
        return np.arange(len(labels)), target.redrawn(labels, redrawn, random)


@dataclass(frozen=True)
class Assigned:
    """The rows of one trial.

    Attributes:
        split: train, validation and test rows.
        pretrain: training rows that pre-training learns from.
        labelled, labels: rows that the supervised phase trains on and their labels, both ``(n_labelled,)``.
        validation, validation_labels: rows that stop or choose and their labels, both ``(n_validation,)``.
        usable: rows that may train, with a label or without, ``(n,)``.
    """

    split: Split
    pretrain: Ints
    labelled: Ints
    labels: Labels
    validation: Ints
    validation_labels: Labels
    usable: Ints

    @classmethod
    def of(
        cls,
        table: "Table",
        split: Split,
        regime: Regime,
        streams: Streams,
        trial: int,
        watches: Watches,
        pretrain_rows: int | None = None,
    ) -> "Assigned":
        """Apply the regime to a split; other arguments are as of `prepare_trials`.

        Raises:
            UsageError: see `prepare_trials`.
        """
        pretrain = _pretraining_rows(split.train, pretrain_rows, streams, trial)
        known = split.train[table.is_labelled[split.train]]
        is_inside = regime.validation == "inside"
        # An estimator scores its networks on the validation rows, which are its test rows: none trains on these.
        spare = split.validation[~np.isin(split.validation, split.test)]
        pool = known
        if is_inside:
            pool = np.concatenate([known, spare if regime.hides_labels else split.validation])
        positions, seen = regime.apply(table.labels[pool], table.target, streams, trial)
        rows = pool[positions]
        if not is_inside:
            validation_labels = table.labels[split.validation]
            assigned = cls(split, pretrain, rows, seen, split.validation, validation_labels, split.train)
        else:
            is_watched = watches(len(rows))
            validates = np.zeros(len(rows), dtype=bool)
            if is_watched:
                random = streams.numpy(trial, Purpose.VALIDATING)
                is_of_split = np.isin(rows, split.validation)
                validates = regime.validating(table.target.strata(seen), is_of_split, random)
            # Only for an estimator are rows of the pool test rows, see above.
            trains = ~validates & ~np.isin(rows, split.test)
            if not trains.any() or validates.any() != is_watched:
                raise UsageError(
                    f"{counted(len(rows), 'label')} cannot both train and validate; show more labels, or set "
                    "finetune.monitor=none, with which nothing validates."
                )
            usable = np.concatenate([split.train, spare])
            usable = usable[~np.isin(usable, rows[validates])]
            assigned = cls(split, pretrain, rows[trains], seen[trains], rows[validates], seen[validates], usable)
        # Rows that all weigh nothing have no loss, so nothing would be learnt.
        if table.weights is not None and not table.weights[assigned.labelled].any():
            raise UsageError(
                f"the {len(assigned.labelled)} labelled training rows of trial {trial} all have the weight 0; give "
                "more rows a weight above 0, or leave those without one out of the table."
            )
        return assigned


def validating_share(strata: Ints, share: float, random: np.random.Generator) -> Bools:
    """The rows that validate: a random share of each stratum ``(n,)``, at least one row in all and at most all but one.

    The last row of a stratum validates only if there is no other, so that each class keeps a label to train with.

    >>> validating_share(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, np.random.default_rng(0)).reshape(2, 4).sum(axis=1)
    array([1, 1])
    """
    n = len(strata)
    order = random.permutation(n)
    priority = np.empty(n)
    for stratum in np.unique(strata):
        own = order[strata[order] == stratum]
        # Row k of n has the place (k + 1/2) / n, so that every stratum gives its share of the rows that come first.
        priority[own] = (np.arange(len(own)) + 0.5) / len(own)
        # The one that is left to train.
        priority[own[-1]] = np.inf
    n_validating = min(max(1, round(share * n)), n - 1)
    # Of equal priority are rows of several strata; their random order decides.
    ranked_rows = order[np.argsort(priority[order], kind="stable")]
    validates = np.zeros(n, dtype=bool)
    validates[ranked_rows[:n_validating]] = True
    return validates


@dataclass(frozen=True)
class TrialData:
    """The data of ``T`` trials on one table, with equally many rows of each kind.

    Attributes:
        trials: their numbers.
        train: training rows of the split, int64 ``(T, n)``; some may have no label.
        pretrain: those of them that pre-training learns from.
        watched: validation rows of the split, by which pre-training stops.
        usable: rows that the supervised phase may train on, with a label or without.
        labelled, labels: those whose label the supervised phase trains on, and these labels, ``(T, n_labelled)``.
        validation, validation_labels: rows by which the supervised phase stops or chooses, and their labels.
        test: test rows.
        predicted: the rows that the method predicts: further rows if there are any, then the test rows.
        n_labels_inside: validation labels that count as labels of the regime.
    """

    trials: tuple[int, ...]
    train: Ints
    pretrain: Ints
    watched: Ints
    usable: Ints
    labelled: Ints
    labels: Labels
    validation: Ints
    validation_labels: Labels
    test: Ints
    predicted: Ints
    preprocessing: Preprocessing
    n_labels_inside: int

    def of(self, positions: Sequence[int]) -> "TrialData":
        """The data of the trials at these positions; one may be there several times."""
        chosen = np.array(positions)
        parts: dict[str, Any] = {"preprocessing": self.preprocessing.take(chosen)}
        for field in fields(self):
            if field.name not in ("preprocessing", "n_labels_inside"):
                parts[field.name] = np.array(getattr(self, field.name))[chosen]
        return replace(self, **parts | {"trials": tuple(parts["trials"].tolist())})


def prepare_trials(
    table: "Table",
    trials: Sequence[int],
    streams: Streams,
    *,
    regime: Regime,
    scaling: Scaling,
    fit_on: str,
    splitting: Splitting | None = None,
    watches: Watches = lambda n_labels: True,
    pretrain_rows: int | None = None,
) -> TrialData:
    """Split, label and preprocess the table for each trial.

    Args:
        trials: numbers of trials; only one if the split's sizes differ between trials.
        streams: random streams of the data.
        fit_on: ``all`` fits imputation and scaling on all rows, ``train`` on the training rows only.
        splitting: None splits as the paper does (section 4).
        watches: whether the supervised phase stops or chooses anything; ``regime.validation=inside`` asks.
        pretrain_rows: training rows that pre-training learns from; None takes all.

    Raises:
        UsageError: the table cannot be split in this way, has fewer labels than the regime shows or fewer training
            rows than pre-training asks for, or these rows all weigh nothing.
    """
    rule = splitting or Random(copies="apart")
    rows = []
    for trial in trials:
        split = rule.of_trial(table, trial, streams.numpy(trial, Purpose.SPLIT))
        rows.append(Assigned.of(table, split, regime, streams, trial, watches, pretrain_rows))
    fitted = Preprocessing.fit(table, [each.split.train if fit_on == "train" else None for each in rows], scaling)
    names = ("pretrain", "labelled", "labels", "validation", "validation_labels", "usable")
    stacked = {name: np.stack([getattr(each, name) for each in rows]) for name in names}
    for name, part in (("train", "train"), ("watched", "validation"), ("test", "test")):
        stacked[name] = np.stack([getattr(each.split, part) for each in rows])
    return TrialData(
        trials=tuple(trials),
        predicted=stacked["test"],
        preprocessing=replace(fitted, target=np.stack([table.target.fit(each.labels) for each in rows])),
        n_labels_inside=stacked["validation"].shape[1] if regime.validation == "inside" else 0,
        **stacked,
    )


def _pretraining_rows(train: Ints, n: int | None, streams: Streams, trial: int) -> Ints:
    """Random ones of the training rows; all of them without a number."""
    if n is None:
        return train
    if n > len(train):
        raise UsageError(
            f"pretrain.rows={n} is more than the {len(train)} training rows; ask for fewer, or leave it out, which "
            "takes all."
        )
    rows: Ints = train[_subset(len(train), n, streams, trial, Purpose.PRETRAIN_ROWS)]
    return rows
