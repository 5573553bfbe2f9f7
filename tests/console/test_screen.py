import io

import pytest

from scarf_lightning.console.screen import WIDTH_WITHOUT_TERMINAL, screen
from scarf_lightning.console.tables import cell_table, describe, sweep_table
from tests.cells import some_record


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow terminal, and nobody who asks for colours in a file."""
    monkeypatch.setenv("COLUMNS", "20")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_terminal_a_line_is_wide_enough_for_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", written := io.StringIO())

    screen().print("x" * (WIDTH_WITHOUT_TERMINAL - 1))

    assert written.getvalue() == "x" * (WIDTH_WITHOUT_TERMINAL - 1) + "\n"


def test_a_terminal_keeps_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes a terminal of anything
    monkeypatch.setattr("sys.stdout", io.StringIO())

    assert screen().width == 20


def test_standard_error_has_a_screen_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen(stderr=True).print("wrong")
    screen().print("right")

    assert capsys.readouterr() == ("right\n", "wrong\n")


def test_a_table_in_a_file_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", written := io.StringIO())

    screen().print(cell_table(some_record(range(2)).rows))

    assert "0.5050" in written.getvalue()
    assert "\x1b" not in written.getvalue()


HOSTILE = "[/red] [bold]x[/] :smile: \x1b[31m\x00"
SHOWN = r"[/red] [bold]x[/] :smile: \x1b[31m\x00"


def test_names_are_shown_to_the_letter_in_sentences_and_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", written := io.StringIO())
    row = {"dataset": HOSTILE, "regime": "full"}

    screen().print(describe(row))
    screen().print(sweep_table([(row, []), (row | {"dataset": "other"}, [])]))

    sentence, *table = written.getvalue().splitlines()
    assert sentence == f"dataset={SHOWN}, regime=full"
    assert any(SHOWN in line for line in table)
    assert "\x1b" not in written.getvalue()
