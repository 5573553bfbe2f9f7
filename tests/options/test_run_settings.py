"""The sections of a run's options: the loggers that are written."""

import pytest

from scarf_lightning.options import checked
from scarf_lightning.options.settings import LoggerSettings, PathSettings, WandbSettings

CSV = {"_target_": "pytorch_lightning.loggers.CSVLogger"}


def test_no_logger_is_written_by_default() -> None:
    assert LoggerSettings().views == []


def test_loggers_are_written_in_the_order_of_their_sections() -> None:
    settings = LoggerSettings(others={"mine": CSV, "yours": CSV}, wandb=WandbSettings(write=True))
    assert settings.views == ["wandb", "mine", "yours"]


def test_a_section_of_a_lightning_logger_is_read_from_files_and_records() -> None:
    for asked in ({"mine": CSV}, {"others": {"mine": CSV}}):
        assert checked(LoggerSettings, asked, "logger").others == {"mine": CSV}


def test_a_disabled_logger_is_not_written() -> None:
    assert LoggerSettings(wandb=WandbSettings(write=True, mode="disabled")).views == []


def test_a_folder_of_results_in_the_home_folder_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert checked(PathSettings, {"results": "~/runs"}).results == "/home/me/runs"
    assert PathSettings().results == "results"
