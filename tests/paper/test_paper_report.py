from pathlib import Path

import pandas as pd
import pytest

from paper.published import UNSCALED_IN_PAPER, published_accuracy
from paper.report import Competitor, defaults_of, paper_cells, paper_section
from scarf_lightning.report.blocks import Picture, Section, Table
from scarf_lightning.report.loading import CellResults, cells_of_folder, read_results
from scarf_lightning.results import CellStore, Row, columns, identity
from tests.cells import some_record
from tests.composing import CONF, config_of, yaml
from tests.report.store import described, fill_store


def defaults(results: CellResults) -> dict[Competitor, Row]:
    return defaults_of(results, lambda overrides: columns(config_of(*overrides)))


def table_named(section: Section | None, name: str) -> Table:
    assert section is not None
    (found,) = [block for block in section.blocks if isinstance(block, Table) and block.name == name]
    return found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    results = tmp_path_factory.mktemp("results")
    return results, fill_store(results, datasets=5, trials=3, pretrains=("none", "scarf"))


def test_the_paper_scales_all_datasets_but_those_whose_files_say_so() -> None:
    files = {file: yaml(file) for file in (CONF / "dataset").glob("cc18-*.yaml")}
    unscaled = {content["dataset"]["id"] for content in files.values() if "scaling" in str(content.get("defaults", ""))}

    assert unscaled == set(UNSCALED_IN_PAPER)


def test_the_cells_with_the_papers_settings_are_compared(filled: tuple[Path, pd.DataFrame]) -> None:
    results, values = filled
    results = read_results(cells_of_folder(results)[0])

    section = paper_section(results, defaults(results))

    cells = table_named(section, "paper-agreement-cells")
    shown = {(row[1].text, row[3].text): row for row in cells.rows}
    means = values.groupby(["dataset_id", "pretrain"])["accuracy"].mean()
    published = published_accuracy().set_index(["regime", "dataset_id", "pretrain", "method"])["accuracy"]
    assert len(shown) == 10
    for (dataset, pretrain), mean in means.items():  # type: ignore[misc]
        row = shown[str(dataset), pretrain]
        paper = published["full", dataset, pretrain, "control"]
        assert row[5].text == f"{100 * mean:.2f}"
        assert row[7].sort == pytest.approx(100 * paper)
        assert row[8].sort == pytest.approx(100 * (mean - paper))
    assert section is not None
    assert isinstance(section.blocks[0], Picture)
    assert "on 10 cells: mean difference" in section.blocks[0].caption


def test_our_gains_stand_beside_its_first_table(filled: tuple[Path, pd.DataFrame]) -> None:
    results, values = filled
    results = read_results(cells_of_folder(results)[0])
    means = values.pivot_table(index="dataset_id", columns="pretrain", values="accuracy")
    gain = (100 * (means["scarf"] / means["none"] - 1)).mean()

    (row,) = table_named(paper_section(results, defaults(results)), "paper-gains").rows

    assert [entry.text for entry in row[:4]] == ["full", "scarf", "control", "+2.35"]
    assert row[6].sort == pytest.approx(gain)
    assert row[7].text == "5"


def leave(results: Path, *overrides: str, id: int, data: str = "a" * 64) -> None:
    config = config_of(*overrides)
    store = CellStore(results, identity(config, data))
    store.describe(dataset=f"d{id}", dataset_id=id, source="", **described(config))
    store.add(some_record(range(2)))


def test_cells_with_other_settings_or_data_are_not(tmp_path: Path) -> None:
    leave(tmp_path, "pretrain=scarf", id=11)
    leave(tmp_path, "pretrain=scarf", "corruption.rate=0.3", id=11)
    leave(tmp_path, "pretrain=scarf", "seed=1", id=11)
    leave(tmp_path, "pretrain=scarf", "scaling=none", id=11)
    leave(tmp_path, "pretrain=scarf", "finetune.patience=5", id=11)
    leave(tmp_path, "pretrain=scarf", id=12345, data="b" * 64)
    leave(tmp_path, "pretrain=scarf", "scaling=none", id=4134, data="c" * 64)
    leave(tmp_path, "pretrain=scarf", id=4134, data="c" * 64)
    results = read_results(cells_of_folder(tmp_path)[0])

    chosen = paper_cells(results, defaults(results))

    columns = ["dataset_id", "scaling", "corruption.rate", "seed"]
    assert sorted(chosen[columns].to_numpy().tolist()) == [[11, "zscore", 0.6, 0], [4134, "none", 0.6, 0]]


def test_an_option_that_came_after_a_cell_and_does_nothing_by_default_is_no_difference(tmp_path: Path) -> None:
    leave(tmp_path, "pretrain=scarf", id=11)
    results = read_results(cells_of_folder(tmp_path)[0])
    usual = defaults(results)
    (competitor,) = usual
    usual[competitor] |= {"finetune.of_tomorrow": "null"}

    assert len(paper_cells(results, usual)) == 1
    usual[competitor]["finetune.of_tomorrow"] = 3
    assert len(paper_cells(results, usual)) == 0


def test_without_such_cells_there_is_no_section(tmp_path: Path) -> None:
    leave(tmp_path, "pretrain=scarf", "corruption.rate=0.3", id=11)
    results = read_results(cells_of_folder(tmp_path)[0])

    assert paper_section(results, defaults(results)) is None


def test_the_dataset_at_chance_is_flagged(tmp_path: Path) -> None:
    leave(tmp_path, "pretrain=scarf", id=40923)
    leave(tmp_path, "pretrain=scarf", id=11, data="b" * 64)
    results = read_results(cells_of_folder(tmp_path)[0])

    section = paper_section(results, defaults(results))

    (summary,) = table_named(section, "paper-agreement-summary").rows
    assert [entry.text for entry in summary[3:5]] == ["1", "1"]
    flagged = {row[1].text: row[-1].text for row in table_named(section, "paper-agreement-cells").rows}
    assert flagged == {"11": "no", "40923": "yes"}


def test_of_two_data_under_one_id_the_newest_count(tmp_path: Path) -> None:
    for data in ("a" * 64, "b" * 64):
        leave(tmp_path, "pretrain=scarf", id=11, data=data)
    results = read_results(cells_of_folder(tmp_path)[0])

    section = paper_section(results, defaults(results))

    assert section is not None
    texts = [getattr(block, "text", "") for block in section.blocks]
    assert not any("two rows for one trial" in text for text in texts)
    (summary,) = table_named(section, "paper-agreement-summary").rows
    assert summary[3].text == "1"
