"""The order of a question: all columns permuted, then those that are open left out; what is untried counts."""

from collections.abc import Sequence

import pytest

from scarf_lightning.importance.asked import Task
from scarf_lightning.importance.asking import Asked, ask, changed_verdict, open_tasks, permuted_verdicts
from tests.importance.answers import Known, a_question

SIZE, BOTH = ("size",), ("size", "copy")
BOTH_NEED_SIZE = {
    ("permuted", "no pre-training", SIZE): 0.3,
    ("permuted", "SCARF", SIZE): 0.2,
    ("permuted", "SCARF", BOTH): 0.4,
    ("left out of pre-training", "SCARF", SIZE): 0.3,
}


@pytest.fixture(scope="module")
def answered() -> tuple[Known, Asked]:
    """The measurements and the answers of a question that nobody changes."""
    known = Known.of(BOTH_NEED_SIZE)
    return known, ask(known, known.launch)


def test_columns_that_are_settled_are_not_left_out_and_the_most_important_come_first(
    answered: tuple[Known, Asked],
) -> None:
    known, found = answered

    assert known.done[:2] == [Task("permuted", 0), Task("permuted", 1)]
    ways = [("left out", 0), ("left out", 1), ("left out of pre-training", 1), ("left out of corruption", 1)]
    # The group is the fourth unit, and SCARF misses it more than either misses the first column.
    assert [tuple(task) for task in known.done[2:]] == [(*way, 3) for way in ways] + [(*way, 0) for way in ways]
    assert (found.settled, found.untried, found.groups) == (["copy", "noise"], [], [["size", "copy"]])
    # Every planned training counts: four units in four ways, of which eight are done and eight are left.
    assert found.importance.n_untried == 8
    assert len(found.importance.verdicts) == 4 * 3 + 8


def test_what_is_not_measured_is_untried() -> None:
    known = Known.of(BOTH_NEED_SIZE)

    def launch(tasks: Sequence[Task]) -> None:
        known.launch([task for task in tasks if task.unit != 0])

    found = ask(known, launch)

    assert found.untried == ["size"]
    assert found.importance.n_untried == 12
    assert found.importance.helping("left out of pre-training") == []
    # There is no verdict without a measurement.
    unmeasured = Known.of({})
    assert permuted_verdicts(unmeasured) == []
    assert changed_verdict(unmeasured, Task("left out", 0, 0)) is None


def test_answers_are_those_of_the_rows(answered: tuple[Known, Asked]) -> None:
    frame = answered[1].importance.frame.set_index(["way", "competitor", "columns"])

    for way, competitor, column, answer in (
        ("permuted", "no pre-training", "size", "helps"),
        ("permuted", "SCARF", "noise", "no practical difference"),
        ("left out of pre-training", "SCARF", "size", "helps"),
        ("left out", "SCARF", "size", "no practical difference"),
    ):
        assert frame.loc[(way, competitor, column), "answer"] == answer
    assert frame.loc[("permuted", "no pre-training", "size"), "difference"] == pytest.approx(0.3 * 0.9, abs=0.05)


def test_beyond_the_labels_is_the_difference_of_differences(answered: tuple[Known, Asked]) -> None:
    by_way = {}
    for each in permuted_verdicts(answered[0]):
        by_way[each.way, each.competitor, each.columns] = each.verdict.difference

    one, other = by_way["permuted", "SCARF", SIZE], by_way["permuted", "no pre-training", SIZE]
    assert by_way["beyond the labels", "SCARF", SIZE] == pytest.approx(one - other)
    assert one < other
    assert ("beyond the labels", "no pre-training", SIZE) not in by_way
    # Values without a largest one are not subtracted.
    known = Known.of({}, a_question("log_loss"))
    known.launch(known.question.permuting)
    assert {each.way for each in permuted_verdicts(known)} == {"permuted"}


def test_nothing_is_open_where_nothing_makes_a_difference() -> None:
    known = Known.of({})

    found = ask(known, known.launch)

    assert open_tasks(known.question, found.importance) == []
    assert found.settled == ["size", "copy", "noise"]
