"""A page on agreement with the paper, in Markdown, and a CSV file of its name with the accuracies of all trials.

    python -m paper.agreement sweeps=paper/sweeps/agreement.yaml out=paper/pages/agreement.md
    python -m paper.agreement results=FOLDER [AXIS=OPTION ...] out=FILE.md

A sweep or a folder of results, narrowed by overrides, as for `report.py`. Nothing is trained.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from scarf_lightning.cli.commands import answered
from scarf_lightning.cli.report_command import command_of, gathered
from scarf_lightning.errors import UsageError, counted
from scarf_lightning.reporting.blocks import number, table
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.results import Row

from .markdown import to_markdown
from .published import AT_CHANCE_IN_PAPER, published_accuracy, published_epochs
from .readings import ARM, DEFAULT, against_default, gains_beside, reading_summary
from .report import LABEL, Competitor, defaults_of, differences

FARTHEST = 8
"""Datasets whose differences from the paper are named."""


def main(arguments: Sequence[str]) -> None:
    """Write the page that a command line asks for.

    Raises:
        UsageError: ``out`` is missing, or there is nothing to compare.
    """
    given = {key: value for key, _, value in (each.partition("=") for each in arguments) if key in ("results", "out")}
    asked = [each for each in arguments if each.partition("=")[0] not in given]
    if "out" not in given:
        raise UsageError("Name the page to write: out=FILE.md.")
    material = gathered(asked, given.get("results"))
    rows = rows_by_reading(material.results, defaults_of(material.results, material.row_of))
    write_note(rows, Path(given["out"]), command_of("-m paper.agreement", asked, dict(given)))


def rows_by_reading(results: CellResults, defaults: Mapping[Competitor, Row]) -> pd.DataFrame:
    """The trials of cells that the paper has, each with its reading: how its settings differ from the defaults.

    Columns: ``dataset_id, dataset, regime, pretrain, method, reading, trial, accuracy, finetune_epochs``. Trials that
    diverged are left out.

    Raises:
        UsageError: there is no such trial.
    """
    cells = results.cells[results.cells["dataset_id"].isin(published_accuracy()["dataset_id"].unique())]
    readings = {}
    for label, row in zip(cells.index, cells.to_dict("records"), strict=True):
        usual = defaults.get((row["regime"], row["pretrain"], row["method"]))
        if usual is not None:
            readings[label] = ", ".join(differences(row, usual)) or DEFAULT  # type: ignore[arg-type]
    chosen = cells.loc[list(readings), ["dataset_id", "dataset", *LABEL]].assign(reading=pd.Series(readings))
    columns = ["cell", "trial", "accuracy", "finetune_epochs"]
    rows = results.trials[columns].dropna(subset=["accuracy"]).join(chosen, on="cell", how="inner")
    if rows.empty:
        raise UsageError("No finished trial belongs to a cell that the paper has; there is nothing to compare.")
    return rows.drop(columns="cell").astype({"dataset_id": int})


def note(rows: pd.DataFrame, command: str) -> str:
    """The note: accuracies, gains and their regression by reading and regime, readings against the default, every cell.

    Args:
        rows: as `rows_by_reading` returns them.
        command: the command that makes the page.
    """
    gains = gains_beside(rows[rows["dataset_id"] != AT_CHANCE_IN_PAPER], published_accuracy())
    trials = rows.groupby(["dataset_id", "regime", *ARM])["trial"].nunique()
    size = f"{counted(rows['dataset_id'].nunique(), 'dataset')}, {counted(len(trials), 'cell')}"
    parts = [
        "# Agreement with the paper",
        f"{size} of {trials.min()} to {trials.max()} trials. Gains are over control, in points of accuracy, paired by "
        "trial over the trials that both have. A reading names the options that differ from their defaults. Made by",
        "<!-- not run: needs the results of a sweep of days; tests/paper makes such a page -->\n"
        f"```console\n{command}\n```",
    ]
    if len(gains):
        levels = _levels_beside(rows)
        parts += ["## Accuracies", _level_table(levels), _epochs_table(rows), _farthest_table(levels)]
        parts += ["## Gains", _gain_table(gains)]
        if (gains["reading"] != DEFAULT).any():
            parts += ["## Against the default", _against_table(rows)]
        parts += ["## Every cell", _cell_table(rows, gains)]
    parts += ["The CSV file of the same name holds the accuracies of all trials."]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def cells_as_csv(rows: pd.DataFrame) -> str:
    """A row per cell: its mean accuracy in percent, and the accuracy of each trial, in order."""
    keys = ["dataset_id", "dataset", "regime", *ARM]
    groups = rows.sort_values("trial").groupby(keys, sort=False)["accuracy"]
    cells: pd.DataFrame = groups.agg(
        trials="count",
        mean=lambda values: round(100 * values.mean(), 4),
        accuracies=lambda values: " ".join(f"{100 * value:.4f}" for value in values),
    ).reset_index()
    published = published_accuracy().set_index(["dataset_id", *LABEL])["accuracy"]
    cells = cells.join(published.rename("paper"), on=["dataset_id", *LABEL])
    cells["paper"] = (100 * cells["paper"]).round(2)
    return str(cells.sort_values(keys, kind="stable").to_csv(index=False, lineterminator="\n"))


def write_note(rows: pd.DataFrame, path: Path, command: str) -> None:
    """Write the page, and the CSV file beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(note(rows, command), encoding="utf-8")
    path.with_suffix(".csv").write_text(cells_as_csv(rows), encoding="utf-8")


