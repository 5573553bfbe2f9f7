"""The section of a report on the columns that kept networks use."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.cli import kept_networks
from scarf_lightning.estimators.importance import importance_of_cell
from scarf_lightning.report.blocks import Section, Table
from tests.storing import stored, write_csv

TRAINED = ("trials=3", "pretrain=none", "finetune.max_epochs=30")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A table whose label depends on one column."""
    random = np.random.default_rng(4)
    features = pd.DataFrame({"size": random.normal(size=200), "noise": random.normal(size=200)})
    labels = pd.Series(np.where(features["size"] > 0, "yes", "no"))
    return write_csv(tmp_path_factory.mktemp("table"), features, labels)


def text_of(folder: Path) -> str:
    written = scarf_lightning.report(results=folder / "results", out=folder / "page")
    return written.index.read_text(encoding="utf-8")


def test_each_cell_with_networks_has_its_columns(data: list[str], tmp_path: Path) -> None:
    store = stored(tmp_path / "results", *data, *TRAINED, "keep_weights=true")
    stored(tmp_path / "results", *data, "trials=3", "pretrain=scarf")

    text = text_of(tmp_path)

    assert "Which columns kept networks use" in text
    assert "it uses size." in text
    (file,) = (tmp_path / "page" / "tables").glob("kept-networks-*-importance.csv")
    assert file.stem == f"kept-networks-{store.folder.name}-importance"
    mine, theirs = pd.read_csv(file), importance_of_cell(store.folder).frame
    np.testing.assert_allclose(mine["difference"], theirs["difference"])
    # The cell has the name that it has on the rest of the page, and not that of its table.
    assert set(mine["competitor"]) == {"no pre-training, fine-tuning max epochs 30"}
    meanings = pd.read_csv(file.parent / "meanings-of-columns.csv")
    assert not meanings["meaning"].isna().any()


def test_without_kept_networks_there_is_no_section(data: list[str], tmp_path: Path) -> None:
    stored(tmp_path / "results", *data, "trials=3", "pretrain=none")

    assert "kept networks" not in text_of(tmp_path)


def test_data_that_have_changed_become_a_warning(data: list[str], tmp_path: Path) -> None:
    mine = write_csv(tmp_path, pd.DataFrame({"a": np.arange(60) % 7}), pd.Series(["u", "v"] * 30))
    stored(tmp_path / "results", *mine, *TRAINED, "keep_weights=true")
    write_csv(tmp_path, pd.DataFrame({"a": np.arange(61) % 7}), pd.Series(["u", "v"] * 30 + ["u"]))

    written = scarf_lightning.report(results=tmp_path / "results", out=tmp_path / "page")

    assert any("the columns that its networks use cannot be shown." in note for note in written.notes)


def test_many_cells_are_named_and_not_shown(data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pretrain in ("none", "scarf"):
        stored(tmp_path / "results", *data, "trials=3", f"pretrain={pretrain}", "keep_weights=true")
    monkeypatch.setattr(kept_networks, "MOST_CELLS", 1)
    found: list[Section | None] = []
    made = kept_networks.kept_networks_section
    monkeypatch.setattr(
        "scarf_lightning.cli.reporting.kept_networks_section",
        lambda *arguments: found.append(made(*arguments)) or found[0],
    )

    text = text_of(tmp_path)

    (section,) = found
    assert section is not None
    assert sum(isinstance(block, Table) for block in section.blocks) == 1
    assert "Not shown, to keep the page short: " in text
