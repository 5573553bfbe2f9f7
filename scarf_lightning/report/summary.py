"""The answer in words: what each pre-training adds."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..errors import UsageError
from .drawings.gains import FILTER
from .options import Options
from .reading import Material
from .sections import Block, Paragraph, Section, counted
from .selecting import as_list, distinguishing, labels, scored, select
from .statistics import gain_table, rank_competitors, reference_win_matrix, relative_gains
from .tables import number, table

IN_WORDS = {
    "scarf": "SCARF",
    "scarf_ae": "SCARF AE",
    "no_noise_ae": "no-noise AE",
    "add_noise_ae": "additive-noise AE",
    "scarf_disc": "discriminative SCARF",
}
REGIMES = {"full": "All labels", "noise30": "30 % of labels redrawn", "semi25": "25 % labelled"}
MOST_SENTENCES = 10


def summary_section(material: Material, drawings: Sequence[dict[str, Any]], options: Options) -> Section:
    """Wins, losses and ties of every pre-training against none, or else who ranks best in each win matrix."""
    blocks: list[Block] = []
    pairs = against_none(material)
    if len(pairs):
        tally = pretraining_tally(material, pairs, options)
        control = tally[tally["method"] == "control"]
        told = (control if len(control) else tally).head(MOST_SENTENCES)
        blocks += [Paragraph(sentence(row)) for row in told.astype(object).to_dict("records")]  # type: ignore[arg-type]
        blocks.append(
            table(
                "summary",
                f"Every pre-training against none ({options.in_words}); mean gain in percent over the datasets with "
                f"p < {FILTER:.2f}, and over all",
                tally.drop(columns=["regime", "method", "pretrain"]),
                formats={"kept_mean": "+.2f", "mean": "+.2f", "median": "+.2f"},
                headings={
                    "undecided": "without a test",
                    "kept_mean": f"mean gain, p < {FILTER:.2f}",
                    "kept_datasets": "of datasets",
                    "mean": "mean gain, all",
                    "median": "median gain, all",
                    "datasets": "of all",
                },
            )
        )
    else:
        matrices = [drawing for drawing in drawings if drawing["draw"] == "win_matrix"]
        blocks += [Paragraph(_best(material, drawing)) for drawing in matrices]
    if not blocks:
        blocks = [Paragraph("These cells compare no pre-training with none, and no settings with each other.")]
    return Section("summary", "In words", blocks)


def against_none(material: Material) -> pd.DataFrame:
    """Cells with a pre-training, beside those that differ from them by having none.

    Returns:
        A row a pair of cells: ``cell, reference``, labels of `Material.cells`; ``context``, what both share and the
        cells of a dataset differ in; ``setting``, the pre-training and what it alone differs in; ``regime, method,
        pretrain``.
    """
    cells = material.cells
    pairs = []
    options = [column for column in material.axes if column not in ("dataset", "pretrain")]
    for method, of_method in cells.groupby("method", sort=False):
        without = of_method[of_method["pretrain"] == "none"]
        with_one = of_method[of_method["pretrain"] != "none"]
        if without.empty or with_one.empty:
            continue
        shared = [column for column in options if without[column].notna().any()]
        keys = ["dataset", *shared]
        reference = {tuple(row): label for label, row in zip(without.index, without[keys].to_numpy(), strict=True)}
        told = ["regime", "method"]
        contexts = labels(with_one, [*told, *distinguishing(without, shared, beyond=told)])
        settings = _settings(with_one, [column for column in options if column not in shared])
        for label, key in zip(with_one.index, with_one[keys].to_numpy(), strict=True):
            if tuple(key) in reference:
                row = with_one.loc[label]
                pairs.append(
                    (
                        label,
                        reference[tuple(key)],
                        contexts[label],
                        settings[label],
                        row["regime"],
                        method,
                        row["pretrain"],
                    )
                )
    return pd.DataFrame(pairs, columns=["cell", "reference", "context", "setting", "regime", "method", "pretrain"])


def pretraining_tally(material: Material, pairs: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Datasets won, lost and tied, and mean gains, a row a pre-training in its context; see `summary_section`."""
    names = pd.concat(
        [
            pd.Series((pairs["context"] + " / " + pairs["setting"]).to_numpy(), index=pairs["cell"]),
            pd.Series((pairs["context"] + " / none").to_numpy(), index=pairs["reference"]),
        ]
    )
    names = names[~names.index.duplicated()]
    rows = material.rows[material.rows["cell"].isin(names.index)]
    unfinished = names.index.difference(rows["cell"].unique().tolist())
    rows = pd.concat([rows, pd.DataFrame({"cell": unfinished, "trial": 0})])
    scores = pd.DataFrame(
        {
            "dataset": rows["cell"].map(material.cells["dataset"]),
            "competitor": rows["cell"].map(names),
            "trial": rows["trial"],
            "value": rows["accuracy"],
        }
    )
    if scores["value"].isna().all():
        raise UsageError("None of these cells has a finished trial.")
    groups = pairs.drop_duplicates(["context", "setting"])
    grid = {
        (context, setting): (f"{context} / {setting}", f"{context} / none")
        for context, setting in groups[["context", "setting"]].itertuples(index=False)
    }
    matrix = reference_win_matrix(scores, grid, test=options.test, alpha=options.alpha, adjust=options.adjust)
    gains = gain_table(relative_gains(scores, grid, alpha=FILTER, test=options.test))
    asked = pairs.groupby(["context", "setting"]).size()
    found = []
    for context, setting, regime, method, pretrain in groups[
        ["context", "setting", "regime", "method", "pretrain"]
    ].itertuples(index=False):
        wins, losses, ties = (int(m.loc[context, setting]) for m in (matrix.wins, matrix.losses, matrix.ties))
        found.append(
            {"context": context, "setting": setting, "regime": regime, "method": method, "pretrain": pretrain}
            | {"wins": wins, "losses": losses, "ties": ties}
            | {"undecided": int(asked[context, setting]) - wins - losses - ties}
            | gains.loc[(context, setting), ["kept_mean", "kept_datasets", "mean", "median", "datasets"]].to_dict()
        )
    tally = pd.DataFrame(found)
    return tally.astype({"kept_datasets": int, "datasets": int})


