"""The functions that a mini-batch passes on its way from `train.py` to the loss, as CONTRIBUTING.md lists them."""

import re
import sys
import traceback
from pathlib import Path

import pytest
from torch import Tensor

import scarf_lightning
from scarf_lightning.cli import commands
from scarf_lightning.losses.loss import InfoNCE
from tests.composing import ROOT
from tests.processes import TINY, here

PACKAGE = Path(scarf_lightning.__file__).parent
MOST = 18
"""More stations than this are more than a reader keeps in mind."""


def stations_in_the_guide() -> list[tuple[str, str]]:
    """The file and the function of each line of the list."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The way of a batch")[2]
    return re.findall(r"^\d+\. `([\w/]+\.py)`: `([\w.]+)`", section.partition("\n## ")[0], re.MULTILINE)


def test_a_batch_takes_the_way_that_the_guide_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process trains, so that no worker stands between the command and the loss."""
    seen: list[list[tuple[str, str]]] = []
    compute = InfoNCE.__call__

    def traced(loss: InfoNCE, first: Tensor, second: Tensor) -> Tensor:
        way = []
        for frame, _ in traceback.walk_stack(sys._getframe(1)):
            file = Path(frame.f_code.co_filename)
            if file.is_relative_to(PACKAGE):
                way.append((file.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))
        seen.append([*way[::-1], ("losses/loss.py", InfoNCE.__call__.__qualname__)])
        return compute(loss, first, second)

    traced.__qualname__ = compute.__qualname__
    monkeypatch.setattr(InfoNCE, "__call__", traced)
    ran = here(commands.train, "trials=1", "workers=1", *TINY, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert seen[0] == stations_in_the_guide()
    assert len(seen[0]) <= MOST
