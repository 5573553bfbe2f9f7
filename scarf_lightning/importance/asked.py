"""A question about the columns of one table, and the trainings that answer it.

One training of each competitor answers for all columns permuted. Each other way of changing columns is a training of
its own. A measurement holds the test rows of the trials of one training.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..options.plugins import plugin_hashes
from ..results import fingerprint, identity
from ..verdicts.answers import MARGIN
from .competing import Competitor, Tested
from .judging import Way

REPEATS = 5
"""Permutations of each column in each trial."""


class Task(NamedTuple):
    """A training of one competitor.

    Attributes:
        way: the change of columns; of ``permuted``, which stands for all columns, training sees no change.
        competitor: its place among the competitors.
        unit: the place of the columns among the units; None of ``permuted``.
    """

    way: Way
    competitor: int
    unit: int | None = None


@dataclass(frozen=True)
class Measurement:
    """The test rows of a training.

    Attributes:
        tested: those of the trained competitor; of ``permuted`` also those with each unit permuted, in their order.
        trials: that were trained. A trial that diverged has no test rows.
        seconds: that they took.
    """

    tested: Sequence[Tested]
    trials: Sequence[int]
    seconds: float

    def joined(self, other: "Measurement") -> "Measurement":
        """The trials of both."""
        tested = []
        for mine, its in zip(self.tested, other.tested, strict=True):
            tested.append(mine | its)
        trials = sorted({*self.trials, *other.trials})
        return Measurement(tested, trials, self.seconds + other.seconds)

    def of(self, trials: Sequence[int]) -> "Measurement":
        """These trials alone."""
        tested = []
        for each in self.tested:
            tested.append({trial: rows for trial, rows in each.items() if trial in trials})
        both = sorted(set(self.trials) & set(trials))
        seconds = self.seconds_a_trial * len(both)
        return Measurement(tested, both, seconds)

    @property
    def seconds_a_trial(self) -> float:
        """Seconds of one trial, as a mean."""
        return self.seconds / max(len(self.trials), 1)


@dataclass(frozen=True)
class Question:
    """The question of which columns matter to competitors on one table.

    Attributes:
        competitors: the first one has no pre-training.
        groups: places of columns that are also tried together.
        repeats: permutations of each column in each trial.
        seed: of the permutations.
        margin: a difference no larger than this is of no practical consequence.
    """

    competitors: Sequence[Competitor]
    groups: Sequence[Sequence[int]] = ()
    repeats: int = REPEATS
    seed: int = 0
    margin: float = MARGIN

    @cached_property
    def names(self) -> list[str]:
        """The columns of the table."""
        return [column.name for column in self.competitors[0].table.columns]

    @cached_property
    def units(self) -> list[list[int]]:
        """Places of columns that are changed together: each column alone, then the groups."""
        alone = [[place] for place in range(len(self.names))]
        return alone + [list(group) for group in self.groups]

    @cached_property
    def labels(self) -> list[tuple[str, ...]]:
        """The names of the columns of each unit."""
        labels = []
        for unit in self.units:
            labels.append(tuple(self.names[place] for place in unit))
        return labels

    @property
    def permuting(self) -> list[Task]:
        """The trainings that come first: one of each competitor."""
        return [Task("permuted", place) for place in range(len(self.competitors))]

    @property
    def changing(self) -> list[Task]:
        """The trainings with columns changed, of all units and competitors."""
        tasks = []
        for unit, places in enumerate(self.units):
            for place, competitor in enumerate(self.competitors):
                # Without any column there is nothing to train on.
                if len(places) < len(self.names):
                    tasks.append(Task("left out", place, unit))
                if competitor.is_pretrained:
                    tasks.append(Task("left out of pre-training", place, unit))
                if competitor.is_corrupted:
                    tasks.append(Task("left out of corruption", place, unit))
        return tasks

    def measure(self, task: Task, trials: Sequence[int]) -> Measurement:
        """Train trials of a competitor, and measure their test rows."""
        started = time.monotonic()
        competitor = self.competitors[task.competitor]
        if task.unit is None:
            # One training serves the rows as they are and all permutations.
            intact, permuted = competitor.as_they_are(self.units, self.repeats, self.seed, trials)
            tested = [intact, *permuted]
        else:
            tested = [self._changed(task.way, competitor, self.units[task.unit], trials)]
        return Measurement(tested, list(trials), time.monotonic() - started)

    @staticmethod
    def _changed(way: Way, competitor: Competitor, places: Sequence[int], trials: Sequence[int]) -> Tested:
        """The test rows of a competitor that is trained with columns changed."""
        if way == "left out":
            return competitor.without(places, trials)
        if way == "left out of pre-training":
            return competitor.hidden_from_pretraining(places, trials)
        return competitor.spared_by_corruption(places, trials)

    def fingerprint(self, task: Task) -> str:
        """16 digits that name all that decides the numbers of a measurement, but for its trials."""
        competitor = self.competitors[task.competitor]
        fields: dict[str, Any] = {
            "cell": identity(competitor.amounting, competitor.table.hash),
            "way": task.way,
            "precision": competitor.config.trainer.precision,
            "metric": competitor.metric.name,
            # The code of a user's metric, if it is one.
            "plugins": plugin_hashes(competitor.config.plugins, [competitor.metric.function]),
        }
        if task.unit is None:
            fields["units"] = self.units
            fields["repeats"] = self.repeats
            fields["seed"] = self.seed
        else:
            # Permutations decide nothing of a training without columns.
            fields["unit"] = self.units[task.unit]
        return fingerprint(fields)
