"""The known sizes of the paper's datasets."""

import yaml

from scarf_lightning.sweeping.folders import CONF
from scarf_lightning.sweeping.sizes import CC18, Size


def test_every_dataset_of_the_paper_has_a_size_and_no_other() -> None:
    numbers = []
    for file in (CONF / "dataset").glob("cc18-*.yaml"):
        chosen = yaml.safe_load(file.read_text(encoding="utf-8"))
        numbers.append(chosen.get("dataset", chosen)["id"])

    assert len(numbers) == 69
    assert set(numbers) == set(CC18)


def test_sizes_are_those_that_openml_publishes() -> None:
    # Of https://www.openml.org/d/1510, 40966 and 40923; the second one has columns that OpenML ignores.
    assert CC18[1510] == Size(569, 30)
    assert CC18[40966] == Size(1080, 77)
    assert CC18[40923] == Size(92_000, 1024)
