"""Who may fork."""

import threading

import pytest

from scarf_lightning import forks
from scarf_lightning.forks import why_no_fork


def test_who_cannot_fork_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str | None] = [why_no_fork()]
    thread = threading.Thread(target=lambda: said.append(why_no_fork()))
    thread.start()
    thread.join()
    monkeypatch.setattr(forks.sys, "platform", "darwin")
    said.append(why_no_fork())

    assert said == [None, "only the main thread may start them", "processes are forked on Linux alone"]
