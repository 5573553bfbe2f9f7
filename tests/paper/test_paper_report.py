"""The section that puts our cells beside the paper's."""

from pathlib import Path

import pandas as pd
import pytest

from paper.published import UNSCALED_IN_PAPER, published_accuracy
from paper.report import Competitor, defaults_of, paper_cells, paper_section
from scarf_lightning.reporting.blocks import Picture, Section, Table
from scarf_lightning.reporting.cell_results import CellResults, cells_of_folder, read_results
from scarf_lightning.results import CellStore, Row, columns
from tests.cells import identity_of, some_record
from tests.composing import CONF, yaml
from tests.reporting.store import described, fill_store, some_competitor


def defaults(results: CellResults) -> dict[Competitor, Row]:
    return defaults_of(results, lambda overrides: dict(columns(some_competitor(*overrides))))


def table_named(section: Section | None, name: str) -> Table:
    assert section is not None
    (found,) = [block for block in section.blocks if isinstance(block, Table) and block.name == name]
    return found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[CellResults, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("results")
    values = fill_store(folder, datasets=3, trials=3, pretrains=("none", "scarf"))
    return read_results(cells_of_folder(folder)[0]), values


def test_the_paper_scales_all_datasets_but_those_whose_files_say_so() -> None:
    files = {file: yaml(file) for file in (CONF / "dataset").glob("cc18-*.yaml")}
    unscaled = {content["dataset"]["id"] for content in files.values() if "scaling" in str(content.get("defaults", ""))}

    assert unscaled == set(UNSCALED_IN_PAPER)


def test_the_cells_with_the_papers_settings_are_compared(filled: tuple[CellResults, pd.DataFrame]) -> None:
    results, values = filled

    section = paper_section(results, defaults(results))

    cells = table_named(section, "paper-agreement-cells")
    shown = {(row[1].text, row[3].text): row for row in cells.rows}
    means = values.groupby(["dataset_id", "pretrain"])["accuracy"].mean()
    published = published_accuracy().set_index(["regime", "dataset_id", "pretrain", "method"])["accuracy"]
    assert len(shown) == 6
    for (dataset, pretrain), mean in means.items():  # type: ignore[misc]
        row = shown[str(dataset), pretrain]
        paper = published["full", dataset, pretrain, "control"]
        assert row[5].text == f"{100 * mean:.2f}"
        assert row[7].sort == pytest.approx(100 * paper)
        assert row[8].sort == pytest.approx(100 * (mean - paper))
    assert section is not None
    assert isinstance(section.blocks[0], Picture)
    assert "on 6 cells: mean difference" in section.blocks[0].caption
    # Our gains stand beside its first table.
    wide = values.pivot_table(index="dataset_id", columns="pretrain", values="accuracy").groupby("dataset_id").mean()
    (row,) = table_named(section, "paper-gains").rows
    assert [entry.text for entry in row[:4]] == ["full", "scarf", "control", "+2.35"]
    assert row[6].sort == pytest.approx((100 * (wide["scarf"] / wide["none"] - 1)).mean())
    assert row[7].text == "3"


def leave(results: Path, *overrides: str, id: int, data: str = "a" * 64) -> CellResults:
    """Results of the folder once a cell with SCARF and these options is in it."""
    config = some_competitor("pretrain=scarf", *overrides)
    store = CellStore(results, identity_of(config, data))
    store.describe(dataset=f"d{id}", dataset_id=id, source="", **described(config))
    store.add(some_record(range(2)))
    return read_results(cells_of_folder(results)[0])


def test_cells_with_other_settings_or_data_are_not(tmp_path: Path) -> None:
    other = leave(tmp_path, "corruption.rate=0.3", id=11)
    assert paper_section(other, defaults(other)) is None
    for override in ("seed=1", "scaling=none", "finetune.patience=5"):
        leave(tmp_path, override, id=11)
    leave(tmp_path, id=11)
    leave(tmp_path, id=12345, data="b" * 64)
    leave(tmp_path, "scaling=none", id=4134, data="c" * 64)
    results = leave(tmp_path, id=4134, data="c" * 64)

    chosen = paper_cells(results, defaults(results))

    columns = ["dataset_id", "scaling", "corruption.rate", "seed"]
    assert sorted(chosen[columns].to_numpy().tolist()) == [[11, "zscore", 0.6, 0], [4134, "none", 0.6, 0]]
