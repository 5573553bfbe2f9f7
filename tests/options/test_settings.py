"""The sections of options: how long a phase trains, the loggers that are written, and the paths that a user names."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scarf_lightning
from scarf_lightning.data.sources import open_source
from scarf_lightning.errors import UsageError
from scarf_lightning.options import checked
from scarf_lightning.options.settings import (
    FinetuneSettings,
    FitSettings,
    LoggerSettings,
    PathSettings,
    WandbSettings,
    expanded,
)
from scarf_lightning.results import load_cell
from scarf_lightning.sweeping.folders import read_sweep

CSV = {"_target_": "pytorch_lightning.loggers.CSVLogger"}


def test_a_phase_lasts_from_its_smallest_number_of_steps_to_its_largest() -> None:
    assert FitSettings(max_epochs=200).epochs(8) == (0, 200)
    assert FitSettings(min_steps=100, max_steps=300).epochs(8) == (13, 38)
    assert FitSettings(min_steps=300, max_epochs=20).epochs(1) == (300, 300), "more epochs than max_epochs"
    assert FitSettings(max_epochs=20, max_steps=90).scheduled_epochs(9) == 10


def test_patience_counts_the_validations_that_are_allowed() -> None:
    assert FitSettings(patience=3).stops_after == 4
    assert FitSettings(patience=None).stops_after == math.inf
    assert FitSettings(monitor="none").stops_after == math.inf


def test_without_validation_the_last_weights_are_kept() -> None:
    assert FitSettings().keeps_best
    assert not FitSettings(restore_best=False).keeps_best
    assert not FitSettings().unwatched().keeps_best


def test_few_rows_have_a_fixed_length_and_no_validation() -> None:
    settings = FinetuneSettings(fixed_below=100, fixed_steps=300, min_steps=400, metric="auroc")
    assert settings.fit_to_rows(100) is settings
    fixed = settings.fit_to_rows(99)
    assert fixed.epochs(1) == (0, 300)
    assert (settings.watched_metric, fixed.watched_metric) == ("auroc", None)
    assert FinetuneSettings(metric="auroc", patience=None, restore_best=False).watched_metric is None


def test_no_logger_is_written_by_default() -> None:
    assert LoggerSettings().views == []


def test_loggers_are_written_in_the_order_of_their_sections() -> None:
    settings = LoggerSettings(others={"mine": CSV, "yours": CSV}, wandb=WandbSettings(write=True))
    assert settings.views == ["wandb", "mine", "yours"]


def test_a_section_of_a_lightning_logger_is_read_from_files_and_records() -> None:
    for content in ({"mine": CSV}, {"others": {"mine": CSV}}):
        assert checked(LoggerSettings, content, "logger").others == {"mine": CSV}


def test_a_disabled_logger_is_not_written() -> None:
    assert LoggerSettings(wandb=WandbSettings(write=True, mode="disabled")).views == []


def test_the_home_of_a_user_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("~/runs") == Path("/home/me/runs")
    assert checked(PathSettings, {"results": "~/runs"}).results == "/home/me/runs"
    assert expanded("a/~b") == Path("a/~b")


NOBODY = "~nosuchuser/x"
DOORS: dict[str, Callable[[], Any]] = {
    "paths.results": lambda: PathSettings(results=NOBODY),
    "load": lambda: scarf_lightning.load(NOBODY),
    "load_cell": lambda: load_cell("abc", NOBODY),
    "load_model": lambda: scarf_lightning.load_model(NOBODY),
    "report results=": lambda: scarf_lightning.report(results=NOBODY),
    "sweeps=": lambda: read_sweep(NOBODY, []),
    "dataset.path": lambda: open_source("csv", name=None, openml_cache=None, path=NOBODY, target="y"),
    "paths.openml": lambda: open_source("openml", name=None, openml_cache=NOBODY, id=3),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_user_who_does_not_exist_is_named_in_one_sentence(door: str) -> None:
    with pytest.raises(UsageError, match=r"^~nosuchuser/x: this machine knows no home of its user; write"):
        DOORS[door]()
