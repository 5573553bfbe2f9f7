"""What the README and the pages in `docs/` show is run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.results import load
from tests.composing import ROOT, cells_of

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
LONGEST_README = 250
QUICK = ["pretrain.max_epochs=1", "finetune.max_epochs=1", "trials=2"]


def commands() -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", TEXT, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("python train.py")]
    return [shlex.split(line, comments=True)[2:] for line in dict.fromkeys(lines)]


def of_ours() -> list[Any]:
    """Those that ask for nothing of the user's own; the whole paper's cells take half a minute to look at."""
    ours = [a for a in commands() if not any(argument.startswith(("--", "plugins=")) for argument in a)]
    return [pytest.param(a, marks=pytest.mark.slow if "sweeps=all" in a else (), id=" ".join(a)) for a in ours]


@pytest.mark.parametrize("arguments", of_ours())
def test_commands_ask_for_cells_that_exist(arguments: list[str]) -> None:
    assert cells_of(*(argument for argument in arguments if argument != "-m"))


@pytest.mark.slow
@pytest.mark.parametrize("module", ["my_parts", "my_network", "my_pretext"])
def test_a_part_of_your_own(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's code, in a file of the user's, asked for as the README does; in a process of its own."""
    source = re.search(rf"```python\n# ({module}\.py)\n(.*?)```", TEXT, flags=re.DOTALL)
    assert source is not None
    (tmp_path / source[1]).write_text(source[2])
    arguments, *_ = [a for a in commands() if f"plugins=[{module}]" in a]
    train = [sys.executable, str(ROOT / "train.py"), *arguments, *QUICK, f"paths.results={tmp_path / 'results'}"]

    subprocess.run(train, cwd=tmp_path, check=True, capture_output=True, text=True)

    rows = load(tmp_path / "results")
    given = dict(argument.split("=", 1) for argument in arguments)
    for option, value in given.items():
        if option != "plugins":
            assert set(rows[option].astype(str)) == {value}
    assert len(rows) == 2
    assert np.isfinite(rows.accuracy).all()


def test_it_is_short_and_says_once_whose_python_it_is() -> None:
    assert len(README.splitlines()) <= LONGEST_README
    assert README.count("source .venv/bin/activate") == 1
    assert README.index("source .venv/bin/activate") < README.index("python train.py pretrain")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r'src="([^":]+)"', text)

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_target_that_is_named_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert {
        name for name in re.findall(r"^make ([\w-]+)|`make ([\w-]+)`", TEXT, flags=re.M) for name in name if name
    } <= {line.partition(":")[0] for line in makefile.splitlines()}
