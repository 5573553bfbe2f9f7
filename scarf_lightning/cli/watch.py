"""Progress of a whole sweep, with every launcher: the store is watched, no job reports anything."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..screen import NotebookLine
from ..sweeping.cell import State, SurveyedCell, chosen_metric, survey
from ..sweeping.plan import Plan
from .tables import result_in_words

BUSY_AT_MOST = 0.02
"""The share of a core that looking may take."""
SECONDS_BETWEEN_LINES = 60.0
"""Between lines of text, where the output is no terminal."""
TIME_UNKNOWN = "time left unknown"
MOST_NAMES = 3


class SweepProgress:
    """Shows how many cells are done or failed, the time gone and left, which cells train, and the last result: in a
    line that changes on a terminal or in a notebook, or else in a line a minute."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._unfinished, self._n_cells, self._console = plan.unfinished, len(plan.surveyed), console
        self._cost = plan.of_cells()
        self._started = self._last_line = time.monotonic()
        self._stopped = threading.Event()
        self._counts, self._training, self._last = "", "", ""
        self._ends: float | None = None
        self._live = Live(get_renderable=self._lines, console=console, transient=True, refresh_per_second=2)
        self._line = NotebookLine() if console.is_jupyter else None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Watch the store while the block runs."""
        watching = threading.Thread(target=self._watch, daemon=True)
        with self._live if self._console.is_terminal else nullcontext():
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
        if len(self._unfinished) < before:
            self._ends = self._expected_end(surveyed)
        failed = f", {states[State.FAILED]} failed" if states[State.FAILED] else ""
        self._counts = f"{n_done} of {self._n_cells} cells done{failed}"
        self._training = _some([each.cell.called for each in surveyed if each.state is State.RUNNING])
        if finished := [each for each in surveyed if each.state is State.FINISHED]:
            last = finished[-1]
            result = result_in_words(last.axes, last.rows, chosen_metric([last]))
            self._last = f"{last.cell.called}: {result}"
        if self._line is not None:
            line = f"{self._counts}, {self._times()}"
            self._line.write(line, last=not self._unfinished)
            return
        now = time.monotonic()
        due = now - self._last_line > SECONDS_BETWEEN_LINES
        if not self._console.is_terminal and due and len(self._unfinished) < before:
            self._last_line = now
            training = f"; training {self._training}" if self._training else ""
            line = f"{self._counts}, {self._times()}{training}; last {self._last}"
            self._console.print(line, soft_wrap=True)

    def _lines(self) -> Group:
        """The lines of a terminal: counts and times, then the cells that train and the last result, folded."""
        below = Table.grid(padding=(0, 1))
        below.add_column()
        below.add_column(overflow="fold")
        for heading, said in (("training", self._training), ("last", self._last)):
            if said:
                below.add_row(Text(heading), Text(said))
        return Group(Text(", ".join(filter(None, [self._counts, self._times()]))), below)

    def _times(self) -> str:
        """The time gone and left; what is left runs down until a cell ends, and is unknown if that takes longer."""
        now = time.monotonic()
        left = TIME_UNKNOWN if self._ends is None or self._ends < now else f"{_clock(self._ends - now)} left"
        return f"{_clock(now - self._started)} gone, {left}"

    def _watch(self) -> None:
        while not self._stopped.is_set():
            started = time.monotonic()
            self.look()
            self._stopped.wait(max(1.0, (time.monotonic() - started) / BUSY_AT_MOST))

    def _expected_end(self, surveyed: Sequence[SurveyedCell]) -> float | None:
        """When the other cells are done at the pace so far, whatever the number of jobs."""
        left = sum(self._cost[e.cell.key] for e in surveyed if e.state in (State.RUNNING, State.WAITING))
        done = sum(self._cost.values()) - sum(self._cost[e.cell.key] for e in surveyed if e.state is not State.FINISHED)
        now = time.monotonic()
        return now + left * (now - self._started) / done if done else None


def _some(names: Sequence[str]) -> str:
    """The first few names of the cells that train."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return "; ".join(names[:MOST_NAMES]) + more


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"
