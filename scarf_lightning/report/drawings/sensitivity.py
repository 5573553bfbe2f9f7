"""How much the value of an option matters."""

from typing import Any

import pandas as pd
from scipy import special

from ...errors import UsageError
from ..figures import sensitivity_line
from ..options import Options
from ..reading import Material
from ..sections import Block, Paragraph, Picture, counted, named
from ..selecting import need, select
from ..statistics import cell_means
from ..tables import table


def sensitivity_blocks(material: Material, drawing: dict[str, Any], options: Options, name: str) -> list[Block]:
    """The mean over datasets of accuracy relative to the best setting of each."""
    x = str(drawing["x"])
    need(material, [x])
    cells = select(material, drawing.get("where"))
    values = cells[x].dropna()
    if not all(isinstance(value, int | float) for value in values):
        raise UsageError(f"{x} has values that are not numbers: {named([str(v) for v in values.unique()])}.")
    rows = material.rows[material.rows["cell"].isin(values.index)]
    if rows.empty:
        raise UsageError("None of these cells has a finished trial.")
    trials = pd.DataFrame(
        {"dataset": rows["cell"].map(cells["dataset"]), "x": rows["cell"].map(values), "accuracy": rows["accuracy"]}
    )
    means = cell_means(trials, by=("dataset", "x")).pivot_table(index="dataset", columns="x", values="mean")
    complete = means.dropna()
    if complete.empty or len(means.columns) < 2:
        raise UsageError(f"No dataset has finished trials of every value of {x}, of two or more.")
    relative = relative_to_best(complete)
    blocks: list[Block] = [
        Picture(
            name,
            sensitivity_line(relative, x_title=x),
            alt=f"Accuracy relative to the best {x}: "
            + ", ".join(f"{row.x:g}: {row.mean:.2f} %" for row in relative.itertuples(index=False))
            + ".",
            caption=f"Accuracy in percent of that of each dataset's best {x}, mean over "
            f"{counted(len(complete), 'dataset')} with its 95 % interval where there are two or more.",
        )
    ]
    if len(complete) < cells["dataset"].nunique():
        left_out = [str(d) for d in dict.fromkeys(cells["dataset"]) if d not in complete.index]
        blocks.append(Paragraph(f"Without trials of every {x}, and left out: {named(left_out)}.", warns=True))
    heading = {"x": x, "mean": "mean, % of the best"}
    formats = {"x": "g", "mean": ".2f", "low": ".2f", "high": ".2f"}
    blocks.append(table(name, f"Accuracy relative to the best {x} of each dataset", relative, formats, heading))
    return blocks


def relative_to_best(means: pd.DataFrame) -> pd.DataFrame:
    """Mean over datasets of 100 m / max m, with its 95 % t interval.

    Args:
        means: accuracies, ``(datasets, values of x)``, none missing.

    Returns:
        A row a value: ``x, mean, low, high, datasets``; one dataset has no interval.
    """
    percent = 100 * means.div(means.max(axis=1), axis=0)
    n = len(percent)
    half = special.stdtrit(n - 1, 0.975) * percent.sem() if n > 1 else percent.iloc[0] * float("nan")
    mean = percent.mean()
    return pd.DataFrame(
        {
            "x": [float(value) for value in mean.index],
            "mean": mean.to_numpy(),
            "low": (mean - half).to_numpy(),
            "high": (mean + half).to_numpy(),
            "datasets": n,
        }
    )
