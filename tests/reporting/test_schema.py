"""Every CSV file of a report: its numbers are those of the page."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.drawings import read_drawings
from scarf_lightning.reporting.making import make_report, write_report
from scarf_lightning.reporting.report_options import ReportOptions
from tests.reporting.cell_results import a_cell, over_labels, results_of


def cell(mean: float, n: int = 6, **columns: Any) -> Any:
    """A cell of six trials near this mean."""
    noise = np.random.default_rng(len(columns) + n).normal(size=6)
    return a_cell((mean + 0.02 * noise).clip(0, 1).tolist(), **columns)


def over_datasets() -> CellResults:
    means = {"none": 0.7, "scarf": 0.75, "scarf_ae": 0.72}
    return results_of([cell(m, n, dataset=f"d{n}", pretrain=p) for n in range(6) for p, m in means.items()])


def budgets() -> CellResults:
    cells = [cell(0.6, regime="few", regime__labels=n, method=m) for n in (20, 100) for m in ("logistic", "ridge")]
    return over_labels(results_of(cells))


BOX = {"draw": "box_plot", "compare": "pretrain", "reference": "none", "panels": "method"}
EPOCHS = {"draw": "epochs_table", "columns": "pretrain"}


@pytest.mark.parametrize(
    ("results", "entries"),
    [(over_datasets(), [BOX, EPOCHS]), (budgets(), []), (results_of([cell(0.8)]), [])],
    ids=["over datasets", "over labels", "one cell"],
)
@pytest.mark.slow
def test_every_file_holds_the_numbers_of_its_table(
    results: CellResults, entries: list[dict[str, Any]], tmp_path: Path
) -> None:
    drawings = read_drawings([entry | {"title": "t"} for entry in entries], "mine")
    report = make_report(results, drawings, ReportOptions("accuracy"), title="t", command="")
    write_report(report, tmp_path)

    assert sorted(path.stem for path in tmp_path.glob("tables/*.csv")) == sorted(report.tables)
    for name, table in report.tables.items():
        of_text = {"fingerprint": str, "dataset": str}
        read = pd.read_csv(tmp_path / "tables" / f"{name}.csv", float_precision="round_trip", dtype=of_text)
        assert len(set(read)) == len(read.columns)
        written = table.data.reset_index(drop=True).fillna("").astype(str)
        pd.testing.assert_frame_equal(read.fillna("").astype(str), written, check_dtype=False)
