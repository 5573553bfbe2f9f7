import io
import math
import re
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from scarf_lightning.cli import show
from scarf_lightning.cli.show import SweepProgress
from scarf_lightning.errors import UsageError
from scarf_lightning.results import keep_failure, note_data
from scarf_lightning.sweeping.cell import Cell, named, survey
from scarf_lightning.sweeping.plan import make_plan
from tests.cells import WDBC, finish, results_in, some_cell


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Four alike, of which the first is finished."""
    found = [some_cell(f"seed={seed}", seed=seed, pretrain="none", paths=results_in(tmp_path)) for seed in range(4)]
    note_data(found[0].results, found[0].source, WDBC, found[0].source.stamps())
    finish(found[0])
    return found


class Clock:
    """Time that passes when it is told to."""

    now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    its = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: its.now)
    return its


def watching(
    cells: list[Cell], *, terminal: bool, width: int = 120, clock: Clock | None = None
) -> tuple[SweepProgress, io.StringIO]:
    out = io.StringIO()
    get_time = None if clock is None else lambda: clock.now
    console = Console(file=out, force_terminal=terminal, width=width, color_system=None, get_time=get_time)
    return SweepProgress(make_plan(survey(cells)), console), out


def test_of_one_cell_its_trials_are_counted_and_tell_the_time_left(cells: list[Cell], clock: Clock) -> None:
    (cell,) = named([some_cell("seed=9", seed=9, pretrain="none", trials=20, paths=cells[0].config.paths)])
    progress, _ = watching([cell], terminal=True, clock=clock)

    finish(cell, trials=range(5))
    clock.now += 30
    progress.look()

    assert progress._text() == "5 of 20 trials done, 0:00:30 gone, 0:01:30 left"


def test_a_file_gets_a_line_of_progress_a_minute(cells: list[Cell], clock: Clock) -> None:
    progress, out = watching(cells, terminal=False, clock=clock)

    finish(cells[1])
    clock.now += 30
    progress.look()
    assert out.getvalue() == ""
    finish(cells[2])
    clock.now += 40
    progress.look()

    # Two of three cells in 70 seconds: the third is expected to take 35.
    said = "3 of 4 cells done, 0:01:10 gone, 0:00:35 left\n"
    assert out.getvalue() == said
    # No line says that nothing has changed.
    clock.now += 3600
    progress.look()
    assert out.getvalue() == said


def test_cells_that_failed_are_counted_and_not_left(cells: list[Cell], clock: Clock) -> None:
    progress, out = watching(cells, terminal=False, clock=clock)
    finish(cells[1])
    keep_failure(cells[2].results, cells[2].key, "x", UsageError("y."))

    clock.now += 5000
    progress.look()

    assert out.getvalue() == "2 of 4 cells done, 1 failed, 1:23:20 gone, 0:41:40 left\n"


def test_before_a_cell_ends_nobody_knows_the_time_left(cells: list[Cell], clock: Clock) -> None:
    progress, _ = watching(cells, terminal=True, clock=clock)
    clock.now += 30
    progress.look()

    assert progress._text() == "1 of 4 cells done, 0:00:30 gone, time left unknown"


def test_on_a_terminal_a_bar_is_kept_up_to_date_and_removed_at_the_end(
    cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress, out = watching(cells, terminal=True)
    looked = threading.Event()
    look = progress.look
    monkeypatch.setattr(progress, "look", lambda: (look(), looked.set()))

    with progress.shown(is_told=False):
        finish(cells[1])
        assert looked.wait(30)
        progress.look()
        progress._bar.refresh()

    assert "2 of 4 cells done ━" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")  # the lines are cleared


def test_what_workers_tell_is_shown_without_a_survey(
    cells: list[Cell], monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    progress, out = watching(cells, terminal=False, clock=clock)
    monkeypatch.delattr(show, "survey")
    clock.now += 5000

    with progress.shown(is_told=True) as tell:
        finish(cells[1])
        tell(cells[1])

    assert out.getvalue() == "2 of 4 cells done, 1:23:20 gone, 2:46:40 left\n"


@pytest.mark.parametrize("width", [80, 160])
def test_the_bar_fits_a_terminal(cells: list[Cell], width: int) -> None:
    progress, out = watching(cells, terminal=True, width=width)

    with progress.shown(is_told=True):
        progress._bar.refresh()

    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= width
    assert "1 of 4 cells done" in "".join(lines)


def test_the_watch_ends_with_the_block_also_by_an_exception(cells: list[Cell]) -> None:
    progress, _ = watching(cells, terminal=False)
    before = set(threading.enumerate())

    with pytest.raises(KeyboardInterrupt), progress.shown(is_told=False):
        raise KeyboardInterrupt

    assert set(threading.enumerate()) <= before


def test_the_watch_goes_on_after_a_look_that_the_system_refused(
    cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress, _ = watching(cells, terminal=False)
    looked, look, unhandled = threading.Event(), progress.look, list[object]()
    monkeypatch.setattr(threading, "excepthook", unhandled.append)
    monkeypatch.setattr(progress._stopped, "wait", lambda seconds: time.sleep(0.01))
    answers = iter([OSError("refused"), None])

    def sometimes() -> None:
        answer = next(answers, None)
        if answer is not None:
            raise answer
        look()
        looked.set()

    monkeypatch.setattr(progress, "look", sometimes)
    with progress.shown(is_told=False):
        assert looked.wait(30)

    assert unhandled == []
    assert progress._task.description == "1 of 4 cells done"


def test_a_pretraining_that_cells_share_weighs_once(tmp_path: Path, clock: Clock) -> None:
    """Two methods that share a pre-training, and one cell without: each counts as what it is expected to cost."""
    shared = [some_cell(f"method={n}", method={"name": n}, paths=results_in(tmp_path)) for n in ("control", "dropout")]
    lone = some_cell("pretrain=none", pretrain="none", paths=results_in(tmp_path))
    note_data(lone.results, lone.source, WDBC, lone.source.stamps())
    progress, _ = watching([*shared, lone], terminal=False, clock=clock)

    finish(shared[0])
    clock.now += 100
    progress.look()

    cost = progress._cost
    assert cost[shared[0].key] == cost[shared[1].key] > cost[lone.key]
    left = 100 * (cost[shared[1].key] + cost[lone.key]) / cost[shared[0].key]
    assert progress._task.time_remaining == math.ceil(left)
