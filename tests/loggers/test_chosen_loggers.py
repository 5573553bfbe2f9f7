"""Choice of loggers on the command line, and in files."""

import pytest

from scarf_lightning import UsageError
from scarf_lightning.sweeping.cell import named
from tests.composing import cells_of

MINE = "+logger.mine={_target_:pytorch_lightning.loggers.CSVLogger,save_dir:logs}"


def test_a_class_is_a_section_and_no_logger_makes_another_cell() -> None:
    (usual,) = cells_of()
    (cell,) = cells_of("logger=csv", MINE, "+logger.csv.prefix=a", "logger.wandb.project=b")
    assert cell.config.logger.others == {
        "csv": {"_target_": "pytorch_lightning.loggers.CSVLogger", "prefix": "a"},
        "mine": {"_target_": "pytorch_lightning.loggers.CSVLogger", "save_dir": "logs"},
    }
    assert cell.key == usual.key


def test_a_cell_is_not_named_after_its_logger() -> None:
    cells = named(cells_of("pretrain=none,scarf", "logger=csv", MINE))
    assert [cell.name for cell in cells] == ["pretrain=none", "pretrain=scarf"]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("logger=[csv,nothing]", r"logger=nothing is not an option"),
        ("logger.mine.save_dir=a", r"logger\.mine is not an option\. .* Lightning's: \+logger\.mine\._target_=CLASS\."),
    ],
)
def test_what_is_no_logger_is_refused(override: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=f"^{sentence}"):
        cells_of(override)
