"""The section "Beside the paper" of a report: cells with the paper's settings beside its published numbers.

python report.py results=results sections=[paper.report]
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scarf_lightning.errors import UsageError, counted
from scarf_lightning.reporting.blocks import Block, Paragraph, Picture, Section, number, table
from scarf_lightning.reporting.cell_results import NOT_AXES, CellResults
from scarf_lightning.reporting.drawings.over_tables import FILTER
from scarf_lightning.reporting.making import RowOf
from scarf_lightning.reporting.style import COLUMN, GREY, PAGE, colour, marker, new_figure, styled
from scarf_lightning.results import Row
from scarf_lightning.verdicts import gain_table, relative_gains

from .comparison import agreement, agreement_summary
from .published import (
    AT_CHANCE_IN_PAPER,
    UNSCALED_IN_PAPER,
    published_accuracy,
    published_epochs,
    published_relative_gains,
)

Competitor = tuple[str, str, str]
"""Regime, pretrain, method."""

LABEL = ["regime", "pretrain", "method"]
DIGITS = {
    "ours": ".2f", "s.e.": ".2f", "paper": ".2f", "difference": "+.2f", "low": "+.2f", "high": "+.2f",
    "our gain": "+.2f", "its gain": "+.2f", "our epochs": ".1f", "its epochs": ".1f",
}  # fmt: skip


def report_section(results: CellResults, row_of: RowOf) -> Section | None:
    """The section that `scarf_lightning.report(sections=["paper.report"])` adds."""
    return paper_section(results, defaults_of(results, row_of))


def defaults_of(results: CellResults, row_of: RowOf) -> dict[Competitor, Row]:
    """The axis columns that the configuration gives each published competitor by default."""
    return {
        (regime, pretrain, method): row_of((f"regime={regime}", f"pretrain={pretrain}", f"method={method}"))
        for regime, pretrain, method in published_competitors(results)
    }


def published_competitors(results: CellResults) -> list[Competitor]:
    """The competitors that both the finished cells and the paper's tables have."""
    gains = published_relative_gains()[LABEL]
    over = gains.assign(pretrain="none")
    known = pd.concat([published_accuracy()[LABEL], gains, over]).drop_duplicates()
    published = set(known.itertuples(index=False, name=None))
    here = results.cells.loc[results.cells["finished"] > 0, LABEL].drop_duplicates().itertuples(index=False, name=None)
    return [competitor for competitor in here if competitor in published]


def paper_cells(results: CellResults, defaults: Mapping[Competitor, Row]) -> pd.DataFrame:
    """The cells on the paper's datasets that have its settings.

    Args:
        results: what there is.
        defaults: for each competitor, the axis columns that the configuration has by default.
    """
    cells = results.cells[results.cells["dataset_id"].isin(published_accuracy()["dataset_id"].unique())]

    def is_the_papers(row: Row) -> bool:
        usual = defaults.get((row["regime"], row["pretrain"], row["method"]))
        if usual is None:
            return False
        return not differences(row, usual)

    chosen = [is_the_papers(row) for row in cells.to_dict("records")]  # type: ignore[arg-type]
    return cells[pd.Series(chosen, index=cells.index, dtype=bool)]


def differences(row: Row, usual: Row) -> list[str]:
    """The settings in which a cell differs from the defaults, as ``option=value``; an unused option is ``null``."""
    ours, expected = _settings(row), _on_dataset(_settings(usual), row)
    found = []
    for option in dict.fromkeys([*ours, *expected]):
        # A record lacks an option that was added after it, and an option that does nothing by default is null.
        value = ours.get(option, "null")
        if value != expected.get(option, "null"):
            found.append(f"{option}={value}")
    return found


