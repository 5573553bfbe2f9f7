import io
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from scarf_lightning.cli import show
from scarf_lightning.cli.show import SweepProgress
from scarf_lightning.errors import UsageError
from scarf_lightning.results import keep_failure, note_data
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.plan import unfinished
from tests.cells import WDBC, finish, results_in, some_cell


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Four alike, of which the first is finished."""
    found = [some_cell(f"seed={seed}", seed=seed, pretrain="none", paths=results_in(tmp_path)) for seed in range(4)]
    note_data(found[0].results, found[0].source, WDBC, found[0].source.stamps())
    finish(found[0])
    return found


def watching(cells: list[Cell], *, terminal: bool, **options: Any) -> tuple[SweepProgress, io.StringIO]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, color_system=None, **options)
    return SweepProgress(unfinished(survey(cells)), console), out


def test_a_file_gets_a_line_of_progress_a_minute(cells: list[Cell], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress, out = watching(cells, terminal=False, width=120, get_time=lambda: now[0])

    finish(cells[1])
    now[0] += 30
    progress.look(cells)
    assert out.getvalue() == ""
    finish(cells[2])
    keep_failure(cells[3].results, cells[3].key, "x", UsageError("y."))
    # Nothing has changed at the second look, of which no line says so.
    for seconds in (40, 3600):
        now[0] += seconds
        progress.look(cells)

    assert out.getvalue() == "4 of 6 trials done, 1 cell failed, 0:01:10 gone\n"


@pytest.mark.parametrize("width", [80, 160])
def test_on_a_terminal_a_bar_is_kept_up_to_date_and_removed_at_the_end(cells: list[Cell], width: int) -> None:
    progress, out = watching(cells, terminal=True, width=width)

    with progress.shown(is_told=True) as tell:
        finish(cells[1])
        tell(cells[1])
        progress._bar.refresh()

    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= width
    assert "2 of 6 trials done ━" in "".join(lines)
    assert out.getvalue().endswith("\x1b[2K")  # the lines are cleared


def test_the_watch_ends_with_the_block_and_goes_on_after_a_look_that_the_system_refused(
    cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress, _ = watching(cells, terminal=False)
    before, looked = set(threading.enumerate()), threading.Event()
    answers = iter([OSError("refused")])

    def sometimes(cells: list[Cell]) -> Sequence[Cell]:
        for answer in answers:
            raise answer
        looked.set()
        return survey(cells)

    monkeypatch.setattr(show, "survey", sometimes)
    monkeypatch.setattr(progress._ended, "wait", lambda seconds: time.sleep(0.01))

    with progress.shown(is_told=False):
        assert looked.wait(30)

    assert set(threading.enumerate()) <= before
