"""The section of a report on the columns that kept networks use."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.cli import kept_networks
from scarf_lightning.cli.kept_networks import kept_networks_section
from scarf_lightning.estimators.importance import importance_of_cell
from scarf_lightning.report.blocks import Paragraph, Section, Table
from scarf_lightning.report.loading import cells_of_folder, read_results
from tests.report.store import fill_store
from tests.storing import stored, write_csv


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cells with their networks, on a table whose label depends on one column."""
    folder, random = tmp_path_factory.mktemp("kept"), np.random.default_rng(4)
    features = pd.DataFrame({"size": random.normal(size=200), "noise": random.normal(size=200)})
    data = write_csv(folder, features, pd.Series(np.where(features["size"] > 0, "yes", "no")))
    for asked in (["pretrain=none", "finetune.max_epochs=30"], ["pretrain=scarf", "finetune.max_epochs=2"]):
        stored(folder / "results", *data, "trials=3", "keep_weights=true", *asked)
    return folder / "results"


def section_of(results: Path) -> Section | None:
    return kept_networks_section(read_results(*cells_of_folder(results)), "accuracy", [])


def words_of(section: Section) -> str:
    return " ".join(block.text for block in section.blocks if isinstance(block, Paragraph))


@pytest.mark.slow
def test_a_cell_with_networks_has_its_columns_and_others_are_named(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_networks, "MOST_CELLS", 1)

    section = section_of(results)

    assert section is not None
    words = words_of(section)
    assert "it uses size." in words
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    folder = results / table.name.removeprefix("kept-networks-").removesuffix("-importance")
    np.testing.assert_allclose(table.data["difference"], importance_of_cell(folder).frame["difference"])
    # A cell has the name that it has on the rest of the page, and not that of its table.
    names = {"no pre-training, fine-tuning max epochs 30", "SCARF, fine-tuning max epochs 2"}
    (name,) = set(table.data["competitor"])
    (other,) = names - {name}
    assert f"Not shown, to keep the page short: {other}." in words


@pytest.mark.slow
def test_the_section_is_on_the_page_and_its_columns_have_meanings(results: Path, tmp_path: Path) -> None:
    written = scarf_lightning.report(results=results, out=tmp_path)

    assert "Which columns kept networks use" in written.index.read_text(encoding="utf-8")
    assert len(list((tmp_path / "tables").glob("kept-networks-*-importance.csv"))) == 2
    meanings = pd.read_csv(tmp_path / "tables" / "meanings-of-columns.csv")
    assert not meanings["meaning"].isna().any()


def test_without_kept_networks_there_is_no_section(tmp_path: Path) -> None:
    fill_store(tmp_path, datasets=1, trials=3, pretrains=("none",))

    assert section_of(tmp_path) is None


def test_data_that_have_changed_become_a_warning(tmp_path: Path) -> None:
    data = write_csv(tmp_path, pd.DataFrame({"a": np.arange(60) % 7}), pd.Series(["u", "v"] * 30))
    stored(tmp_path / "results", *data, "trials=1", "pretrain=none", "keep_weights=true")
    write_csv(tmp_path, pd.DataFrame({"a": np.arange(61) % 7}), pd.Series(["u", "v"] * 30 + ["u"]))

    section = section_of(tmp_path / "results")

    assert section is not None
    (said,) = [block.text for block in section.blocks if isinstance(block, Paragraph) and block.warns]
    assert "the columns that its networks use cannot be shown." in said
