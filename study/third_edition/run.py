"""The trainings of the third edition: `python -m study.third_edition.run`.

    python -m study.third_edition.run openml=CACHE [results=FOLDER] [kept=FILE] [trials=5] [workers=N]
                                      [only=few,...] [tabpfn=FILE] [tabicl=FILE]

copies the tables and trains the sweeps of `SWEEPS`, a few tables at a time: those of classes, then those of numbers,
small ones first. After each few it adds their trials to ``kept``, a file of `study.results`. A table whose trials are
all in that file is left out, so the same command resumes, also on a machine that has the file and not the results.
TabPFN and TabICL are trained where their packages are installed and the file of their weights is named, and else
skipped with a sentence.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError
from study import results
from study.packaged import ROOT
from study.results import NONE, SCARF
from study.third_edition.learnt import CONSTANT
from study.third_edition.tables import FOLDER, copy_all, tables

NETWORKS = (NONE, SCARF, "VIME", "SCARF AE", "binning", f"{SCARF}, corruption.rate=0.3")
RIVALS = ("random forest", "XGBoost", "CatBoost", CONSTANT)
REALMLP = ("RealMLP", f"RealMLP with {SCARF}")
BY_ROWS = {n: f"{SCARF}, pretrain.rows={n}" for n in (20, 200, 2000)}
"""SCARF whose pre-training learns from some of the training rows, by their number."""
SWEEPS = {
    "few": (*NETWORKS, "logistic regression", *RIVALS),
    "frozen": (f"{SCARF}, probe",),
    "rows": tuple(BY_ROWS.values()),
    "realmlp": REALMLP,
    "few_numbers": (*NETWORKS, "ridge regression", *RIVALS),
    "realmlp_numbers": REALMLP,
}
"""Files of this folder, with the names that `study.results` gives to their competitors."""
FOUNDATION = "foundation"
ESTIMATORS = {"tabpfn": "tabpfn.TabPFNClassifier", "tabicl": "tabicl.TabICLClassifier"}
RESULTS = "results/third_edition"
FACTS = Path(__file__).with_name("tables.csv")
TRIALS = 5
OPENML_PREFIX = "cc18-"
"""The beginning of a dataset option that its name in results lacks."""
AT_ONCE = 6
"""Tables that are trained before their trials are kept."""
LARGE = 20_000
"""Rows from which on a table is trained alone: one takes twenty minutes of two cores and more."""
OPTIONS = {"openml", "results", "kept", "trials", "workers", "only", *ESTIMATORS}
MISTAKE, STOPPED = 2, 128
"""The exit status of a mistake in a command, and the largest of one that no signal ended."""


def main(arguments: Sequence[str]) -> int:
    """Train the tables that are left, and return the largest exit status of the trainings.

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
    folder, kept = given.get("results", RESULTS), Path(given.get("kept", results.FILE))
    trainings = trainings_of(given, only)
    worst = 0
    for chunk in chunks():
        asked = 0
        known = pd.read_parquet(kept, columns=results.KEY) if kept.exists() else pd.DataFrame(columns=results.KEY)
        for sweep, words in trainings:
            left = unfinished(chunk, sweep, int(trials), known)
            if not left:
                continue
            command = [*words, f"sweeps={narrowed(sweep, left)}", f"trials={trials}"]
            status = subprocess.run(command, cwd=ROOT, check=False).returncode
            if status == MISTAKE or status < 0 or status > STOPPED:
                return abs(status)
            worst = max(worst, status)
            asked += 1
        if asked:
            results.main([f"results={ROOT / folder}", f"out={kept}"])
    return worst


def chunks() -> Iterator[list[str]]:
    """The dataset options of the study, as many at once as are trained before their trials are kept.

    Those of classes come first, and small tables before large ones; those of `LARGE` rows are alone.
    """
    facts = pd.read_csv(FACTS, keep_default_na=False)
    facts = facts[facts["left_out"] == ""].sort_values(["kind", "rows"], kind="stable")
    for _, of_kind in facts.groupby("kind"):
        is_large = of_kind["rows"] >= LARGE
        small = list(of_kind["table"][~is_large])
        for start in range(0, len(small), AT_ONCE):
            yield small[start : start + AT_ONCE]
        for name in of_kind["table"][is_large]:
            yield [name]


def unfinished(chunk: Sequence[str], sweep: str, trials: int, known: pd.DataFrame) -> list[str]:
    """The dataset options of those tables of a sweep that miss a trial among the known ones, see `results.KEY`."""
    first = sweep_of(sweep)["cells"][0]
    chosen = [name for name in chunk if name in first["dataset"]]
    if sweep == FOUNDATION:
        return chosen
    budgets = [str(labels) for labels in np.atleast_1d(first["regime.labels"])]
    is_asked = known["competitor"].isin(SWEEPS[sweep]) & known["labels"].isin(budgets) & (known["trial"] < trials)
    counts = known[is_asked]["dataset"].value_counts()
    whole = len(SWEEPS[sweep]) * len(budgets) * trials
    return [name for name in chosen if counts.get(name.removeprefix(OPENML_PREFIX), 0) < whole]


def narrowed(sweep: str, names: Sequence[str]) -> Path:
    """A copy of a sweep's file with some of its tables only."""
    content = sweep_of(sweep)
    for block in content["cells"]:
        block["dataset"] = list(names)
    file = FOLDER / "left" / f"{sweep}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return file


def sweep_of(name: str) -> dict[str, Any]:
    """The content of a sweep's file, with its merges made."""
    content: dict[str, Any] = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
    return content


def trainings_of(given: dict[str, str], only: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The sweeps, each with the command that trains it but for its tables and trials."""
    common = [
        sys.executable,
        "train.py",
        "--config-dir",
        str(FOLDER),
        f"paths.openml={Path(given['openml']).resolve()}",
        f"paths.results={given.get('results', RESULTS)}",
    ]
    if "workers" in given:
        common.append(f"workers={given['workers']}")
    commands: list[tuple[str, list[str]]] = []
    for sweep in only:
        if sweep != FOUNDATION:
            commands.append((sweep, common))
            continue
        for name, estimator in ESTIMATORS.items():
            why = why_skipped(name, given)
            if why:
                sys.stdout.write(f"{estimator} is skipped: {why}.\n")
            else:
                options = f"method.options={{model_path:{Path(given[name]).resolve()},device:cpu}}"
                commands.append((sweep, [*common, f"method.estimator={estimator}", options]))
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
