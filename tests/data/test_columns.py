import pytest

from scarf_lightning.data.columns import Advice, about

TEXT = Advice("it holds names", "dataset.text", ["first", "last"], "reads them as text")


@pytest.mark.parametrize(
    ("advice", "command_line", "in_python"),
    [
        (TEXT, "it holds names; dataset.text=[first,last] reads them as text.",
         "it holds names; options={'dataset.text': ['first', 'last']} reads them as text."),
        (Advice("its commas part thousands", "dataset.decimal", ",", "reads them as decimal"),
         "its commas part thousands; \"dataset.decimal=','\" reads them as decimal.",
         "its commas part thousands; options={'dataset.decimal': ','} reads them as decimal."),
    ],
)  # fmt: skip
def test_each_surface_words_the_option_as_its_users_set_it(advice: Advice, command_line: str, in_python: str) -> None:
    assert (str(advice), advice.in_python) == (command_line, in_python)


def test_a_note_about_a_column_names_the_column_and_keeps_its_advice() -> None:
    note = about("name", TEXT)
    assert isinstance(note, Advice)
    assert (
        note.in_python
        == "Column 'name': it holds names; options={'dataset.text': ['first', 'last']} reads them as text."
    )
    assert about("name", "it is odd") == "Column 'name': it is odd."
