"""Every CSV file of a report: its numbers are those of the page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.metrics import METRICS, number
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.default_drawings import default_drawings
from scarf_lightning.reporting.drawings import read_drawings
from scarf_lightning.reporting.making import Report, make_report, write_report
from scarf_lightning.reporting.report_options import ReportOptions
from tests.reporting.cell_results import a_cell, over_labels, results_of
from tests.reporting.shown import entries, tables

RATE = "corruption.rate"


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


def rates() -> CellResults:
    cells = [cell(0.6 + rate / 10, dataset=d, pretrain="scarf", **{RATE: rate}) for d in "ab" for rate in (0.3, 0.6)]
    return results_of([*cells, a_cell(dataset="a", pretrain="scarf", **{RATE: 0.9})])


REPORTS: dict[str, tuple[Any, list[dict[str, Any]], str]] = {
    "over datasets": (
        over_datasets,
        [
            {"draw": "box_plot", "compare": "pretrain", "reference": "none", "panels": "method"},
            {"draw": "epochs_table", "columns": "pretrain"},
        ],
        "accuracy",
    ),
    "over labels": (budgets, [], "accuracy"),
    "rates": (rates, [{"draw": "sensitivity", "x": RATE}], "accuracy"),
    "one cell": (lambda: results_of([cell(0.8)]), [], "accuracy"),
    "an error": (lambda: results_of([cell(0.2), cell(0.1, pretrain="scarf")], metric="log_loss"), [], "log_loss"),
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name in ("over datasets", "one cell") else pytest.mark.slow) for name in REPORTS
    ],
)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    make, entries, metric = REPORTS[request.param]
    results = make()
    # Losses need a store.
    drawn = [drawing for drawing in default_drawings(results) if drawing.name != "loss_curves"]
    drawings = read_drawings([entry | {"title": "t"} for entry in entries], "mine") + drawn
    report = make_report(results, drawings, ReportOptions(metric=metric), title="t", command="")
    folder = tmp_path_factory.mktemp("report")
    # Figures take most of the time, and are tested elsewhere.
    sections = [replace(section, blocks=tables(section.blocks)) for section in report.sections]
    report = replace(report, sections=sections)
    write_report(report, folder)
    return report, folder


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, float_precision="round_trip", keep_default_na=False, na_values=[""])


@pytest.mark.slow
def test_every_file_holds_the_numbers_of_its_table(written: tuple[Report, Path]) -> None:
    report, folder = written
    written_so = {table.name: table for section in report.sections for table in tables(section.blocks)}

    files = {path.stem: read(path) for path in (folder / "tables").glob("*.csv")}

    assert set(files) == set(written_so)
    for name, table in written_so.items():
        columns = list(map(str, table.data.columns))
        assert (folder / "tables" / f"{name}.csv").read_text().splitlines()[0].split(",") == columns
        assert len(set(columns)) == len(columns), name
        for column in columns:
            its, back = table.data[column].to_numpy(), files[name][column].to_numpy()
            for one, other in zip(its, back, strict=True):
                is_missing = one is None or one is pd.NA or one != one or one == ""
                assert (other != other) if is_missing else (str(one) == str(other) or float(one) == float(other)), (
                    name,
                    column,
                )


def test_a_line_shows_the_level_and_the_difference_of_its_data_with_their_intervals(
    written: tuple[Report, Path],
) -> None:
    for shown in tables([block for section in written[0].sections for block in section.blocks]):
        if shown.name not in ("ablation", "effects"):
            continue
        (metric,) = [each for each in METRICS if each.name in shown.data]
        for (_, line), (what, level, difference, answer) in zip(shown.data.iterrows(), entries(shown), strict=True):
            assert what.startswith(line["what"])
            if not np.isnan(line[metric.name]):
                ends = [metric.shown(line[f"{metric.name}_{end}"]) for end in ("low", "high")]
                assert level in (
                    metric.shown(line[metric.name]),
                    f"{metric.shown(line[metric.name])} ({' to '.join(ends)})",
                )
            is_reference = line["answer"] == "reference"
            assert is_reference == (answer == "reference") == (difference == "–")
            if not (is_reference or metric.is_relative or np.isnan(line["low"])):
                its, low, high = (
                    number(metric.difference_scale * line[end], "+.2f") for end in ("difference", "low", "high")
                )
                assert difference == f"{its} ({low} to {high})"
