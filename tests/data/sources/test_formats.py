from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.data.sources.formats import open_file
from scarf_lightning.data.sources.text_file import LOOKED_AT, TextFile


def found(folder: Path, content: str, name: str = "t.csv", encoding: str = "utf-8") -> TextFile:
    path = folder / name
    path.write_bytes(content.encode(encoding))
    return TextFile.open(path)


def test_the_format_is_that_of_the_beginning(tmp_path: Path) -> None:
    """A line that the look cuts in two is not looked at."""
    cut = "a;b;c\n" + "1;2;3\n" * (LOOKED_AT // 6)
    beginning = "a;b\nx;" + "y" * (LOOKED_AT - 10) + "\nz"
    assert len(beginning) < LOOKED_AT < len(cut)
    for content in (cut, beginning.ljust(LOOKED_AT, "z") + ";2;3\n"):
        assert found(tmp_path, content).separator == ";"
    assert found(tmp_path, "a,b\n1,2\n", "t.tsv").separator == "\t", "tabs by name"


def test_a_header_may_be_longer_than_a_look(tmp_path: Path) -> None:
    names = [f"column {place}, in m" for place in range(LOOKED_AT // 4)]
    assert found(tmp_path, ";".join(names) + "\n" + ";".join("1" for _ in names)).names == names


def test_lines_below_a_header_without_names_are_as_long_as_any(tmp_path: Path) -> None:
    for names in (",", "a,"):
        (tmp_path / "t.csv").write_text(f"{names}\n1,\n2\n")
        file = open_file(tmp_path / "t.csv")
        assert file.odd_lines(file.read()) == []


def test_leading_zeros_far_above_a_word_stay(tmp_path: Path) -> None:
    """pandas would find the types of a few thousand rows of so wide a table at a time."""
    gap, n_rows = "," * 199, 6000
    (tmp_path / "t.csv").write_text("\n".join([f"code{gap}", *[f"01{gap}"] * n_rows, f"x{gap}"]))
    rows = open_file(tmp_path / "t.csv").read()
    assert rows.iloc[:, 0].tolist() == ["01"] * n_rows + ["x"]


@pytest.mark.parametrize(
    ("content", "encoding", "known"),
    [
        ("a;b\n1;2\n", "utf-16", "utf-16"),
        ("\ufeffa;b\n1;2\n", "utf-16-be", "utf-16"),
        ("a;b\n1;2\n", "utf-8-sig", None),
        ("a;b\nü;2\n", "utf-8", None),
        ("ä;b\nü;2\n", "cp1252", "cp1252"),
    ],
)
def test_an_encoding_is_known_by_its_mark_or_is_utf_8_or_cp1252(
    tmp_path: Path, content: str, encoding: str, known: str | None
) -> None:
    file = found(tmp_path, content, encoding=encoding)
    assert (file.encoding, file.names) == (known, content.lstrip("\ufeff").split("\n")[0].split(";"))


def test_what_is_given_is_taken(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n")
    given = {"separator": ";", "decimal": ",", "encoding": "cp1252"}
    file = TextFile.open(tmp_path / "t.csv", **given)
    assert {name: getattr(file, name) for name in given} == given
    assert not file.notes


ROWS = pd.DataFrame(
    {"city": ["Bonn", None, "Ulm"], "size": [1.5, 2.0, None], "zip": ["01067", "53111", "89073"], "n": [3, 4, 5]}
)


def written(folder: Path, ending: str) -> Path:
    """`ROWS` in a file, as pandas writes them."""
    file = folder / f"table{ending}"
    if ending.startswith(".jsonl"):
        ROWS.to_json(file, orient="records", lines=True)
    elif ending == ".feather":
        ROWS.astype({"city": "category"}).to_feather(file)
    else:
        pytest.importorskip("openpyxl", reason="the extra xlsx")
        ROWS.to_excel(file, index=False)
    return file


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".feather", ".xlsx"])
def test_other_formats_hold_the_same_rows(tmp_path: Path, ending: str) -> None:
    file = open_file(written(tmp_path, ending))
    rows = file.read()
    assert file.names == list(ROWS.columns)
    assert not isinstance(file, TextFile)
    pd.testing.assert_frame_equal(rows.astype({"city": object}), ROWS.astype({"city": object}), check_dtype=False)
    assert isinstance(rows["city"].dtype, pd.CategoricalDtype) == (ending == ".feather")


def test_keys_of_json_may_lack(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n{"b": "x", "a": 2}\n', encoding="utf-8")
    assert open_file(tmp_path / "t.jsonl").read()["b"].isna().tolist() == [True, False]
