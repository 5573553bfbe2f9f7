"""Fits with several processes that a signal meets at a random moment: each ends, and so do its forks."""

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import pytest

from scarf_lightning import ScarfClassifier
from tests.processes import is_alive, soon
from tools.faults.hazards import wait, workers_of

pytestmark = [pytest.mark.slow]

N_SIGNALS = int(os.environ.get("SIGNALS", "5"))
"""Of each kind."""
INTERRUPTED, TERMINATED, FAILED = 128 + signal.SIGINT, -signal.SIGTERM, 1
"""How a process of `_fit` ends: by Ctrl-C, by a signal that it does not take, and by an error."""


def _table(n: int = 120) -> pd.DataFrame:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.normal(size=n).round(3), "c": random.choice(list("xyz"), n)})
    return table.assign(y=np.where(table.a > 0, "yes", "no"))


def _fit(said: Path) -> NoReturn:
    """The life of a process that fits, and writes down the error that it ends by."""
    status = FAILED
    try:
        # The test's own streams and handlers are of no use here.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(null, stream)
        table = _table()
        one_each = {"trainer.trials_per_stack": 1}
        ScarfClassifier(pretrain="scarf", n_trials=60, n_jobs=2, options=one_each).fit(table[["a", "c"]], table.y)
        status = 0
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BaseException as error:
        said.write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
    finally:
        os._exit(status)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(signal.SIGKILL, FAILED), (signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)],
    ids=["a fork is killed", "Ctrl-C", "SIGTERM"],
)
def test_a_signal_at_any_moment_of_a_fit_ends_it_and_its_forks(
    number: signal.Signals, expected: int, tmp_path: Path
) -> None:
    draw, slowest = random.Random(number), 0.0
    for _ in range(N_SIGNALS):
        said = tmp_path / "said"
        said.unlink(missing_ok=True)
        if (fit := os.fork()) == 0:
            _fit(said)
        assert soon(lambda fit=fit: len(workers_of(fit)) == 2)
        forks = workers_of(fit)
        time.sleep(draw.uniform(0, 1))
        os.kill(forks[0] if number == signal.SIGKILL else fit, number)
        sent = time.monotonic()
        # None is a fit that waits for ever.
        assert wait(fit) == expected
        slowest = max(slowest, time.monotonic() - sent)
        # Whom the fit could not end, since it was ended itself, the kernel ends.
        assert soon(lambda forks=forks: not any(map(is_alive, forks)))
        if number == signal.SIGKILL:
            assert said.read_text(encoding="utf-8") == (
                "UnfinishedError: A process that trained was ended from outside (killed by SIGKILL), as happens where "
                "memory runs out; fewer processes need less."
            )
    print(f"{number.name}: the slowest of {N_SIGNALS} ended after {slowest:.2f} s", file=sys.stderr)
