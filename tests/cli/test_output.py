"""Files that commands write where their user says."""

from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.cli.output import escape_formulas, write_output
from scarf_lightning.errors import UsageError


def write(path: Path) -> None:
    path.write_text("ours")


def write_on_a_full_disk(path: Path) -> None:
    path.write_text("ou")
    raise OSError(28, "No space left on device")


def test_a_file_that_is_there_is_replaced_by_force_alone(tmp_path: Path) -> None:
    file = tmp_path / "precious.csv"
    file.write_text("theirs")
    with pytest.raises(UsageError, match=r"precious\.csv is there already; .* by --force"):
        write_output(file, write, force=False)
    assert file.read_text() == "theirs"
    write_output(file, write, force=True)
    assert file.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_comes_while_ours_is_written_stays(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"

    def slowly(path: Path) -> None:
        write(path)
        file.write_text("theirs")

    with pytest.raises(UsageError, match="is there already"):
        write_output(file, slowly, force=False)
    assert file.read_text() == "theirs"


@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_written_through_a_link_or_in_place_of_a_folder(tmp_path: Path, force: bool) -> None:
    (tmp_path / "precious.csv").write_text("theirs")
    (tmp_path / "link.csv").symlink_to("precious.csv")
    (tmp_path / "nowhere.csv").symlink_to("missing.csv")
    (tmp_path / "folder.csv").mkdir()
    for name, sentence in (("link.csv", "is a link"), ("nowhere.csv", "is a link"), ("folder.csv", "is no file")):
        with pytest.raises(UsageError, match=sentence):
            write_output(tmp_path / name, write, force=force)
    assert (tmp_path / "precious.csv").read_text() == "theirs"
    assert not (tmp_path / "missing.csv").exists()


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    with pytest.raises(UsageError, match="No space left on device"):
        write_output(file, write_on_a_full_disk, force=False)
    assert list(tmp_path.iterdir()) == []
    file.write_text("theirs")
    with pytest.raises(UsageError, match="No space left on device"):
        write_output(file, write_on_a_full_disk, force=True)
    assert file.read_text() == "theirs"


def test_texts_that_are_formulas_get_a_quote_and_numbers_none() -> None:
    frame = pd.DataFrame({"=a": ["@SUM(1)", "plain", None], "b": [-1.5, 2.0, None]})
    quoted = escape_formulas(frame)
    assert list(quoted.columns) == ["'=a", "b"]
    assert quoted["'=a"].tolist()[:2] == ["'@SUM(1)", "plain"]
    assert quoted["'=a"].isna().tolist() == [False, False, True]
    assert quoted["b"].tolist()[:2] == [-1.5, 2.0]
