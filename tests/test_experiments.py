"""The files of `experiment/` ask for the cells that they promise."""

from pathlib import Path

import pytest

from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.compose import Composer
from scarf_lightning.sweeping.expand import expand

ROOT = Path(__file__).parents[1]
N_CELLS = {"ablation": 4, "suite": 6, "own_table": 4, "own_part": 2}


def cells_of(name: str, *overrides: str) -> list[Cell]:
    arguments = [f"+experiment={name}", *overrides]
    return expand(arguments, Composer(arguments, ROOT)).cells


def test_every_file_says_how_it_is_run() -> None:
    files = sorted((ROOT / "experiment").glob("*.yaml"))

    assert {file.stem for file in files} == set(N_CELLS)
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "# @package _global_"
        assert any("scarf train --config-dir . " in line and f"+experiment={file.stem}" in line for line in lines[:4])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("ablation", ("corruption=mean,marginal", "scaling=zscore,minmax")),
        ("suite", ("dataset=cc18-wdbc,cc18-diabetes,cc18-vehicle", "pretrain=none,scarf")),
        ("own_table", ("pretrain=none,scarf", "regime=few,full", "dataset.path=t.csv", "dataset.target=y")),
        ("own_part", ("corruption=marginal,mean",)),
    ],
)
def test_a_file_asks_for_its_cells(
    name: str, overrides: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,y\n" + "".join(f"{i}.5,{'ab'[i % 2]}\n" for i in range(600)))
    cells = cells_of(name, *overrides)

    assert len(cells) == N_CELLS[name]
    assert {cell.config.trials for cell in cells} <= {5, 10}
