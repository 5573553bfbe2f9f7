"""The file of looks: what a crash leaves, and folders that cannot be written."""

from pathlib import Path

from scarf_lightning.results import keep_looks, read_looks
from scarf_lightning.results.kept_looks import FILE


def test_looks_are_read_in_the_order_in_which_they_were_taken(tmp_path: Path) -> None:
    assert read_looks(tmp_path) == []

    assert keep_looks(tmp_path, [{"trials": 5}, {"trials": 10}])
    assert keep_looks(tmp_path, [{"trials": 20}])
    assert keep_looks(tmp_path, [])

    assert [look["trials"] for look in read_looks(tmp_path)] == [5, 10, 20]


def test_a_line_that_a_crash_has_cut_costs_no_other_look(tmp_path: Path) -> None:
    keep_looks(tmp_path, [{"trials": 5}])
    with (tmp_path / FILE).open("a") as file:
        file.write('{"trials": 1')

    keep_looks(tmp_path, [{"trials": 20}])
    with (tmp_path / FILE).open("ab") as file:
        file.write(b"\xff\n7\n")

    assert [look["trials"] for look in read_looks(tmp_path)] == [5, 20]


def test_a_folder_that_is_gone_remembers_nothing_and_says_so(tmp_path: Path) -> None:
    assert not keep_looks(tmp_path / "gone", [{"trials": 5}])