def paper_section(results: CellResults, defaults: Mapping[Competitor, Row]) -> Section | None:
    """Our numbers beside the paper's; None if no cell has its settings and a trial that did not diverge."""
    cells = paper_cells(results, defaults)
    rows = results.trials.dropna(subset=["accuracy"]).join(cells[["dataset_id", *LABEL]], on="cell", how="inner")
    if rows.empty:
        return None
    rows["dataset_id"] = rows["dataset_id"].astype(int)
    rows["dataset"] = rows["cell"].map(cells["dataset"])
    blocks: list[Block] = []
    try:
        found = agreement(rows, published_accuracy(), published_epochs())
    except UsageError as error:
        return Section("paper", "Beside the paper", [Paragraph(f"Not compared: {error}", warns=True)])
    printed = found[found["published"].notna()]
    if len(printed):
        printed = printed.assign(competitor=printed["pretrain"] + " + " + printed["method"])
        overall = agreement_summary(printed, by=())
        blocks = [_picture(printed, overall), _summary_table(printed), _cell_table(printed, rows)]
        if printed["at_chance"].any():
            blocks.append(
                Paragraph(
                    f"Dataset {AT_CHANCE_IN_PAPER}: all six published networks are at chance there, and a network that "
                    "trains will not be. The summary leaves its networks out."
                )
            )
    blocks += _gains(rows)
    return Section("paper", "Beside the paper", blocks) if blocks else None


def _picture(printed: pd.DataFrame, overall: pd.DataFrame) -> Picture:
    row = overall.iloc[0]
    words = f"mean difference {number(100 * row['mean_difference'], '+.2f')} points, mean absolute difference "
    words += f"{100 * row['mean_absolute_difference']:.2f}"
    words += f", rank correlation {row['spearman']:.3f}" if pd.notna(row["spearman"]) else ""
    return Picture(
        "paper-agreement",
        agreement_scatter(printed),
        alt=f"Scatter of our accuracies over the paper's: {words}.",
        caption=f"Ours beside the paper's accuracy on {counted(int(row['cells']), 'cell')}: {words}. Bars are 95 % "
        "intervals of our means; the paper prints none of its own.",
    )


def _summary_table(printed: pd.DataFrame) -> Block:
    summary = agreement_summary(printed).reset_index()
    for column in ("mean_difference", "mean_absolute_difference", "inside"):
        summary[column] *= 100
    return table(
        "paper-agreement-summary",
        "Agreement with the paper: differences in points, intervals of ours that hold the paper's number in percent, "
        "rank correlations of accuracies and of gains over no pre-training",
        summary,
        formats={
            "mean_difference": "+.2f", "mean_absolute_difference": ".2f", "inside": ".0f", "spearman": ".3f",
            "gain_spearman": ".3f", "mean_epochs_difference": "+.1f",
        },
        headings={"inside": "inside, %"},
    )  # fmt: skip


def _cell_table(printed: pd.DataFrame, rows: pd.DataFrame) -> Block:
    names = rows.drop_duplicates("dataset_id").set_index("dataset_id")["dataset"]
    points = {"mean": "ours", "standard_error": "s.e.", "published": "paper"}
    shown = printed[["dataset_id", *LABEL]].copy()
    shown.insert(0, "dataset", shown["dataset_id"].map(names))
    for column, heading in (points | {"difference": "difference", "low": "low", "high": "high"}).items():
        shown[heading] = 100 * printed[column]
    shown["trials"] = printed["trials"]
    for column, heading in (("gain", "our gain"), ("published_gain", "its gain")):
        shown[heading] = printed[column]
    for column, heading in (("epochs", "our epochs"), ("published_epochs", "its epochs")):
        shown[heading] = printed[column]
    shown["at chance"] = printed["at_chance"]
    return table(
        "paper-agreement-cells",
        "Every cell beside the paper's: accuracy in percent, difference with its 95 % interval, gain over no "
        "pre-training in percent, epochs of fine-tuning",
        shown,
        formats=DIGITS,
    )


