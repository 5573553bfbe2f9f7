"""A question: its units, its trainings, and the names of what is measured."""

from dataclasses import replace

from scarf_lightning.importance.asked import Measurement, Question, Task
from tests.importance.answers import TRIALS, Known, a_question


def test_groups_are_units_beside_their_columns_and_competitors_are_changed_as_far_as_they_can_be() -> None:
    def ways(question: Question, unit: int) -> list[tuple[str, int]]:
        return [(task.way, task.competitor) for task in question.changing if task.unit == unit]

    question = a_question()
    of_pretraining = [("left out of pre-training", 1), ("left out of corruption", 1)]

    assert question.units == [[0], [1], [2], [0, 1]]
    assert question.labels == [("size",), ("copy",), ("noise",), ("size", "copy")]
    assert ways(a_question(groups=()), 2) == [("left out", 0), ("left out", 1), *of_pretraining]
    # Not all columns are left out of training together.
    assert ways(a_question(groups=[[0, 1, 2]]), 3) == of_pretraining


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
    config = replace(first.config, trainer=replace(first.config.trainer, precision="bf16-mixed"))
    precise = replace(question, competitors=[replace(first, config=config), *others])
    assert question.fingerprint(Task("left out", 0, 0)) != precise.fingerprint(Task("left out", 0, 0))
    # Permutations decide nothing of the trainings without columns.
    seeded = fingerprints(replace(question, seed=1))
    assert seeded[2:] == names[2:]
    assert not set(seeded[:2]) & set(names)


def test_measurements_of_other_trials_are_joined() -> None:
    known = Known.of({})
    known.launch([Task("left out", 0, 0)])
    found = known.read(Task("left out", 0, 0))
    assert found is not None
    whole = Measurement(found.tested, range(TRIALS), 6.0)

    both = whole.of([0, 1]).joined(whole.of([4]))

    assert both.trials == [0, 1, 4]
    assert list(both.tested[0]) == [0, 1, 4]
    assert both.of([4, 5]).trials == [4]
