from scarf_lightning.data.columns import Advice, about

TEXT = Advice("it holds names", "dataset.text", ["first", "last"], "reads them as text")


def test_each_surface_words_the_option_as_its_users_set_it() -> None:
    """A note about a column names the column and keeps its advice."""
    commas = Advice("its commas part thousands", "dataset.decimal", ",", "reads them as decimal")
    note = about("name", TEXT)
    assert isinstance(note, Advice)
    start = "Column 'name': it holds names; "
    for advice, command_line, in_python in (
        (
            note,
            f"{start}dataset.text=[first,last] reads",
            f"{start}options={{'dataset.text': ['first', 'last']}} reads",
        ),
        (commas, "; \"dataset.decimal=','\" reads", "; options={'dataset.decimal': ','} reads"),
    ):
        assert command_line in str(advice)
        assert in_python in advice.in_python
    assert about("name", "it is odd") == "Column 'name': it is odd."
