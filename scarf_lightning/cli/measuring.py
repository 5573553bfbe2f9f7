"""The trainings behind `scarf columns`: what is left of them, how long they take, and workers that do them.

A training is handed to the workers of `sweeping.workers` as a cell with a task. It is kept by `importance.kept`, and
not in the store, which knows nothing of changed columns.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..engine.hardware import own_torch, prepare_process
from ..errors import UnfinishedError
from ..importance.asked import Question, Task
from ..importance.judging import name_of
from ..importance.kept import Kept
from ..results import CellStore, KnownData, PretrainingStore, Rows, forget_failure, keep_failure, read_failure
from ..sweeping.cell import Cell, State, SurveyedCell
from ..sweeping.chunks import Chunk
from ..sweeping.plan import Group, Plan, make_plan
from ..sweeping.sizes import Size
from ..sweeping.workers import Workers, n_workers
from .running import OwnTraining

Say = Callable[[str], None]
SLOWER = 1.2
"""How many times as long as the last one like it a training may take, as workers share a machine."""


@dataclass(frozen=True)
class ChangedCell(Cell):
    """A cell with the columns of a task changed. It has no place in the store.

    Attributes:
        task: the change.
        name_of_task: names it in the folder of results, among those that failed.
    """

    task: Task = Task("permuted", 0)
    name_of_task: str = ""

    def store(self, data: KnownData | None = None) -> CellStore | None:
        """None: the store keeps cells alone."""
        return None

    def pretraining(self, data: KnownData | None = None) -> PretrainingStore | None:
        """None, in the same way."""
        return None


@dataclass(frozen=True)
class Measuring:
    """The trainings that answer a question.

    Attributes:
        kept: the question, and the trainings that are done.
        cells: of the competitors, in their order.
    """

    kept: Kept
    cells: Sequence[Cell]

    @property
    def question(self) -> Question:
        return self.kept.question

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """The tasks of which trials are missing."""
        return [task for task in tasks if self.kept.missing(task)]

    def seconds_a_trial(self) -> list[float]:
        """Seconds of one trial of each competitor on one core: as kept trials took, or as plans expect it."""
        table = self.question.competitors[0].table
        size = Size(table.n_rows, len(table.columns))
        pace = []
        for place, cell in enumerate(self.cells):
            # Permuting trains each competitor once on all columns, so it tells what any change costs.
            measured = self.kept.read(Task("permuted", place))
            if measured is not None:
                pace.append(measured.seconds_a_trial)
            else:
                fresh = SurveyedCell(cell, State.WAITING, Rows.of([]))
                planned = make_plan([fresh], {cell.source.key: size})
                pace.append(planned.seconds / cell.config.trials)
        return pace

    def seconds(self, tasks: Iterable[Task]) -> float:
        """Seconds that the missing trials of tasks are expected to take on one core."""
        pace = self.seconds_a_trial()
        seconds = 0.0
        for task in tasks:
            seconds += pace[task.competitor] * len(self.kept.missing(task))
        return seconds

    def n_workers(self, tasks: Sequence[Task]) -> int:
        """The number of workers for tasks: one a core, as far as memory and work suffice, or `workers` if it is set.

        Raises:
            UsageError: several workers are asked for where a process cannot be forked.
        """
        # The rule for the number of workers reads a plan, so each task is a group of one.
        groups = []
        for task in tasks:
            fresh = SurveyedCell(self.cells[task.competitor], State.WAITING, Rows.of([]))
            groups.append(Group([fresh], [self.seconds([task])]))
        return n_workers(self.cells[0].config, Plan([], groups, {}), OwnTraining())

    def launch(self, tasks: Sequence[Task], ends: float, say: Say) -> None:
        """Measure the missing tasks, the first ones first, and keep them, as far as there is time.

        Args:
            ends: when training has to end, by the clock of `time.monotonic`.
            say: shows progress.

        Raises:
            UnfinishedError: trainings failed; the others are kept.
        """
        missing = self.missing(tasks)
        if not missing:
            return
        chunks, cells = [], []
        for task in missing:
            cell = self.changed(task)
            # Only failures of this command are counted.
            forget_failure(cell.results, cell.name_of_task)
            cells.append(cell)
            # Workers take the chunks in their order, so their seconds are of no use.
            chunks.append(Chunk([cell], 0.0))
        train = Trainer(self.kept, ends, self.seconds_a_trial(), say)
        number = self.n_workers(missing)
        if number == 1:
            train(cells)
        else:
            with Workers(number, train, say) as workers:
                workers(chunks)
        failures = [read_failure(cell.results, cell.name_of_task) for cell in cells]
        problems = [str(failure) for failure in failures if failure is not None]
        if problems:
            raise UnfinishedError("\n".join(problems))

    def changed(self, task: Task) -> ChangedCell:
        """The cell of a task."""
        cell = self.cells[task.competitor]
        return ChangedCell(cell.overrides, cell.config, task=task, name_of_task=self.kept.question.fingerprint(task))


@dataclass
class Trainer:
    """Measures the tasks of cells one after the other in this process: what a worker does.

    Attributes:
        kept: the question, and the trainings that are done.
        ends: when training has to end, by the clock of `time.monotonic`.
        pace: expected seconds of one trial of each competitor.
        say: shows progress.
    """

    kept: Kept
    ends: float
    pace: list[float]
    say: Say
    _done: set[Task] = field(default_factory=set)

    def __call__(self, cells: Sequence[Cell]) -> None:
        """Measure those that end in the time that is left. One that fails leaves its traceback in the results."""
        for cell in cells:
            assert isinstance(cell, ChangedCell)
            if not self._is_in_time(cell.task):
                continue
            try:
                self._measure(cell)
            # One training that fails must not end a worker, which has others to do.
            except Exception as error:
                label = self._label(cell.task)
                keep_failure(cell.results, cell.name_of_task, label, error)

    def _is_in_time(self, task: Task) -> bool:
        """True if a training is expected to end before the time does. Nobody has measured the first ones yet."""
        if task.way == "permuted":
            return time.monotonic() < self.ends
        needed = SLOWER * self.pace[task.competitor] * len(self.kept.missing(task))
        return time.monotonic() + needed < self.ends

    def _measure(self, cell: ChangedCell) -> None:
        task, trials = cell.task, self.kept.missing(cell.task)
        self.say(self._label(task))
        prepare_process(cell.config.trainer.threads)
        started = time.monotonic()
        with own_torch():
            self.kept.add(task)
        # The machine may be busier than it was.
        self.pace[task.competitor] = (time.monotonic() - started) / max(len(trials), 1)

    def _label(self, task: Task) -> str:
        """A task in words."""
        question = self.kept.question
        name = question.competitors[task.competitor].name
        if task.unit is None:
            return f"{name}: trained, and {len(question.units)} columns and groups permuted in the test rows"
        return f"{name}: {name_of(question.labels[task.unit])} {task.way}"


def with_trials(question: Question, n_trials: int) -> Question:
    """The question with fewer trials of each competitor."""
    fewer = []
    for competitor in question.competitors:
        fewer.append(replace(competitor, config=replace(competitor.config, trials=n_trials)))
    return replace(question, competitors=fewer)
