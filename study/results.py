"""The study's results as data: a row a trial in study/third_edition/trials.parquet, or in another file.

    python -m study.results results=FOLDER [out=FILE]

It adds the finished trials of a folder to the file. Trials that the file has already, of the same dataset, labels and
competitor, are replaced, so the command may run again while the sweep goes on.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import scarf_lightning
from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError
from scarf_lightning.options.axes import OF_THE_RUN
from scarf_lightning.results import read_cell

FILE = Path(__file__).parent / "third_edition" / "trials.parquet"
KEY = ["dataset", "labels", "competitor", "trial"]
HEADLINES = ["accuracy", "rmse"]
"""A metric that every trial has: of classes the first, of numbers the second."""
MEASURED = [
    *HEADLINES, "balanced_accuracy", "auroc", "log_loss", "spearman", "r2", "one_class", "worse_than_frequencies",
    "n_label_classes", "pretrain_steps", "finetune_steps", "pretrain_seconds", "finetune_seconds", "n_train",
    "n_labels", "n_labelled", "n_test",
]  # fmt: skip
FACTS = ["rows", "columns", "categorical_share", "classes"]
"""What is known of a table."""
COLUMNS = ["dataset_id", *KEY, *MEASURED, *FACTS, "data", "fingerprint", "version"]
OF_THE_STUDY = {
    *OF_THE_RUN,
    "seed",
    "dataset",
    "split",
    "regime",
    "fit_on",
    "pretrain",
    "method",
    "network",
    "plugins",
}
"""Axes and options that the name of a competitor leaves out, or says by a label."""
OF_A_RECIPE = {"finetune.fixed_below", "network.encoder.dropout"}
"""Options that adapt a recipe to few labels."""
OF_THE_NAME = {"pretrain.rows"}
"""Options of those axes that the name of a competitor has."""
OF_SCARF = {"corruption=marginal"}
"""Choices that SCARF makes by itself, which a sweep over parts asks for again."""
NONE, SCARF = "no pre-training", "SCARF"
ALL = "all"


def main(arguments: Sequence[str]) -> None:
    """Add a folder's trials to the file.

    Raises:
        UsageError: an argument is unknown, or the folder has no finished trial of the study.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    unknown = set(given) - {"results", "out"}
    if unknown or "results" not in given:
        raise UsageError("Name the folder to take trials from: results=FOLDER, and out=FILE to write another file.")
    file = Path(given.get("out") or FILE)
    found = trials_of(Path(given["results"]))
    if found.empty:
        raise UsageError(f"{given['results']} has no finished trial with stratified splits.")
    both = merged(read(file), found) if file.exists() else found
    both.to_parquet(file, index=False, compression="zstd")
    sys.stdout.write(f"{file.name}: {len(both):,} trials, {len(found):,} of them from {given['results']}.\n")


def read(*files: Path) -> pd.DataFrame:
    """The trials of files; of one trial in two files that of the later one counts."""
    return merged(*(pd.read_parquet(file) for file in files))


def merged(*frames: pd.DataFrame) -> pd.DataFrame:
    """Frames of trials as one, each trial once: the last one given."""
    return pd.concat(frames).drop_duplicates(KEY, keep="last").sort_values(KEY, kind="stable", ignore_index=True)


def trials_of(folder: Path) -> pd.DataFrame:
    """The finished trials of a folder of results, with the columns of `COLUMNS`."""
    trials = scarf_lightning.load(folder)
    if not len(trials):
        return pd.DataFrame(columns=COLUMNS)
    is_measured = trials.reindex(columns=HEADLINES).notna().any(axis=1)
    trials = trials[(trials["split"] == "stratified") & is_measured]
    described = {name: _described(folder / name) for name in trials["fingerprint"].unique()}
    trials["rows"] = trials.reindex(columns=["n_train", "n_validation", "n_test"]).sum(axis=1)
    for column in ("columns", "categorical_share", "classes", "data", "competitor", "version"):
        trials[column] = trials["fingerprint"].map({name: facts[column] for name, facts in described.items()})
    budget = trials["regime.labels"].where(trials["regime"] == "few")
    trials["labels"] = [ALL if pd.isna(each) else str(int(each)) for each in budget]
    return trials.reindex(columns=COLUMNS)


def _described(folder: Path) -> dict[str, Any]:
    """What the description of a cell says of its table and of what competed."""
    cell = read_cell(folder).description
    if cell is None:
        raise UsageError(f"The description of the cell {folder.name} is damaged; train it again.")
    categorical = [column for column in cell["columns"] if column["categories"] is not None]
    return {
        "columns": len(cell["columns"]),
        "categorical_share": len(categorical) / len(cell["columns"]),
        "classes": len(cell["classes"]),
        "data": cell["identity"]["data"][:16],
        "version": f"{scarf_lightning.__version__}, science {cell['identity']['science']}",
        "competitor": competitor(cell["options"], cell["labels"], cell["overrides"]),
    }


def competitor(options: Mapping[str, Any], labels: Mapping[str, str], asked: Sequence[str]) -> str:
    """The name of a competitor: the labels of what it chose, and what else was asked for, such as a plugin's part.

    Args:
        options: of the cell; one that it does not use is missing.
        labels: what people call its parts.
        asked: the overrides that asked for the cell.
    """
    pretrain, method, network = (labels.get(axis, NONE) for axis in ("pretrain", "method", "network"))
    name = pretrain if options["pretrain"] != "none" else NONE
    if "network" not in options:
        name = method
    elif options["network"] != "mlp":
        name = network if name == NONE else f"{network} with {name}"
    parts = [name]
    if "network" in options and options["method"] != "control":
        parts.append(method)
    for override in asked:
        option, _, _ = override.partition("=")
        section, _, _ = option.partition(".")
        is_of_study = section in OF_THE_STUDY and option not in OF_THE_NAME
        if not is_of_study and option not in OF_A_RECIPE and override not in OF_SCARF:
            parts.append(override)
    return ", ".join([*parts, "paper's recipe"] if options["fit_on"] == "all" else parts)


if __name__ == "__main__":
    sys.exit(answered(main))
