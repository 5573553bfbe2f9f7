"""A question: its units, its trainings, and the names of what is measured."""

from dataclasses import replace

from scarf_lightning.importance.asked import Measurement, Question, Task
from tests.importance.answers import TRIALS, Known, a_question


def test_groups_are_units_beside_their_columns() -> None:
    question = a_question()

    assert question.units == [[0], [1], [2], [0, 1]]
    assert question.labels == [("size",), ("copy",), ("noise",), ("size", "copy")]


def test_each_competitor_is_changed_as_far_as_it_can_be() -> None:
    ways = [(task.way, task.competitor) for task in a_question(groups=()).changing if task.unit == 2]

    assert ways == [
        ("left out", 0),
        ("left out", 1),
        ("left out of pre-training", 1),
        ("left out of corruption", 1),
    ]


def test_not_all_columns_are_left_out_of_training_together() -> None:
    ways = [task.way for task in a_question(groups=[[0, 1, 2]]).changing if task.unit == 3]

    assert ways == ["left out of pre-training", "left out of corruption"]


def fingerprints(question: Question) -> list[str]:
    return [question.fingerprint(task) for task in (*question.permuting, *question.changing)]


def test_names_tell_all_that_decides_the_numbers() -> None:
    question = a_question()
    first, *others = question.competitors
    names = fingerprints(question)
    assert len(set(names)) == len(names)

    more = replace(question, competitors=[replace(first, config=replace(first.config, trials=99)), *others])
    assert fingerprints(more) == names
    assert not set(fingerprints(a_question("log_loss"))) & set(names)
    precise = replace(first.config, trainer=replace(first.config.trainer, precision="bf16-mixed"))
    assert question.fingerprint(Task("left out", 0, 0)) != replace(
        question, competitors=[replace(first, config=precise), *others]
    ).fingerprint(Task("left out", 0, 0))
    # Permutations decide nothing of the trainings without columns.
    seeded = fingerprints(replace(question, seed=1))
    assert seeded[2:] == names[2:]
    assert not set(seeded[:2]) & set(names)


def test_measurements_of_other_trials_are_joined() -> None:
    known = Known.of({})
    known.launch([Task("left out", 0, 0)])
    found = known.read(Task("left out", 0, 0))
    assert found is not None
    (whole,) = found.tested
    one, two = Measurement([whole], range(TRIALS), 6.0).of([0, 1]), Measurement([whole], range(TRIALS), 6.0).of([4])

    both = one.joined(two)

    assert both.trials == [0, 1, 4]
    assert list(both.tested[0]) == [0, 1, 4]
    assert both.of([4, 5]).trials == [4]