def _levels_beside(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a cell that the paper has: ``difference``, our mean accuracy less the paper's in points."""
    means = rows.groupby(["dataset_id", "dataset", "regime", *ARM])["accuracy"].mean().reset_index()
    published = published_accuracy().rename(columns={"accuracy": "paper"})
    both = means.merge(published[["dataset_id", *LABEL, "paper"]], on=["dataset_id", *LABEL])
    return both.assign(difference=100 * (both["accuracy"] - both["paper"]))


def _level_table(levels: pd.DataFrame) -> str:
    everywhere = pd.concat([levels, levels.assign(regime="all")])
    shown = everywhere.groupby([*ARM, "regime"]).agg(
        datasets=("dataset_id", "nunique"),
        difference=("difference", "mean"),
        size=("difference", lambda d: d.abs().mean()),
        largest=("difference", lambda d: d.abs().max()),
    )
    formats = {"difference": "+.2f", "size": ".2f", "largest": ".2f"}
    headings = {"difference": "ours − paper", "size": "mean size", "largest": "largest size"}
    caption = "Ours less the paper's accuracy in points: mean over datasets, mean size, largest size."
    return to_markdown(table("levels", caption, shown.reset_index(), formats, headings))


def _gain_table(gains: pd.DataFrame) -> str:
    signed = ("gain", "paper_gain", "relative_gain", "paper_relative_gain")
    plain = ("gain_absolute", "slope", "slope_se", "correlation")
    shown = reading_summary(gains).sort_index()[["datasets", "trials", *signed, *plain]].reset_index()
    return to_markdown(
        table(
            "gains",
            "Gains over control: means in points and in percent of control, the mean size of the difference between "
            "ours and the paper's, and ours regressed on the paper's.",
            shown,
            formats=dict.fromkeys(signed, "+.2f") | dict.fromkeys(plain, ".2f"),
            headings={
                "relative_gain": "gain, %", "paper_gain": "paper's gain", "paper_relative_gain": "paper's gain, %",
                "gain_absolute": "gain − paper's, size", "slope_se": "s.e.",
            },
        )
    )  # fmt: skip


def _farthest_table(levels: pd.DataFrame) -> str:
    usual = levels[levels["reading"] == DEFAULT]
    arms = usual["pretrain"].where(usual["method"] == "control", usual["method"]).replace("none", "control")
    means = usual.assign(arm=arms).pivot_table(index=["dataset_id", "dataset"], columns="arm", values="difference")
    ordered = sorted(map(str, means), key=_control_first)
    means = means[ordered]
    largest = means.drop(columns="xgboost", errors="ignore").abs().max(axis=1).nlargest(FARTHEST)
    caption = (
        "Datasets farthest from the paper: ours less its accuracy in points, the mean over regimes. Where XGBoost, "
        "which shares no line with our networks, differs alike, the data are likely not those of the paper."
    )
    shown = means.loc[largest.index].reset_index()
    return to_markdown(table("farthest", caption, shown, dict.fromkeys(ordered, "+.1f")))


def _control_first(arm: str) -> tuple[bool, bool, str]:
    """Control, pre-trainings, XGBoost."""
    return arm != "control", arm == "xgboost", arm


def _epochs_table(rows: pd.DataFrame) -> str:
    full = rows[rows["regime"] == "full"].dropna(subset=["finetune_epochs"])
    means = full.groupby(["dataset_id", *ARM])["finetune_epochs"].mean().reset_index()
    published = published_epochs().rename(columns={"epochs": "paper"})
    arm = ["dataset_id", "pretrain", "method"]
    both = means.merge(published[[*arm, "paper"]], on=arm)
    both["difference"] = both["finetune_epochs"] - both["paper"]
    shown = both.groupby(ARM, sort=False).agg(
        datasets=("paper", "count"), ours=("finetune_epochs", "mean"), paper=("paper", "mean"),
        size=("difference", lambda d: d.abs().mean()), largest=("difference", lambda d: d.abs().max()),
    ).reset_index()  # fmt: skip
    formats = dict.fromkeys(("ours", "paper", "size", "largest"), ".1f")
    headings = {"size": "difference, mean size", "largest": "largest"}
    return to_markdown(table("epochs", "Epochs of fine-tuning, all labels.", shown, formats, headings))


def _against_table(rows: pd.DataFrame) -> str:
    names = ("S", "G", "L", "gain_absolute", "level_absolute")
    found = against_default(rows[rows["dataset_id"] != AT_CHANCE_IN_PAPER], published_accuracy())
    shown = found[[*ARM, "datasets"]].copy()
    for name in names:
        shown[name] = [f"{number(a, '+.2f')} ± {b:.2f}" for a, b in zip(found[name], found[f"{name}_se"], strict=True)]
    shown["p"] = found["p"]
    return to_markdown(
        table(
            "against-the-default",
            "By how much each exceeds the default, paired by dataset, on the trials that both have, with its standard "
            "error over datasets: less than 0 is nearer to the paper. G and L are squared differences of gains and of "
            "accuracies over their squared standard errors, S is their mean; then sizes of both in points; p is "
            "one-sided, of S, not corrected.",
            shown,
            formats={"p": ".3f"},
            headings={"gain_absolute": "difference of gains", "level_absolute": "difference of accuracies"},
        )
    )


def _cell_table(rows: pd.DataFrame, gains: pd.DataFrame) -> str:
    names = rows.drop_duplicates("dataset_id").set_index("dataset_id")["dataset"]
    gains = gains.sort_values([*ARM, "dataset_id", "regime"])
    shown = gains[["dataset_id", "regime", *ARM, "trials"]].copy()
    shown.insert(1, "dataset", shown["dataset_id"].map(names))
    headings = {
        "control": "control", "paper_control": "paper's", "level": "accuracy", "paper_level": "paper's ",
        "gain": "gain", "gain_low": "low", "gain_high": "high", "paper_gain": "paper's  ",
    }  # fmt: skip
    shown = shown.join(gains[list(headings)])
    signed = [column for column in headings if column.startswith(("gain", "paper_gain"))]
    formats = dict.fromkeys(headings, ".1f") | dict.fromkeys(signed, "+.1f")
    caption = "Accuracy in percent of control and of the arm, the gain with its 95 % interval, beside the paper's."
    return to_markdown(table("cells", caption, shown, formats, headings))


if __name__ == "__main__":
    sys.exit(answered(main))
