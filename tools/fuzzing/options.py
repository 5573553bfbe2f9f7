"""Command lines that no cell can be trained by: each is refused in sentences, or trains to what it says."""

import random
from pathlib import Path
from typing import Any

import numpy as np

from scarf_lightning.cli import commands
from scarf_lightning.options.axes import AXES
from scarf_lightning.options.reference import DESCRIBED, choices, common_options
from scarf_lightning.results import load
from tests.processes import TINY, here
from tools.fuzzing.attacking import LONGEST_SENTENCE, USED

COUNT = 500
BASE = ("trials=1", "pretrain.max_epochs=1", "finetune.max_epochs=1", *TINY[2:])
NEVER = (
    "plugins", "trainer.accelerator", "logger", "paths", "chunk.file", "dataset.source", "pretrain.min_steps",
    "finetune.min_steps", "tune",
)  # fmt: skip
"""Options that reach out of this machine or of the folder, that run code, or that may ask for hours of training."""
ODD = (
    "-1", "0", "1", "2", "0.5", "-0.0", "1e39", "1e-320", "1e400", "nan", "inf", "-inf", "9" * 30, "0x10", "1_000",
    "''", "null", "true", "[]", "[1]", "{}", "{a:1}", "a", "é", "../a", "/dev/zero", "${oc.env:HOME}", "'${x'", "\\,",
    "${oc.env:NOWHERE}", "${x}", "${x:1}", "${", "a b", "'\x1b[2J'", "a" * 500, "1,2", "1,1", "glob(*)",
    "range(1,4)", "sort(2,1)", "interval(0,1)", "choice(1,2)", "3.0", "1e12", "1e6", "-1e9", "'null'", "---",
    "[a,[b]]", "'a=b'",
)  # fmt: skip
BROKEN = (
    "=", "=1", "a", "--trials", "-m", "--", "+trials=2", "~trials", "++trials=2", "trials", "trials=", "trials==2",
    "trials=2=3", "trials=[", "trials={", "trials='", "trials=(", "nothing=1", "a.b.c=1", "trials.a=1", "seed=1,",
    "corruption=", "corruption=[marginal]", "corruption={a:1}", "corruption.name=", "+corruption=mean", "~corruption",
    "corruption@a=mean", "corruption@cotrain.corruption=nothing", "hydra.mode=NOTHING", "hydra/launcher=nothing",
    "hydra.run.dir=/nowhere/a", "hydra.job.chdir=true", "sweeps=nothing", "sweeps=/dev/zero", "sweeps=../../etc/passwd",
    "--config-name=nothing", "--config-path=/nowhere", "--cfg", "--help=1", "--multirun=3", "-p", "--resolve", "-x",
    "dataset=csv", "dataset=csv dataset.path=/dev/zero dataset.target=a", "dataset=csv dataset.path=. dataset.target=a",
    "dataset=csv dataset.path=nothing.csv dataset.target=a", "dataset.id=3", "plugins=[nothing]", "plugins=[os]",
    "plugins=nothing", "plugins=[a b]", "plugins=['']", "plugins=[..a]", "method=nothing", "pretrain=scarf,nothing",
    "regime=few regime.labels=0", "regime=few regime.labels=1e9", "split=time",
    "split=time split.column=a", "split=files split.test=/dev/zero", "method=xgboost pretrain=scarf", "",
)  # fmt: skip
"""Arguments that are no overrides, or of what is not there."""


def prepare(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    """All options by dotted name, with what must be asked for to have each. The first run imports everything."""
    found: list[tuple[str, tuple[str, ...]]] = [(name, ()) for name in common_options()]
    for axis in AXES:
        if axis.name in DESCRIBED:
            for choice in choices(axis.name):
                asked = (f"{axis.name}={choice.name}",) if choice.name and axis.name != "cotrain" else ()
                found += [(name, asked) for name in choice.options]
            found.append((axis.name, ()))
    ran = here(commands.train, *BASE, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return [(name, asked) for name, asked in found if not name.startswith(NEVER)]


def attack(prepared: list[tuple[str, tuple[str, ...]]], draw: random.Random, folder: Path) -> str:
    command, arguments = commands.train, list(BASE)
    kind = draw.random()
    if kind < 0.25:
        arguments += draw.choice(BROKEN).split(" ")
    elif kind < 0.35:
        command, arguments = commands.report, [f"{draw.choice(REPORTED)}={draw.choice(ODD)}"]
    else:
        for _ in range(draw.choice([1, 1, 2])):
            name, asked = draw.choice(prepared)
            arguments += [*asked, f"{name}={draw.choice(ODD)}"]
        arguments = _only_last(arguments)
    ran = here(command, *arguments, cwd=folder)
    what = " ".join(arguments)
    assert "Traceback" not in ran.stdout + ran.stderr, f"{what}\n{ran.stderr}"
    assert ran.returncode in (0, 1, 2), f"{what}: status {ran.returncode}"
    if ran.returncode:
        said = ran.stderr.strip()
        assert said, f"{what}: it failed without a word"
        assert "\x1b" not in said, f"{what}: a control character reaches the terminal"
        longest = max(map(len, said.splitlines()))  # a sentence may quote the command
        assert longest < LONGEST_SENTENCE + len(what), f"{what}: {longest} characters: {said:.500}"
        return said
    _check_numbers(folder / "results", what)
    return USED


REPORTED = ("results", "sweeps", "out", "sections", "metric", "alpha", "note", "nothing", "dataset", "trials")


def _only_last(arguments: list[str]) -> list[str]:
    """Of several values of an option the last one: Hydra refuses two."""
    return list({argument.partition("=")[0]: argument for argument in arguments}.values())


def _check_numbers(results: Path, what: str) -> None:
    if not results.exists():
        return
    found: Any = load(results)
    measured = found[found["diverged"].isna()] if len(found) else found
    if len(measured):
        assert np.isfinite(measured["accuracy"].astype(float)).all(), f"{what}: a number is not finite"
