"""The trainings of the third edition: `python -m study.third_edition.run`.

    python -m study.third_edition.run openml=CACHE [results=FOLDER] [trials=5] [workers=N] [only=few,...]
                                      [tabpfn=FILE] [tabicl=FILE]

copies the tables and trains the sweeps of `SWEEPS` in their order: one trial of all of them, then a second, and so on.
What is trained stays, so the same command resumes. TabPFN and TabICL are trained where their packages are installed and
the file of their weights is named, and else skipped with a sentence.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError
from study.packaged import ROOT
from study.third_edition.tables import FOLDER, copy_all, tables

SWEEPS = ("few", "few_numbers", "frozen", "realmlp", "realmlp_numbers")
"""Files of this folder. Those that the findings of RealMLP may still change come last."""
FOUNDATION = "foundation"
ESTIMATORS = {"tabpfn": "tabpfn.TabPFNClassifier", "tabicl": "tabicl.TabICLClassifier"}
RESULTS = "results/third_edition"
TRIALS = 5
OPTIONS = {"openml", "results", "trials", "workers", "only", *ESTIMATORS}
MISTAKE, STOPPED = 2, 128
"""The exit status of a mistake in a command, and the largest of one that no signal ended."""


def main(arguments: Sequence[str]) -> int:
    """Train what is left, and return the largest exit status of the trainings.

    Raises:
        UsageError: an argument is unknown, no cache of OpenML is named, or the packages are not installed.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    unknown = sorted(set(given) - OPTIONS)
    if unknown:
        raise UsageError(
            f"study.third_edition.run does not know {', '.join(unknown)}; it takes {', '.join(sorted(OPTIONS))}."
        )
    if not Path(given.get("openml", "")).joinpath("org").is_dir():
        raise UsageError("Name the folder that holds org/openml, the cache of OpenML's client: openml=CACHE.")
    only = given.get("only", "").split(",") if given.get("only") else [*SWEEPS, FOUNDATION]
    strange = sorted(set(only) - {*SWEEPS, FOUNDATION})
    if strange:
        raise UsageError(
            f"only={','.join(strange)} names no sweep; the sweeps are: {', '.join([*SWEEPS, FOUNDATION])}."
        )
    trials = given.get("trials", f"{TRIALS}")
    if not trials.isdecimal() or int(trials) < 1:
        raise UsageError(f"trials={trials} is no number of trials; write a whole number from 1 on.")
    copy_all(tables())
    commands = trainings(given, only)
    worst = 0
    for n_trials in range(1, int(trials) + 1):
        for words in commands:
            status = subprocess.run([*words, f"trials={n_trials}"], cwd=ROOT, check=False).returncode
            if status == MISTAKE or status < 0 or status > STOPPED:
                return abs(status)
            worst = max(worst, status)
    return worst


def trainings(given: dict[str, str], only: Sequence[str]) -> list[list[str]]:
    """The commands that train one more trial of all sweeps, without their number of trials."""
    common = [
        sys.executable,
        "train.py",
        "--config-dir",
        str(FOLDER),
        f"paths.openml={Path(given['openml']).resolve()}",
    ]
    common.append(f"paths.results={given.get('results', RESULTS)}")
    if "workers" in given:
        common.append(f"workers={given['workers']}")
    commands = []
    for sweep in only:
        words = [*common, f"sweeps=study/third_edition/{sweep}.yaml"]
        if sweep != FOUNDATION:
            commands.append(words)
            continue
        for name, estimator in ESTIMATORS.items():
            why = why_skipped(name, given)
            if why:
                sys.stdout.write(f"{estimator} is skipped: {why}.\n")
            else:
                options = f"method.options={{model_path:{Path(given[name]).resolve()},device:cpu}}"
                commands.append([*words, f"method.estimator={estimator}", options])
    return commands


def why_skipped(name: str, given: dict[str, str]) -> str:
    """The reason why a foundation model is not trained, or nothing."""
    if importlib.util.find_spec(name) is None:
        return f"the package {name} is not installed"
    if name not in given:
        return f"no file of its weights is named; {name}=FILE names it"
    return "" if Path(given[name]).is_file() else f"there is no file {given[name]}"


if __name__ == "__main__":
    sys.exit(answered(main))
