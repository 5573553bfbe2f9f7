"""Measurements on the disk: they are read as they were, by their own question alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from scarf_lightning.importance.asked import Measurement, Question, Task
from scarf_lightning.importance.kept import Kept, write
from tests.importance.answers import TRIALS, Known, a_question

PERMUTED, LEFT_OUT = Task("permuted", 0), Task("left out", 1, 2)


@dataclass(frozen=True)
class Counted(Question):
    """A question whose measurements cost nothing; its trainings are counted in a file."""

    def measure(self, task: Task, trials: Sequence[int]) -> Measurement:
        known = Known.of({(task.way, "no pre-training", ("copy",)): 0.4}, self)
        known.launch([task])
        whole = known.read(task)
        assert whole is not None
        return replace(whole.of(trials), seconds=float(len(trials)))


def kept(folder: Path, trials: int = TRIALS) -> Kept:
    question = a_question()
    competitors = [replace(each, config=replace(each.config, trials=trials)) for each in question.competitors]
    return Kept(Counted(competitors, question.groups), folder)


@pytest.mark.parametrize("task", [PERMUTED, LEFT_OUT])
def test_a_measurement_is_read_as_it_was(task: Task, tmp_path: Path) -> None:
    its = kept(tmp_path)
    assert its.read(task) is None

    its.add(task)

    found, made = kept(tmp_path).read(task), its.question.measure(task, list(range(TRIALS)))
    assert found is not None
    assert (list(found.trials), found.seconds, len(found.tested)) == (list(made.trials), 6.0, len(made.tested))
    for mine, other in zip(found.tested, made.tested, strict=True):
        for trial, rows in other.items():
            for name in ("rows", "values", "added", "codes", "one_class"):
                np.testing.assert_array_equal(getattr(mine[trial], name), getattr(rows, name))


def test_more_trials_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    kept(tmp_path, 2).add(LEFT_OUT)

    more = kept(tmp_path, 5)
    assert more.missing(LEFT_OUT) == [2, 3, 4]
    more.add(LEFT_OUT)

    found = more.read(LEFT_OUT)
    assert found is not None
    assert (list(found.trials), found.seconds_a_trial) == ([0, 1, 2, 3, 4], 1.0)
    # Fewer trials are those of a question that never asked for more.
    fewer = kept(tmp_path, 2).read(LEFT_OUT)
    assert fewer is not None
    assert list(fewer.tested[0]) == [0, 1]


def test_rows_without_a_number_are_left_out_again(tmp_path: Path) -> None:
    its = kept(tmp_path)
    its.add(PERMUTED)
    found = its.read(PERMUTED)
    assert found is not None
    tested = [dict(each) for each in found.tested]
    del tested[1][3]
    write(its.path(PERMUTED), replace(found, tested=tested))

    again = its.read(PERMUTED)
    assert again is not None
    assert [len(each) for each in again.tested] == [6, 5, 6, 6, 6]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half a file"])
def test_a_damaged_file_is_measured_again(content: bytes, tmp_path: Path) -> None:
    its = kept(tmp_path)
    its.add(LEFT_OUT)
    its.path(LEFT_OUT).write_bytes(content)

    assert its.missing(LEFT_OUT) == list(range(TRIALS))
    its.add(LEFT_OUT)
    assert its.missing(LEFT_OUT) == []
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".npz"]
