"""Progress of a whole sweep, with every launcher: the store is watched, no job reports anything."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..console.screen import NotebookLine
from .cost import CostModel, pretraining, supervised
from .survey import State, Surveyed, survey

BUSY_AT_MOST = 0.02
"""The share of a core that looking may take."""
SECONDS_BETWEEN_LINES = 60.0
"""Between lines of text, where the output is no terminal."""


class SweepProgress:
    """Cells done, running, failed and left, and the time left.

    Args:
        surveyed: all cells, as they are at the start.
        model: what weighs them.
        console: where to show it: a line that changes on a terminal or in a notebook, or else a line a minute.
    """

    def __init__(self, surveyed: Sequence[Surveyed], model: CostModel, console: Console) -> None:
        self._unfinished = [each for each in surveyed if each.state is not State.FINISHED]
        self._n_cells, self._model, self._console = len(surveyed), model, console
        self._sharing = Counter(each.cell.pretraining_key for each in self._unfinished)
        self._cost = {each.cell.key: self._expected(each) for each in self._unfinished}
        self._started = self._last_line = time.monotonic()
        self._stopped = threading.Event()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("cells", total=self._n_cells, state="")
        self._line = NotebookLine() if console.is_jupyter else None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Watch the store while the block runs."""
        watching = threading.Thread(target=self._watch, daemon=True)
        with self._bar:
            watching.start()
            try:
                yield
            finally:
                self._stopped.set()
                watching.join()
                if self._line is not None:
                    self.look()

    def look(self) -> None:
        """Look at the cells that were not finished, and show what has changed."""
        before = len(self._unfinished)
        surveyed = survey([each.cell for each in self._unfinished])
        states = Counter(each.state for each in surveyed)
        self._unfinished = [each for each in surveyed if each.state is not State.FINISHED]
        n_done = self._n_cells - len(self._unfinished)
        state = f"{states[State.RUNNING]} running, {states[State.FAILED]} failed, {self._time_left(surveyed)}"
        self._bar.update(self._task, completed=n_done, state=state)
        if self._line is not None:
            self._line.write(f"{n_done} of {self._n_cells} cells done, {state}", last=not self._unfinished)
            return
        now = time.monotonic()
        due = now - self._last_line > SECONDS_BETWEEN_LINES
        if not self._console.is_terminal and due and len(self._unfinished) < before:
            self._last_line = now
            self._console.print(f"{n_done} of {self._n_cells} cells done, {state}")

    def _watch(self) -> None:
        while not self._stopped.is_set():
            started = time.monotonic()
            self.look()
            self._stopped.wait(max(1.0, (time.monotonic() - started) / BUSY_AT_MOST))

    def _expected(self, each: Surveyed) -> float:
        """Seconds, with its share of a pre-training that serves several cells."""
        phase = pretraining(each.cell)
        shared = self._model.seconds(phase) / self._sharing[each.cell.pretraining_key] if phase else 0.0
        return each.n_missing * (shared + self._model.seconds(supervised(each.cell)))

    def _time_left(self, surveyed: Sequence[Surveyed]) -> str:
        """At the pace so far, by expected cost: so it holds for any number of jobs at once."""
        left = sum(self._cost[e.cell.key] for e in surveyed if e.state in (State.RUNNING, State.WAITING))
        done = sum(self._cost.values()) - sum(self._cost[e.cell.key] for e in surveyed if e.state is not State.FINISHED)
        if not done:
            return "time left unknown"
        minutes, seconds = divmod(int(left * (time.monotonic() - self._started) / done), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02d}:{seconds:02d} left"
