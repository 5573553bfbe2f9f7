"""A user's own metric is stored, shown, logged and reported like ours."""

from pathlib import Path

import pytest

from scarf_lightning.cli.tables import cell_table
from scarf_lightning.loggers.view import cell_view
from scarf_lightning.metrics import Metric, metric_named, register
from scarf_lightning.reporting.cell_results import cells_of_folder, narrowed, read_results
from scarf_lightning.reporting.drawings import read_drawings
from scarf_lightning.reporting.making import make_report
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.results import CellStore, identity, load
from tests.cells import some_config, some_record
from tests.reporting.store import described


def test_a_plugins_metric_is_everywhere(tmp_path: Path) -> None:
    register(Metric("worst", "worst loss", False, (0.0, 10.0), lambda p, y: float(p.min())))
    fingerprints = {}
    for pretrain, first in (("none", 5.0), ("scarf", 1.0)):
        config = some_config(pretrain=pretrain)
        store = CellStore(tmp_path, identity(config, "0" * 64))
        store.describe(dataset="wdbc", dataset_id=1510, source="somewhere", **described(config))
        record = some_record(range(10), pretrained=pretrain != "none")
        for row in record.rows:
            row["worst"] = first + row["trial"] / 100  # type: ignore[index]
        store.add(record)
        fingerprints[pretrain] = store.fingerprint

    table = load(tmp_path)
    assert table.groupby("pretrain")["worst"].mean().round(3).to_dict() == {"none": 5.045, "scarf": 1.045}
    assert cell_view(fingerprints["scarf"], tmp_path, group="g").summary["worst"] == pytest.approx(1.045)
    scarf = read_results(narrowed(cells_of_folder(tmp_path)[0], ["pretrain=scarf"]))
    assert "worst loss" in list(cell_table(scarf, metric_named("worst")).columns[0].cells)
    drawings = read_drawings([{"draw": "win_matrix", "title": "t", "compare": "pretrain"}], "mine")
    results, options = read_results(cells_of_folder(tmp_path)[0]), ReportOptions(metric="worst")
    report = make_report(results, drawings, options, title="t", command="")
    assert report.answer[0].startswith(
        "On wdbc, beside pretrain=none: pretrain=scarf helps, worst loss −4.0000 (95 %: "
    )
    assert report.sections[1].blocks
