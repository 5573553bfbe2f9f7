"""Competitors trained on a table as it is, and with columns changed, on the same splits.

Every competitor is a cell: a network with or without pre-training, or a rival. Its trials test the same rows whatever
is done to columns, because splits are those of the whole table.

- `as_they_are` also predicts the test rows with each column permuted: the permuted rows stand behind the table's own,
  so that one training serves all columns, of all trials at once, and of any method.
- `without` leaves columns out of the table.
- `hidden_from_pretraining` makes them missing while pre-training looks. Imputed, they say nothing.
- `spared_by_corruption` puts their values back into the views that a corruption makes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from ..corruption.strategies import Selection, Space
from ..data.splits import Split as RowSplit
from ..data.splits import Splitting
from ..data.table import Table
from ..engine.hardware import Hardware
from ..engine.stack import Stack
from ..errors import UsageError
from ..methods import MethodResult, SupervisedPhase
from ..metrics import Metric
from ..networks import Columns
from ..options import Config
from ..randomness import StackedGenerator
from ..training import CellTraining
from ..verdicts.trials import RowsOfTrial, Split, rows_of_trial
from .permuting import Floats, Integers, permutations, permuted, permuted_rows

MOST_VALUES = 20_000_000
"""Values of permuted rows beside a table: 160 MB. Fewer permutations, then fewer trials at once, keep within it."""

Tested = dict[int, RowsOfTrial]
"""The test rows of each trial, by its number."""


class SplitOf(Splitting):
    """The splits that another table has by a rule. Rows that are equal in it stay together."""

    def __init__(self, rule: Splitting, table: Table) -> None:
        self._rule = rule
        self._table = table

    def split(self, table: Table, random: np.random.Generator) -> RowSplit:
        return self._rule.split(self._table, random)

    def of_trial(self, table: Table, trial: int, random: np.random.Generator) -> RowSplit:
        return self._rule.of_trial(self._table, trial, random)

    def check(self, table: Table, n_trials: int) -> None:
        self._rule.check(self._table, n_trials)

    def is_ragged(self, table: Table) -> bool:
        return self._rule.is_ragged(self._table)

    def on_copies(self, table: Table, random: np.random.Generator) -> None:
        """Nothing: the user was told of copies when the table was read."""


@dataclass
class Spared:
    """A corruption that leaves some columns as they are.

    Attributes:
        inner: the corruption.
        kept: the places of the columns, of raw rows or of encoded ones, as the corruption takes them.
    """

    inner: Any
    kept: list[int]

    @property
    def space(self) -> Space:
        """The columns that the corruption works on, raw or encoded."""
        space: Space = self.inner.space
        return space

    @property
    def learns_missing_values(self) -> bool:
        """True if the corruption has values that are learned."""
        return bool(self.inner.learns_missing_values)

    def __call__(self, x: Tensor, source: Any, random: StackedGenerator, selection: Selection) -> tuple[Tensor, Tensor]:
        view, mask = self.inner(x, source, random, selection)
        # A corruption may return the rows themselves, or one mask for all of them.
        view, mask = view.clone(), mask.expand(view.shape).clone()
        view[..., self.kept] = x[..., self.kept]
        mask[..., self.kept] = False
        return view, mask


@dataclass(frozen=True)
class Competitor:
    """A competitor on a table.

    Attributes:
        name: in sentences.
        config: its cell.
        table: with all columns.
        metric: that it is judged by.
        hardware: that it is trained on.
    """

    name: str
    config: Config
    table: Table
    metric: Metric
    hardware: Hardware

    @property
    def trials(self) -> range:
        """The numbers of its trials."""
        return range(self.config.trials)

    @property
    def is_pretrained(self) -> bool:
        """True if pre-training has a part in it."""
        return self._intact.parts.pretext is not None

    @property
    def is_corrupted(self) -> bool:
        """True if its pre-training corrupts rows."""
        return hasattr(self._intact.parts.pretext, "corruption")

    @property
    def split(self) -> Split:
        """The way in which trials draw their rows, for verdicts."""
        return Split(str(self.config.split["name"]))

    @cached_property
    def amounting(self) -> Config:
        """The configuration that its cell amounts to on the table, which is part of its identity."""
        return self._intact.config

    @cached_property
    def _intact(self) -> CellTraining:
        """Its training on the whole table."""
        return self._training()

    def as_they_are(
        self, blocks: Sequence[Sequence[int]], repeats: int, seed: int, trials: Sequence[int] | None = None
    ) -> tuple[Tested, list[Tested]]:
        """The test rows of each trial, and for each block of columns those with the block permuted.

        Args:
            blocks: places of columns that are permuted together.
            repeats: permutations of each block; fewer where they would need too much memory.
            seed: of the permutations; each trial has its own.
            trials: to train; None trains all.
        """
        training = self._intact
        wanted_trials = self._chosen(trials)
        intact: Tested = {}
        changed: list[Tested] = [{} for _ in blocks]
        for wanted, _ in training.stacks(wanted_trials):
            n_test = self._n_test(training)
            needed = max(1, len(blocks) * n_test * self.table.values.shape[1])
            # Fewer permutations come first, and fewer trials at once if one permutation is too much still.
            affordable = MOST_VALUES // needed
            repeats = max(1, min(repeats, affordable))
            at_once = max(1, min(len(wanted), affordable // repeats))
            for start in range(0, len(wanted), at_once):
                batch = wanted[start : start + at_once]
                self._add_permuted(training, batch, blocks, repeats, seed, intact, changed)
        return intact, changed

    def without(self, places: Sequence[int], trials: Sequence[int] | None = None) -> Tested:
        """The test rows of each trial after training on a table without these columns.

        Raises:
            UsageError: no column is left.
        """
        columns, kept_places = [], []
        for place, column in enumerate(self.table.columns):
            if place not in places:
                columns.append(column)
                kept_places.append(place)
        if not kept_places:
            raise UsageError("No column would be left; name fewer columns in a group.")
        values = np.ascontiguousarray(self.table.values[:, kept_places])
        # Trials have the splits of the whole table, see `SplitOf`.
        rest = replace(self.table, columns=tuple(columns), values=values)
        return self._tested(self._training(rest), trials)

    def hidden_from_pretraining(self, places: Sequence[int], trials: Sequence[int] | None = None) -> Tested:
        """The same after a pre-training that did not see these columns."""
        return self._tested(self._intact, trials, hidden=places)

    def spared_by_corruption(self, places: Sequence[int], trials: Sequence[int] | None = None) -> Tested:
        """The same after a pre-training whose corruption left these columns as they are."""
        training = self._intact
        pretext: Any = training.parts.pretext
        spared_places = list(places)
        # A category has an encoded column for each of its values.
        if pretext.corruption.space == "encoded":
            columns = Columns.of(training.parts.encoding.columns(self.table.columns))
            spared_places = []
            for place in places:
                spared_places.extend(columns.of_feature(place))
        spared = replace(pretext, corruption=Spared(pretext.corruption, spared_places))
        parts = replace(training.parts, pretext=spared)
        return self._tested(replace(training, parts=parts), trials)

    def _training(self, table: Table | None = None) -> CellTraining:
        """The training of the cell, which keeps nothing."""

        def of_all_columns(rule: Splitting) -> Splitting:
            return SplitOf(rule, self.table)

        table_to_train = self.table if table is None else table
        return CellTraining.prepare(self.config, table_to_train, self.hardware, splitting=of_all_columns)

    def _n_test(self, training: CellTraining) -> int:
        return int(training.stack([0]).data.test.shape[1])

    def _chosen(self, trials: Sequence[int] | None) -> Sequence[int]:
        return self.trials if trials is None else trials

    def _tested(
        self, training: CellTraining, trials: Sequence[int] | None = None, hidden: Sequence[int] = ()
    ) -> Tested:
        """Train trials, and predict their test rows. Pre-training does not see the ``hidden`` columns."""
        tested_trials: Tested = {}
        wanted = self._chosen(trials)
        for _, company in training.stacks(wanted):
            stack = training.stack(company)
            seen = blind_to(stack, hidden) if hidden else stack
            outcome = outcome_of(training, stack, seen)
            for position, trial in enumerate(company):
                tested = stack.data.test[position]
                rows = self._rows(outcome.predictions[position], tested)
                # Company that is there for exactness alone is not kept.
                if rows is not None and trial in wanted:
                    tested_trials[trial] = rows
        return tested_trials

    def _add_permuted(
        self,
        training: CellTraining,
        trials: Sequence[int],
        blocks: Sequence[Sequence[int]],
        repeats: int,
        seed: int,
        intact: Tested,
        changed: list[Tested],
    ) -> None:
        """Train trials once, and add their test rows as they are and with each block permuted."""
        stack = with_permuted_rows(training.stack(trials), blocks, repeats, seed)
        outcome = outcome_of(training, stack)
        for position, trial in enumerate(trials):
            tested = np.sort(stack.data.test[position])
            n_test = len(tested)
            predictions = outcome.predictions[position]
            rows = self._rows(predictions[:n_test], tested)
            # It diverged, and so do its permuted rows.
            if rows is None:
                continue
            intact[trial] = rows
            labels = self.table.labels[tested]
            # Behind the rows as they are: blocks, of each its permutations, and of each of these all rows.
            shape = (len(blocks), repeats, n_test, *predictions.shape[1:])
            of_blocks = predictions[n_test:].reshape(shape)
            for place, of_block in enumerate(of_blocks):
                moved = permuted_rows(self.metric, of_block, labels, tested)
                if moved is not None:
                    changed[place][trial] = moved

    def _rows(self, predictions: Floats, tested: Integers) -> RowsOfTrial | None:
        """The test rows of a trial in their order; None if it diverged or the metric is not defined."""
        if not np.isfinite(predictions).all():
            return None
        # Ways differ in nothing but their columns, so rows are compared in one order.
        order = np.argsort(tested)
        rows = tested[order]
        return rows_of_trial(self.metric, predictions[order], self.table.labels[rows], rows)


def outcome_of(training: CellTraining, stack: Stack, seen_by_pretraining: Stack | None = None) -> MethodResult:
    """The result of a stack after its phases. Pre-training may see another stack of the same trials."""
    pretraining = training.pretrain(seen_by_pretraining or stack)
    encoders = None if pretraining is None else pretraining.part("encoder")
    return training.parts.method.run(stack, SupervisedPhase(training.config.finetune, encoders))


def blind_to(stack: Stack, places: Sequence[int]) -> Stack:
    """A stack in whose table these columns are missing. Its preprocessing, which imputes them, is the same."""
    values = stack.table.values.copy()
    values[:, list(places)] = np.nan
    return replace(stack, table=replace(stack.table, values=values), device_table=None)


def with_permuted_rows(stack: Stack, blocks: Sequence[Sequence[int]], repeats: int, seed: int) -> Stack:
    """A stack that predicts its test rows, and after them those with each block of columns permuted.

    Permuted rows stand behind the rows of the table, so that nothing else changes.
    """
    table, data = stack.table, stack.data
    n_rows = len(table.values)
    n_test = data.test.shape[1]
    values, labels = [table.values], [table.labels]
    # The numbers of the rows that each trial predicts.
    index = []
    start = n_rows
    for position, trial in enumerate(data.trials):
        # In the order of the table, so that permutations do not depend on that of the split.
        tested = np.sort(data.test[position])
        orders = permutations(n_test, repeats, seed + trial)
        of_repeats = np.tile(table.labels[tested], repeats)
        own = [tested]
        for block in blocks:
            moved = permuted(table.values[tested], block, orders)
            values.append(moved)
            labels.append(of_repeats)
            own.append(np.arange(start, start + len(moved)))
            start += len(moved)
        index.append(np.concatenate(own))
    weights = table.weights
    if weights is not None:
        # They train nothing, so that their weights are of no consequence.
        weights = np.concatenate([weights, np.ones(start - n_rows)])
    longer = replace(
        table, values=np.concatenate(values), labels=np.concatenate(labels), split_by=None, weights=weights
    )
    predicted = np.stack(index)
    return replace(stack, table=longer, data=replace(data, predicted=predicted))
