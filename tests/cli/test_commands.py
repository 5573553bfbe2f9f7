"""The command lines in this process: what they answer without training, and how Ctrl-C ends them."""

import io
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.cli import commands
from scarf_lightning.errors import UsageError
from tests.composing import ROOT
from tests.processes import TINY, here


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--trials 3", "--trials is not known; options have no dashes: trials=VALUE."),
        ("-m pretrain=none,scarf lr=3", "lr is not an option. Did you mean learning_rate? The options are: "),
        ("trials=${x}", "trials: Interpolation key 'x' not found."),
        ("corruption.rate=0.3,${x}", ".*corruption.rate: Interpolation key 'x' not found."),
        ("paths.results=${oc.env:NOWHERE}", "paths.results: .*Environment variable 'NOWHERE' not found.*"),
        ("dataset.target='${x:1}' dataset.path=a.csv", "dataset.target: Unsupported interpolation type x."),
        (
            "-m corruption=mean,zero --cfg job",
            "This flag shows the configuration of one cell; give every option one",
        ),
        ("--experimental-rerun job.pickle", "--experimental-rerun reads a job that Hydra pickled"),
        (
            "corruption=maen --help",
            "corruption=maen is not an option. Did you mean mean? The options of ",
        ),
    ],
)
def test_a_mistake_is_answered_in_a_line(arguments: str, sentence: str, tmp_path: Path) -> None:
    ran = here(commands.train, *arguments.split(), cwd=tmp_path)

    assert (ran.returncode, ran.stdout) == (2, "")
    (said,) = ran.stderr.splitlines()
    assert re.match(re.escape(sentence).replace(r"\.\*", ".*"), said)
    assert list(tmp_path.iterdir()) == []


INTERRUPTED = """
import signal, sys
from scarf_lightning.cli import commands
from scarf_lightning.errors import UsageError
from scarf_lightning.engine.fit import StackLoop

StackLoop.training_step = lambda *_: signal.raise_signal(signal.SIGINT)
sys.exit(commands.train())
"""


@pytest.mark.slow
def test_ctrl_c_within_a_fit_ends_with_its_sentence_and_gives_the_claim_back(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "trials=1", *TINY],
        cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip

    assert ran.returncode == 130, ran.stderr
    assert ran.stderr.startswith(commands.READING)
    assert ran.stderr.splitlines()[-1] == "Interrupted; the same command goes on where it ended."
    assert not list(tmp_path.rglob("claim"))


def slow(*case: str) -> Any:
    """A case that a faster one is like."""
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        slow("--help", "\ncorruption: gaussian, joint, "),
        ("corruption=gaussian -h", "\nsigma: 0.5 # standard deviation of the noise (float; (0, inf))\n"),
        ("--version", f"scarf-lightning {version('scarf-lightning')}\n"),
        ("-c job pretrain=none", "pretrain:"),
        ("trials=7 --cfg job pretrain=none", "trials: 7"),
        ("-i defaults", "Defaults List"),
        ("-r plan=true", "1 cell: 1 waiting"),
        slow("-m plan=true seed=0,1", "2 cells: 2 waiting"),
        ("-sc install=zsh", "hydra_bash_completion"),
    ],
)  # fmt: skip
def test_every_flag_of_hydra_shows_what_it_is_for(arguments: str, shown: str, tmp_path: Path) -> None:
    ran = here(commands.train, *arguments.split(), cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert shown in ran.stdout


def test_completion_names_the_options_of_an_axis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "python train.py pretrain=sc"
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line)))

    ran = here(commands.train, "-sc", "query=bash", cwd=tmp_path)

    assert ran.stdout.split() == ["pretrain=scarf", "pretrain=scarf_ae", "pretrain=scarf_disc"]


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_refusal_breaks_between_words_on_a_terminal_and_stays_whole_in_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentence = "corruption=marginl is not an option. Did you mean marginal? The options of corruption are: gaussian"
    shown, file = Terminal(), io.StringIO()
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")

    def refuse(_: list[str]) -> None:
        raise UsageError(sentence)

    for stream in (shown, file):
        # The first command asks Hydra for whole errors, which a second one would show.
        monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
        monkeypatch.setattr(sys, "stderr", stream)
        assert commands.answered(refuse, []) == 2

    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines) == sentence
    assert file.getvalue() == f"{sentence}\n"