def _gains(rows: pd.DataFrame) -> list[Block]:
    """Our average gains beside the paper's Table 1."""
    published = published_relative_gains()
    frames = []
    for regime, part in rows.groupby("regime", sort=False):
        methods = set(part.loc[part["pretrain"] == "none", "method"])
        both = part[part["method"].isin(methods) & (part["pretrain"] != "none")]
        grid: dict[Any, Any] = {}
        for method, of_method in both.groupby("method", sort=False):
            names = of_method["pretrain"].unique()
            grid |= {(method, its): (f"{its}+{method}", f"none+{method}") for its in names}
        if grid:
            scores = part.assign(competitor=part["pretrain"] + "+" + part["method"], value=part["accuracy"])
            gains = gain_table(relative_gains(scores, grid, alpha=FILTER, test="welch")).reset_index()
            frames.append(gains.rename(columns={"row": "method", "column": "pretrain"}).assign(regime=regime))
    if not frames:
        return []
    ours = pd.concat(frames).astype({"method": object, "pretrain": object})
    beside = published.merge(ours, on=LABEL)
    columns = [*LABEL, "relative_gain_percent", "kept_mean", "kept_datasets", "mean", "datasets"]
    shown = table(
        "paper-gains",
        f"Average relative gains over no pre-training in percent beside the paper's Table 1, which averages the "
        f"datasets with p < {FILTER:.2f} of its 69",
        beside[columns],
        formats={"relative_gain_percent": "+.2f", "kept_mean": "+.2f", "mean": "+.2f"},
        headings={
            "relative_gain_percent": "paper", "kept_mean": f"ours, p < {FILTER:.2f}", "kept_datasets": "of datasets",
            "mean": "ours, all", "datasets": "of all",
        },
    )  # fmt: skip
    return [shown] if len(beside) else []


def _on_dataset(settings: Row, row: Row) -> Row:
    """The paper's settings on a cell's dataset: three datasets are not scaled."""
    if row["dataset_id"] not in UNSCALED_IN_PAPER:
        return settings
    return {c: v for c, v in settings.items() if c.partition(".")[0] != "scaling"} | {"scaling": "none"}


def _settings(row: Row) -> Row:
    return {c: v for c, v in row.items() if c != "dataset" and c not in NOT_AXES and v is not None}


@styled()
def agreement_scatter(cells: pd.DataFrame) -> Figure:
    """A panel a regime: the published accuracy along x, ours with its 95 % interval along y, the difference below.

    Networks at chance in the paper are grey crosses.

    Args:
        cells: as `agreement` returns them, with ``competitor``; those that the paper prints.
    """
    regimes = list(dict.fromkeys(cells["regime"]))
    competitors = list(dict.fromkeys(cells["competitor"]))
    width = COLUMN * 1.2 if len(regimes) == 1 else PAGE
    legend_columns = 2 if len(regimes) == 1 else 4
    height = 1.4 * width / len(regimes) + 0.6 + 0.15 * len(competitors) / legend_columns
    figure, panels = new_figure(width, height, 2, len(regimes), sharex=True, sharey="row", height_ratios=(2.2, 1))
    scatters, differences = panels[: len(regimes)], panels[len(regimes) :]
    low = 100 * min(cells["mean"].min(), cells["published"].min())
    low = max(0.0, 10 * np.floor(low / 10 - 0.1))
    for axes, below, regime in zip(scatters, differences, regimes, strict=True):
        axes.plot([low, 101], [low, 101], color="black", lw=0.6, zorder=0)
        for i, competitor in enumerate(competitors):
            part = cells[(cells["regime"] == regime) & (cells["competitor"] == competitor)]
            fine, chance = part[~part["at_chance"]], part[part["at_chance"]]
            half = 100 * (fine["high"] - fine["low"]).fillna(0) / 2
            look: Any = {"fmt": marker(i), "ms": 3, "color": colour(i), "lw": 0.6, "alpha": 0.75}
            axes.errorbar(100 * fine["published"], 100 * fine["mean"], yerr=half, label=competitor, **look)
            below.errorbar(100 * fine["published"], 100 * fine["difference"], yerr=half, **look)
            axes.plot(100 * chance["published"], 100 * chance["mean"], "x", ms=4, color=GREY)
        axes.set_title(regime)
        below.axhline(0, color="black", lw=0.6, zorder=0)
        below.set_xlabel("paper, %")
        axes.set_xlim(low, 101)
        axes.set_ylim(low, 101)
    scatters[0].set_ylabel("ours, %")
    differences[0].set_ylabel("difference, points")
    handles = scatters[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=legend_columns, frameon=False)
    return figure
