"""The note on the agreement with the paper."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from paper.agreement import rows_by_reading, write_note
from paper.published import published_accuracy
from scarf_lightning.reporting.cell_results import CellResults, cells_of_folder, read_results
from scarf_lightning.results import CellStore
from tests.cells import identity_of, some_record
from tests.paper.test_paper_report import defaults
from tests.reporting.store import described, some_competitor

LONG = "pretrain.validate_every=10"


def leave(results: Path, *overrides: str, id: int, first: float) -> None:
    config = some_competitor(*overrides)
    store = CellStore(results, identity_of(config, f"{id:064}"))
    store.describe(dataset=f"d{id}", dataset_id=id, source="", **described(config))
    store.add(some_record(range(3), first=first, pretrained=config.pretrain.name != "none"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> CellResults:
    folder = tmp_path_factory.mktemp("results")
    for id in (11, 28):
        scaling = ["scaling=none"] if id == 28 else []
        leave(folder, "pretrain=none", *scaling, id=id, first=0.5)
        leave(folder, "pretrain=scarf", *scaling, id=id, first=0.6)
        leave(folder, "pretrain=scarf", LONG, *scaling, id=id, first=0.62)
    return read_results(cells_of_folder(folder)[0])


def test_the_note_and_its_accuracies(found: CellResults, tmp_path: Path) -> None:
    path = tmp_path / "docs" / "agreement.md"

    write_note(rows_by_reading(found, defaults(found)), path, "python report.py results=results")

    text = path.read_text()
    assert "2 datasets, 6 cells of 3 to 3 trials." in text
    assert "```console\npython report.py results=results\n```" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| 11 | d11 | full") and "validate" in line]
    paper = published_accuracy().set_index(["dataset_id", "regime", "pretrain", "method"])["accuracy"] * 100
    papers = [paper[11, "full", pretrain, "control"] for pretrain in ("none", "scarf")]
    numbers = [entry.strip().replace("−", "-") for entry in line.split("|")[7:-1]]
    expected = [3, 51, papers[0], 63, papers[1], 12, 12, 12, papers[1] - papers[0]]
    np.testing.assert_allclose([float(number) for number in numbers], expected, atol=0.0501)
    (line,) = [line for line in text.splitlines() if line.startswith("| 28 | d28 | ") and "full" not in line]
    regimes = [[51 - paper[28, "full", "none", "control"], 61 - paper[28, "full", "scarf", "control"]]]
    shown = [float(entry.replace("−", "-")) for entry in line.split("|")[3:-1]]
    np.testing.assert_allclose(shown, np.mean(regimes, axis=0), atol=0.0501)
    cells = pd.read_csv(path.with_suffix(".csv"))
    assert len(cells) == 6
    assert cells.loc[cells["reading"] == LONG, "accuracies"].unique().tolist() == ["62.0000 63.0000 64.0000"]
