from pathlib import Path

import pytest

from scarf_lightning.data.sources.formats import LOOKED_AT, TextFormat, text_format


def found(folder: Path, content: str, name: str = "t.csv", encoding: str = "utf-8") -> TextFormat:
    path = folder / name
    path.write_bytes(content.encode(encoding))
    return text_format(path, separator=None, decimal=None, encoding=None)


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ('a;"b;c"\n1;"x,y"\n', ";"),
        ("\ufeffa;b\n1;2\n", ";"),
        ("a;b\n1;2\n\n3;4\n", ";"),
        ("a\n1\n", ","),
        ("a;b\n1;2;3\n", ","),
        ("a;b,c\n1;2,3\n", ","),
        ("a;b|c\n1;2|3\n", ","),
        ("", ","),
    ],
)
def test_the_separator_that_parts_the_rows_equally(tmp_path: Path, content: str, separator: str) -> None:
    assert found(tmp_path, content).separator == separator


def test_a_line_that_the_look_cuts_in_two_is_not_looked_at(tmp_path: Path) -> None:
    content = "a;b;c\n" + "1;2;3\n" * (LOOKED_AT // 6)
    assert len(content) > LOOKED_AT
    assert found(tmp_path, content).separator == ";"


def test_tabs_by_name(tmp_path: Path) -> None:
    assert found(tmp_path, "a,b\n1,2\n", "t.tsv").separator == "\t"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "utf-8"])
def test_utf_16_is_known_by_its_mark(tmp_path: Path, encoding: str) -> None:
    content = "\ufeffa;b\n1;2\n" if encoding == "utf-16-le" else "a;b\n1;2\n"
    seen = found(tmp_path, content, encoding=encoding)
    assert seen == TextFormat(";", None, "utf-16" if "16" in encoding else None)


def test_what_is_given_is_taken(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n")
    given = text_format(tmp_path / "t.csv", separator=";", decimal=",", encoding="cp1252")
    assert given.options() == {"sep": ";", "decimal": ",", "encoding": "cp1252"}
