"""The trials of a stack: which labels training sees (paper, section 4), their rows and their preprocessing."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ..errors import UsageError, counted
from ..options.building import build
from ..options.combinations import check_labels, check_target
from ..options.option import Options, option
from ..randomness import Purpose, Streams
from .columns import Bools, Ints
from .preprocessing import Preprocessing, Scaling
from .splits import Random, Splitting
from .targets import Labels, Target

if TYPE_CHECKING:
    from ..options import Config
    from .table import Table

EVALUATION_ROWS = 1024
"""Rows a trial in one evaluation batch: they keep a processor busy and need little memory beside the training."""

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

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        """Positions in the pool that keep a label, and the labels there: both ``(n_labels,)``.

        Raises:
            UsageError: there are fewer labels than the regime shows.
        """
        return np.arange(len(labels)), labels


@dataclass(kw_only=True)
class HidingRegime(Regime, ABC):
    """A rule that hides the labels of some rows, which stay as rows without a label."""

    hides_labels: ClassVar[bool] = True
    validation_share: float = option(
        0.2, "share of the labels that validates with validation=inside, if anything stops or chooses", "(0, 1)"
    )

    @abstractmethod
    def n_shown(self, n_labels: int) -> float:
        """The number of labels that it shows of so many."""

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        n_shown = max(1, round(self.n_shown(len(labels))))
        if n_shown > len(labels):
            raise UsageError(f"regime.labels={n_shown} is more than the {len(labels)} training rows with a label.")
        positions = _subset(len(labels), n_shown, streams, trial, Purpose.LABELLED_SUBSET)
        return positions, labels[positions]


@dataclass
class Full(Regime):
    """Every label is seen."""

    name: ClassVar[str] = "full"
    label: ClassVar[str] = "all labels"


@dataclass
class Few(HidingRegime):
    """Some random rows keep their label; the others stay as unlabelled rows.

    Of two numbers of labels, the smaller one shows a part of the labels that the larger one shows.
    """

    name: ClassVar[str] = "few"
    labels: float = option(20, "rows that keep their label: a number, or a share below 1", "(0, inf)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels > 1 and self.labels % 1:
            raise ValueError(f"labels must be a whole number of rows, or a share between 0 and 1, not {self.labels}")

    def n_shown(self, n_labels: int) -> float:
        return self.labels if self.labels >= 1 else self.labels * n_labels


@dataclass
class Semi25(HidingRegime):
    """A random share of the rows keeps its label (section 4.4), as in ``few`` with a share."""

    name: ClassVar[str] = "semi25"
    label: ClassVar[str] = "25 % labelled"
    labelled: float = option(0.25, "share of the labels that are kept", "(0, 1]")

    def n_shown(self, n_labels: int) -> float:
        return self.labelled * n_labels


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
        positions = random.permutation(len(labels))[: round(self.noise * len(labels))]
        return np.arange(len(labels)), target.redrawn(labels, positions, random)


@dataclass(frozen=True)
class TrialRows:
    """The rows of one trial, int64 ``(n,)``; of a stack ``(T, n)``.

    Attributes:
        train: training rows of the split; some may have no label.
        pretrain: those of them that pre-training learns from.
        watched: validation rows of the split, by which pre-training stops.
        usable: rows that the supervised phase may train on, with a label or without.
        labelled, labels: those whose label the supervised phase trains on, and these labels.
        validation, validation_labels: rows by which the supervised phase stops or chooses, and their labels.
        test: test rows.
    """

    train: Ints
    pretrain: Ints
    watched: Ints
    usable: Ints
    labelled: Ints
    labels: Labels
    validation: Ints
    validation_labels: Labels
    test: Ints


@dataclass(frozen=True)
class RowRules:
    """The rules by which a cell deals out the rows of its table.

    Attributes:
        splitting: the paper's by default (section 4).
        watches: whether the supervised phase stops or chooses anything; ``regime.validation=inside`` asks.
        pretrain_rows: training rows that pre-training learns from; None takes all.
    """

    regime: Regime
    splitting: Splitting = field(default_factory=lambda: Random(copies="apart"))
    watches: Watches = lambda n_labels: True
    pretrain_rows: int | None = None

    def rows_of(self, table: "Table", trial: int, streams: Streams) -> TrialRows:
        """The rows of a trial.

        Raises:
            UsageError: the table cannot be split in this way, has fewer labels than the regime shows or fewer training
                rows than ``pretrain.rows``.
        """
        split = self.splitting.split(table, streams.numpy(trial, Purpose.SPLIT))
        pretrain = split.train
        if self.pretrain_rows is not None:
            if self.pretrain_rows > len(pretrain):
                raise UsageError(
                    f"pretrain.rows={self.pretrain_rows} is more than the {len(pretrain)} training rows; ask for "
                    "fewer, or leave it out, which takes all."
                )
            pretrain = pretrain[_subset(len(pretrain), self.pretrain_rows, streams, trial, Purpose.PRETRAIN_ROWS)]
        pool, usable = split.train[table.is_labelled[split.train]], split.train
        validation, validation_labels = split.validation, table.labels[split.validation]
        regime = self.regime
        is_inside = regime.validation == "inside"
        if is_inside:
            # An estimator scores its networks on the validation rows, which are its test rows: none trains on these.
            spare = validation[~np.isin(validation, split.test)]
            usable = np.append(usable, spare)
            pool = np.append(pool, spare if regime.hides_labels else validation)
        positions, labels = regime.apply(table.labels[pool], table.target, streams, trial)
        labelled = pool[positions]
        if is_inside:
            validates = np.zeros(len(labelled), dtype=bool)
            is_watched = self.watches(len(labelled))
            if is_watched and isinstance(regime, HidingRegime):
                random = streams.numpy(trial, Purpose.VALIDATING)
                validates = validating_share(table.target.strata(labels), regime.validation_share, random)
            elif is_watched:
                validates = np.isin(labelled, split.validation)
            # Only for an estimator are rows of the pool test rows, see above.
            trains = ~validates & ~np.isin(labelled, split.test)
            if not trains.any() or validates.any() != is_watched:
                raise UsageError(
                    f"{counted(len(labelled), 'label')} cannot both train and validate; show more labels, or set "
                    "finetune.monitor=none, with which nothing validates."
                )
            validation, validation_labels = labelled[validates], labels[validates]
            usable = usable[~np.isin(usable, validation)]
            labelled, labels = labelled[trains], labels[trains]
        return TrialRows(
            split.train, pretrain, split.validation, usable, labelled, labels, validation, validation_labels, split.test
        )


def validating_share(strata: Ints, share: float, random: np.random.Generator) -> Bools:
    """The rows that validate: a random share of each stratum ``(n,)``, at least one row in all and at most all but one.

    The last row of a stratum validates only if there is no other, so that each class keeps a label to train with.

    >>> validating_share(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, np.random.default_rng(0)).reshape(2, 4).sum(axis=1)
    array([1, 1])
    """
    import pandas as pd

    n = len(strata)
    order = random.permutation(n)
    groups = pd.Series(strata[order]).groupby(strata[order])
    place, size = groups.cumcount(), groups.transform("size")
    # Row k of n has the place (k + 1/2) / n, so that every stratum gives its share of the rows that come first. The
    # last one is left to train.
    priority = np.where(place < size - 1, (place + 0.5) / size, np.inf)
    # Of equal priority are rows of several strata; their random order decides.
    ranked_rows = order[np.argsort(priority, kind="stable")]
    validates = np.zeros(n, dtype=bool)
    validates[ranked_rows[: min(max(1, round(share * n)), n - 1)]] = True
    return validates


@dataclass(frozen=True, kw_only=True)
class TrialData(TrialRows):
    """The data of ``T`` trials on one table, with equally many rows of each kind.

    Attributes:
        trials: their numbers.
        n_labels_inside: validation labels that count as labels of the regime.
    """

    trials: tuple[int, ...]
    preprocessing: Preprocessing
    n_labels_inside: int

    def of(self, positions: Sequence[int]) -> "TrialData":
        """The data of the trials at these positions; one may be there several times."""
        index = np.array(positions)
        rows = {each.name: getattr(self, each.name)[index] for each in fields(TrialRows)}
        trials = tuple(self.trials[position] for position in positions)
        return replace(self, **rows, trials=trials, preprocessing=self.preprocessing.take(index))


def prepare_trials(
    table: "Table", trials: Sequence[int], streams: Streams, rules: RowRules, *, scaling: Scaling, fit_on: str
) -> TrialData:
    """Split, label and preprocess the table for each trial.

    Args:
        trials: numbers of trials; only one if the split's sizes differ between trials.
        streams: random streams of the data.
        fit_on: ``all`` fits imputation and scaling on all rows, ``train`` on the training rows only.

    Raises:
        UsageError: see `RowRules.rows_of`; or a column's numbers are too large.
    """
    rows = [rules.rows_of(table, trial, streams) for trial in trials]
    arrays = {each.name: np.stack([getattr(row, each.name) for row in rows]) for each in fields(TrialRows)}
    preprocessing = Preprocessing.fit(table, [each.train if fit_on == "train" else None for each in rows], scaling)
    return TrialData(
        **arrays,
        trials=tuple(trials),
        preprocessing=replace(preprocessing, target=np.stack([table.target.fit(each.labels) for each in rows])),
        n_labels_inside=arrays["validation"].shape[1] if rules.regime.validation == "inside" else 0,
    )


def check_request(config: "Config", table: "Table") -> None:
    """Check the options of a cell against its table, before anything trains.

    Raises:
        UsageError: the target does not go with the method, the metric or the weights; or the table has too few rows,
            labels, groups, times or parts for the split and for the regime.
    """
    check_labels(config, table.n_unlabelled)
    check_target(config, type(table.target))
    regime, splitting = build("regime", config.regime), build("split", config.split)
    rules = RowRules(regime, splitting, lambda n_labels: n_labels >= config.watched_from, config.pretrain.rows)
    # If parts have the same sizes in every trial, it is enough to check the first one.
    for trial in range(config.trials if splitting.is_ragged(table) else 1):
        rules.rows_of(table, trial, Streams(config.seed, table.n_labelled))
