"""Parts of a user's own with which trials diverge are named at the end."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.options import load_plugins
from scarf_lightning.training import CellTraining
from tests.composing import config_of
from tests.short_training import training_of

LATE = """
from dataclasses import dataclass
from math import nan

import torch

from scarf_lightning.corruption import SelectiveCorruption
from scarf_lightning.options import option


@dataclass
class Late(SelectiveCorruption):
    name = "late"
    first: int = option(0, "first trial whose views are NaN")

    def replacement(self, x, source, random):
        wrong = torch.zeros_like(x)
        wrong[self.first :] = nan
        return x + wrong
"""


@pytest.fixture(autouse=True)
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corruption of a user's own, which is forgotten after the test."""
    (tmp_path / "late_views.py").write_text(LATE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    load_plugins(["late_views"])


def training_with(first: int, table: Table) -> CellTraining:
    config = config_of()
    config.corruption = {"name": "late", "keep": None, "rate": 0.6, "first": first}
    return training_of(config, table)


def test_all_trials_lost_are_an_error_that_names_the_parts(wdbc: Table) -> None:
    training = training_with(0, wdbc)
    with pytest.raises(UsageError, match=r"^corruption=late: 2 trials of 2 diverged, for a loss, a weight"):
        training.run([0, 1]).record([0, 1])


def test_some_trials_lost_are_said(wdbc: Table) -> None:
    [sentence] = training_with(1, wdbc).run([0, 1]).record([0, 1]).faults
    assert sentence.startswith("corruption=late: 1 trial of 2 diverged")
    assert sentence.endswith("They are in no mean.")


def test_a_prediction_that_is_not_finite_is_said(wdbc: Table) -> None:
    ran = training_with(2, wdbc).run([0, 1])
    predictions = ran.outcome.predictions.copy()
    assert not ran.record([0, 1]).faults
    predictions[1, 4] = math.nan
    [sentence] = replace(ran, outcome=replace(ran.outcome, predictions=predictions)).record([0, 1]).faults
    assert sentence.startswith("corruption=late: 1 trial of 2 diverged")
