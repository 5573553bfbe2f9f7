import pytest

from scarf_lightning.data.reading.mixtures import on_mixtures


@pytest.mark.parametrize(
    ("texts", "note"),
    [
        (["12 kg", "3 lb", "4.5kg"], "its values are numbers with the units 'kg' and 'lb'; write them in one unit"),
        (["1,200 kg", "n/a", "3 lb"], "its values are numbers with the units 'kg' and 'lb'"),
        (["12 kg", "3 kg"], None),
        (["12 kg", "3 lb", "heavy"], None),
        (["1 a", "2 b", "3 c", "4 d"], None),
        (["2024-12-31", "30.11.2024", "2024-01-02", "01.02.2024"],
         "its values are dates in several formats, such as '2024-12-31' and '30.11.2024'; write them in one"),
        (["2024-12-31", "30.11.2024", "2024-01-02"], None),
        (["R-12", "S12", "R-13", "T14"], None),
        (["2024-12-31", "2024-11-30"], None),
    ],
)  # fmt: skip
def test_several_ways_of_writing_are_named(texts: list[str], note: str | None) -> None:
    found = on_mixtures(texts)
    assert len(found) == (note is not None)
    assert not note or found[0].startswith(note)
