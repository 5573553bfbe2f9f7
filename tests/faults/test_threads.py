"""Threads of a fresh process that fit, train and plan at once, as those of a web server do."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import TINY, environment, train

pytestmark = [pytest.mark.slow]

MINUTES = 5 * 60.0
PROGRAM = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path

from sklearn.datasets import load_iris

import scarf_lightning
from scarf_lightning import ScarfClassifier

X, y = load_iris(return_X_y=True)
SHORT = ["max_epochs=2", "trials=2", "trainer=cpu"]


def fit():
    options = {"max_epochs": 2}
    return ScarfClassifier(pretrain="scarf", n_trials=2, options=options).fit(X, y).predict_proba(X).tolist()


def run(pretrain):
    frame = scarf_lightning.run([f"pretrain={pretrain}", *SHORT], verbose=False)
    return frame["accuracy"].tolist()


def plan():
    return scarf_lightning.plan(["pretrain=none,scarf", "trials=3", "paths.results=nowhere"])["missing"].tolist()


def report(out):
    page = scarf_lightning.report(results="kept", out=out)
    files = {str(file.relative_to(out)): file.read_bytes() for file in Path(out).rglob("*.*")}
    return [page.answer, {name: sha256(content).hexdigest() for name, content in files.items()}]


calls = {
    "fits": [fit] * 3,
    "all": [fit, partial(run, "none"), partial(run, "scarf"), plan],
    "reports": [*(partial(report, out) for out in ("one", "two", "three")), partial(run, "scarf"), plan],
}[sys.argv[1]]
if sys.argv[2] == "threads":
    with ThreadPoolExecutor(len(calls)) as threads:
        answers = [each.result() for each in [threads.submit(call) for call in calls]]
else:
    answers = [call() for call in calls]
print(json.dumps(answers))
"""


def answers(calls: str, how: str, folder: Path) -> list[object]:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, calls, how],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=MINUTES,
    )
    assert ran.returncode == 0, ran.stderr
    answered: list[object] = json.loads(ran.stdout)
    return answered


@pytest.mark.parametrize("calls", ["fits", "all", "reports"])
def test_threads_get_what_one_after_the_other_gets(calls: str, tmp_path: Path) -> None:
    (tmp_path / "threads").mkdir()
    if calls == "reports":
        train("pretrain=none,scarf", "trials=2", *TINY, "paths.results=kept", cwd=tmp_path / "threads")
    shutil.copytree(tmp_path / "threads", tmp_path / "in turn")
    assert answers(calls, "threads", tmp_path / "threads") == answers(calls, "in turn", tmp_path / "in turn")
