import pytest

from scarf_lightning.errors import did_you_mean

KNOWN = ("marginal", "mean", "gaussian", "joint")


@pytest.mark.parametrize(
    ("name", "said"),
    [("margnal", " Did you mean marginal?"), ("guassian", " Did you mean gaussian?"), ("zebra", ""), ("", "")],
)
def test_a_near_name_is_suggested_and_a_far_one_is_not(name: str, said: str) -> None:
    assert did_you_mean(name, KNOWN) == said


def test_where_there_are_no_names_nothing_is_suggested() -> None:
    assert did_you_mean("mean", []) == ""
