"""Sweep files in which one thing is not as it should be: they are planned and reported, or refused in a sentence."""

import random
from pathlib import Path

import yaml

from scarf_lightning.cli import commands
from tests.composing import SWEEPS
from tests.processes import here
from tools.fuzzing.attacking import LONGEST_SENTENCE, USED
from tools.fuzzing.values import changed

COUNT = 200
ON_WDBC = "dataset=wdbc"


def prepare(folder: Path) -> list[Path]:
    """The sweeps of the paper and our own. The first run imports everything."""
    here(commands.train, "sweeps=quick", ON_WDBC, "plan=true", cwd=folder)
    return sorted(SWEEPS.glob("*.yaml"))


def attack(prepared: list[Path], draw: random.Random, folder: Path) -> str:
    content = yaml.safe_load(draw.choice(prepared).read_text(encoding="utf-8"))
    changed(content, draw)
    text = yaml.safe_dump(content, allow_unicode=True).encode("utf-8", "surrogatepass")
    if draw.random() < 0.1:
        at = draw.randrange(len(text))
        text = text[:at] + draw.randbytes(1) + text[at:]
    (folder / "mine.yaml").write_bytes(text)
    command, more = draw.choice([(commands.train, ["plan=true"]), (commands.report, [])])

    ran = here(command, "sweeps=mine.yaml", ON_WDBC, *more, cwd=folder)

    assert "Traceback" not in ran.stdout + ran.stderr, ran.stderr
    assert ran.returncode in (0, 1, 2), f"status {ran.returncode}"
    if ran.returncode == 0:
        return USED
    said = ran.stderr.strip()
    assert said, "it failed without a word"
    # A sentence may quote the file.
    assert max(map(len, said.splitlines())) < LONGEST_SENTENCE + len(text), f"{said:.500}"
    return said
