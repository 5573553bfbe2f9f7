import io
import shlex
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scarf_lightning.cli.show import cell_table, sweep_table, title
from scarf_lightning.metrics import metric_named
from scarf_lightning.screen import WIDTH_WITHOUT_TERMINAL, command_line, doing, escaped, screen, silent
from tests.reporting.cell_results import a_cell, results_of


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow terminal."""
    monkeypatch.setenv("COLUMNS", "20")


def test_a_line_is_wide_enough_for_a_table_without_a_terminal_which_keeps_its_own_width(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout", written := io.StringIO())
    screen().print("x" * (WIDTH_WITHOUT_TERMINAL - 1))
    assert written.getvalue() == "x" * (WIDTH_WITHOUT_TERMINAL - 1) + "\n"

    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes a terminal of anything
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert screen().width == 20


def test_a_pipe_gets_a_line_on_what_takes_long_and_a_silent_run_none(capsys: pytest.CaptureFixture[str]) -> None:
    with doing("importing"):
        assert capsys.readouterr() == ("", "importing ...\n")
    with silent(), doing("importing"):
        pass

    assert capsys.readouterr() == ("", "")


def test_standard_error_has_a_screen_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    screen(stderr=True).print("wrong")
    screen().print("right")

    assert capsys.readouterr() == ("right\n", "wrong\n")


ACCURACY = metric_named("accuracy")
HOSTILE = "[/red] [bold]x[/] :smile: \x1b[31m\x00"
SHOWN = r"[/red] [bold]x[/] :smile: \x1b[31m\x00"


def test_tables_in_a_file_have_no_colours_and_names_are_shown_to_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", written := io.StringIO())
    one = results_of([a_cell([0.5, 0.51], dataset=HOSTILE)])

    screen().print(title(one, ["regime"]))
    screen().print(sweep_table(results_of([a_cell(dataset=HOSTILE), a_cell([0.5])]), ACCURACY))
    screen().print(cell_table(one, ACCURACY))

    sentence, *table = written.getvalue().splitlines()
    assert sentence.startswith(f"dataset={SHOWN}, ")
    assert any(SHOWN in line for line in table)
    assert "0.5050" in written.getvalue()
    assert "\x1b" not in written.getvalue()


def test_what_is_acted_on_is_written_out() -> None:
    shown = {
        "Größe, m² of 10–20 [kg] 面積 🙂": "Größe, m² of 10–20 [kg] 面積 🙂",
        "red \x1b[31m": r"red \x1b[31m",
        "a\x00b\x07\x7f\x9b": r"a\x00b\x07\x7f\x9b",
        "two\nlines\tand a tab\r": "two\nlines\tand a tab\\r",
        "\u202egnp.exe\u2028": r"\u202egnp.exe\u2028",
        "\ud800": r"\ud800",
    }
    assert {text: escaped(text) for text in shown} == shown
    assert escaped("a\nb\tc", allowed="") == r"a\nb\tc"


@pytest.mark.slow
@settings(max_examples=15)
@given(st.text())
def test_it_is_printable_and_says_the_same_twice(text: str) -> None:
    once = escaped(text, allowed="")
    assert escaped(once, allowed="") == once
    once.encode()


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("trials=3", "trials=3"),
        ("dataset.path=my file.csv", "'dataset.path=my file.csv'"),
        ("name='$HOME'", "'name='\"'\"'$HOME'\"'\"''"),
    ],
)
def test_a_command_is_quoted_so_that_it_can_be_read_and_pasted(argument: str, shown: str) -> None:
    line = command_line("train.py", [argument])
    assert line == f"python train.py {shown}"
    assert shlex.split(line) == ["python", "train.py", argument]


def test_the_installed_command_is_named_where_one_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/scarf", "answer", "t.csv", "y"])
    assert command_line("train.py", ["trials=3"]) == "scarf train trials=3"
    assert command_line("-m paper.agreement", []) == "python -m paper.agreement"