def sentence(row: dict[str, Any]) -> str:
    """One row of the tally in words."""
    method, setting = row["method"], row["setting"]
    name = setting.replace(row["pretrain"], IN_WORDS.get(row["pretrain"], row["pretrain"]), 1)
    what = f"{name} beats control" if method == "control" else f"{name} before {method} beats {method} alone"
    tested = row["wins"] + row["losses"] + row["ties"]
    context = row["context"].replace(f" + {method}", "", 1)
    for name, meaning in REGIMES.items():
        context = context.replace(name, meaning, 1) if context.startswith(name) else context
    words = f"{context}: {what} on {row['wins']} of {counted(tested, 'dataset')}, "
    words += f"loses on {row['losses']}, ties on {row['ties']}"
    if row["undecided"]:
        words += f" ({row['undecided']} without two finished trials of each)"
    if row["datasets"]:
        words += f"; mean gain {number(row['mean'], '+.2f')} % over {_all(row['datasets'])}"
        if row["kept_datasets"]:
            words += f", {number(row['kept_mean'], '+.2f')} % over the {row['kept_datasets']} with p < {FILTER:.2f}"
    return words + "."


def _all(datasets: int) -> str:
    return "the one dataset" if datasets == 1 else f"all {datasets} datasets"


def _settings(cells: pd.DataFrame, columns: list[str]) -> "pd.Series[str]":
    """A pre-training, with the options in which cells of the same one differ."""
    named = cells["pretrain"].astype(object)
    for _, same in cells.groupby("pretrain", sort=False):
        for column in distinguishing(same, columns):
            part = [
                f", {column}={value:g}" if isinstance(value, float) else f", {column}={value}" for value in same[column]
            ]
            named = named.where(
                ~named.index.isin(same.index), named + pd.Series(part, index=same.index).reindex(named.index)
            )
    return named


def _best(material: Material, drawing: dict[str, Any]) -> str:
    """Who ranks best in a win matrix, in words."""
    columns = as_list(drawing["compare"])
    try:
        found = scored(material, select(material, drawing.get("where")), columns)
        ranking = rank_competitors(found.scores, found.competitors)
    except UsageError as error:
        return f"{drawing['title']}: {error}"
    best, rank = ranking.mean_ranks.index[0], ranking.mean_ranks.iloc[0]
    return (
        f"{drawing['title']}: {' + '.join(columns)} {best} ranks best of {len(ranking.mean_ranks)}, {rank:.2f} on "
        f"average over {counted(len(ranking.ranks), 'dataset')}."
    )
