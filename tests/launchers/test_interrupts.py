"""Ctrl-C and SIGTERM in the middle of a fit, with the launchers whose jobs end with their command."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.processes import TINY_CONTROL, ended, in_the_way, soon, started

pytestmark = [pytest.mark.slow, pytest.mark.launcher]

ENDLESS = ["-m", "seed=0,1", "pretrain=none", "trials=1", *TINY_CONTROL, "finetune.max_epochs=1000000",
           "finetune.patience=null"]  # fmt: skip


def is_alone(group: int) -> bool:
    """Whether no process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("launcher", ["basic", "workers", "joblib"])
def test_a_fit_is_ended_with_a_sentence_and_gives_its_claims_back(
    launcher: str, number: signal.Signals, tmp_path: Path
) -> None:
    option = {"basic": "workers=1", "workers": "workers=2"}.get(launcher, f"hydra/launcher={launcher}")
    with started(*ENDLESS, option, cwd=tmp_path) as process:
        assert soon(lambda: len(list(tmp_path.glob("results/*/cell.json"))) > 0)
        time.sleep(3)  # a description is written just before the fit
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)  # as a scheduler does
        ran = ended(process)

    assert ran.returncode == 128 + number
    assert "Traceback" not in ran.stderr
    how = "Interrupted" if number == signal.SIGINT else "Ended by SIGTERM"
    # The note on seeds comes first.
    assert ran.stderr.splitlines()[1:] == [f"{how}; the same command goes on where it ended."]
    assert soon(lambda: is_alone(process.pid))
    # joblib kills its processes, whose claims the next command takes over.
    if launcher != "joblib":
        assert in_the_way(tmp_path / "results") == []
    assert not (tmp_path / "results" / "logs").exists()
