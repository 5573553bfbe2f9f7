"""Tables of absolute accuracy and of fine-tuning epochs: a row a dataset."""

from typing import Any

import pandas as pd

from ..options import Options
from ..reading import Material
from ..sections import Block, Paragraph, counted, named
from ..selecting import as_list, scored, select
from ..statistics import cell_means
from ..tables import Shown, Table
from ..tables.table import NOTHING


def accuracy_blocks(material: Material, drawing: dict[str, Any], options: Options, name: str) -> list[Block]:
    """Mean test accuracy in percent with its standard error; the best of each dataset is bold."""
    return _blocks(material, drawing, name, "accuracy", 100.0, "Mean test accuracy, percent", has_best=True)


def epochs_blocks(material: Material, drawing: dict[str, Any], options: Options, name: str) -> list[Block]:
    """Mean number of fine-tuning epochs with its standard error."""
    return _blocks(material, drawing, name, "finetune_epochs", 1.0, "Mean number of fine-tuning epochs", has_best=False)


def _blocks(
    material: Material, drawing: dict[str, Any], name: str, measure: str, scale: float, what: str, *, has_best: bool
) -> list[Block]:
    columns = as_list(drawing["columns"])
    found = scored(material, select(material, drawing.get("where")), columns, measure)
    means = cell_means(found.scores, "value", by=("dataset", "competitor"))
    most = int(means["trials"].max())
    places: Any = means.itertuples(index=False)
    by_place = {(row.dataset, row.competitor): row for row in places}
    competitors = [*found.competitors, *found.empty]
    datasets = sorted(dict.fromkeys(found.scores["dataset"]))
    rows = []
    for dataset in datasets:
        cells = [by_place.get((dataset, competitor)) for competitor in competitors]
        known = [cell.mean for cell in cells if cell is not None and cell.trials]
        best = round(max(known) * scale, 2) if known and has_best else None
        rows.append((Shown(str(dataset), str(dataset)), *(_entry(cell, most, scale, best) for cell in cells)))
    missing = [f"{d} {c}" for d in datasets for c in competitors if (d, c) not in by_place or not by_place[d, c].trials]
    data = means.assign(mean=means["mean"] * scale, standard_error=means["standard_error"] * scale)
    caption = f"{what}, ± standard error, of {counted(most, 'trial')}; where there are fewer, their number in brackets"
    blocks: list[Block] = [Table(name, caption, ("dataset", *competitors), tuple(rows), data)]
    if missing:
        blocks.append(Paragraph(f"{counted(len(missing), 'cell')} without a trial: {named(missing)}.", warns=True))
    return blocks


def _entry(cell: Any, most: int, scale: float, best: float | None) -> Shown:
    if cell is None or not cell.trials:
        return Shown(NOTHING, None)
    error = "" if pd.isna(cell.standard_error) else f" ± {cell.standard_error * scale:.2f}"
    fewer = "" if cell.trials == most else f" ({cell.trials})"
    mean = float(cell.mean * scale)
    return Shown(f"{mean:.2f}{error}{fewer}", mean, best=round(mean, 2) == best)
