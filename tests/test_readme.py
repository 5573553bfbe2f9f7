"""What the README shows is run."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from scarf_lightning.config import build_parts
from scarf_lightning.data.sources import open_source
from scarf_lightning.modules.hardware import Hardware, choose_device
from scarf_lightning.training import train_stack
from tests.composing import cells_of
from tests.short_training import no_cache

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
QUICK = ["pretrain.max_epochs=1", "finetune.max_epochs=1", "network.encoder.width=16"]


def commands() -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("python train.py")]
    return [shlex.split(line, comments=True)[2:] for line in lines]


@pytest.mark.parametrize("arguments", [a for a in commands() if not a or not a[0].startswith("--")], ids=" ".join)
def test_commands_ask_for_cells_that_exist(arguments: list[str]) -> None:
    assert cells_of(*(argument for argument in arguments if argument != "-m"))


def test_a_part_of_your_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = re.search(r"```python\n# (my_parts\.py)\n(.*?)```", README, flags=re.DOTALL)
    assert source is not None
    (tmp_path / source[1]).write_text(source[2])
    monkeypatch.chdir(tmp_path)
    (arguments,) = [a for a in commands() if "plugins=[my_parts]" in a]
    (cell,) = cells_of(*arguments, *QUICK)
    parts = build_parts(cell.config)
    table = open_source("wdbc", name=None, openml_cache=None).load()
    hardware = Hardware(choose_device("cpu"))
    record = train_stack(cell.config, parts, table, [0, 1], no_cache(cell.config, table), hardware, console=None)
    sys.modules.pop("my_parts")
    assert parts.pretext is not None
    assert parts.pretext.augmentation.corruption.name == "median"
    assert np.isfinite([row["accuracy"] for row in record.rows]).all()
