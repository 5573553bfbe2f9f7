"""Choice of loggers on the command line, and in files."""

import pytest

from scarf_lightning import UsageError
from scarf_lightning.options.run_settings import LoggerSettings, WandbSettings
from scarf_lightning.sweeping.cell import named
from tests.composing import cells_of, config_of

MINE = "+logger.mine={_target_:pytorch_lightning.loggers.CSVLogger,save_dir:logs}"


@pytest.mark.parametrize(
    ("chosen", "views"),
    [
        ("none", []),
        ("tensorboard", ["tensorboard"]),
        ("[wandb,csv]", ["wandb", "csv"]),
        ("[csv,wandb]", ["wandb", "csv"]),
    ],
)
@pytest.mark.slow
def test_loggers_are_chosen_by_name_and_several_by_a_list(chosen: str, views: list[str]) -> None:
    assert config_of(f"logger={chosen}").logger.views == views


def test_a_class_is_a_section_and_no_logger_makes_another_cell() -> None:
    (usual,) = cells_of()
    (cell,) = cells_of("logger=csv", MINE, "+logger.csv.prefix=a", "logger.wandb.project=b")
    assert cell.config.logger.others == {
        "csv": {"_target_": "pytorch_lightning.loggers.CSVLogger", "prefix": "a"},
        "mine": {"_target_": "pytorch_lightning.loggers.CSVLogger", "save_dir": "logs"},
    }
    assert cell.key == usual.key


def test_the_variable_of_wandb_turns_its_runs_off(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = LoggerSettings(wandb=WandbSettings(write=True))
    assert settings.views == ["wandb"]
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert settings.views == []


def test_a_cell_is_not_named_after_its_logger() -> None:
    cells = named(cells_of("pretrain=none,scarf", "logger=csv", MINE))
    assert [cell.name for cell in cells] == ["pretrain=none", "pretrain=scarf"]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("logger=[csv,nothing]", r"logger=nothing is not an option; scarf train --help lists them\."),
        ("logger.mine.save_dir=a", r"logger\.mine is not an option\. .* Lightning's: \+logger\.mine\._target_=CLASS\."),
        ("+logger.mine.save_dir=a", r"logger\.mine is not an option\. .*The options of logger are: "),
    ],
)
def test_what_is_no_logger_is_refused(override: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=f"^{sentence}"):
        cells_of(override)
