"""Tasks of OpenML, from a cache that the test makes: the dataset, the task's target, and its splits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scarf_lightning.data.sources import open_source
from scarf_lightning.data.sources.openml import OpenMLSource
from scarf_lightning.data.splits import Stratified, Task
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Number
from scarf_lightning.errors import UsageError
from tests.data.sources.test_openml import ID, PUBLIC, ROWS, fill, home, no_network

__all__ = ["home", "no_network"]
pytestmark = pytest.mark.usefixtures("no_network")

TASK = 70
FOLDS, REPEATS = 3, 2
TASK_XML = """<oml:task xmlns:oml="http://openml.org/openml">
<oml:task_id>{task}</oml:task_id><oml:task_type_id>{kind}</oml:task_type_id><oml:task_type>a type</oml:task_type>
<oml:input name="source_data"><oml:data_set><oml:data_set_id>{dataset}</oml:data_set_id>
<oml:target_feature>{target}</oml:target_feature></oml:data_set></oml:input>
<oml:input name="estimation_procedure"><oml:estimation_procedure><oml:id>1</oml:id><oml:type>crossvalidation</oml:type>
<oml:data_splits_url>http://openml.invalid/splits.arff</oml:data_splits_url>
<oml:parameter name="number_repeats">2</oml:parameter><oml:parameter name="number_folds">3</oml:parameter>
</oml:estimation_procedure></oml:input></oml:task>
"""


def rows_of(repeat: int, fold: int) -> list[int]:
    """Test rows of a split: every third, from another place in each repetition."""
    return list(range((fold + repeat) % FOLDS, ROWS, FOLDS))


def splits() -> Iterator[str]:
    yield from ("@relation splits", "@attribute type {TRAIN,TEST}", "@attribute rowid INTEGER")
    yield from ("@attribute repeat INTEGER", "@attribute fold INTEGER", "@data")
    for repeat in range(REPEATS):
        for fold in range(FOLDS):
            for row in range(ROWS):
                yield f"{'TEST' if row in rows_of(repeat, fold) else 'TRAIN'},{row},{repeat},{fold}"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    fill(tmp_path / "cache")
    task_folder(tmp_path / "cache").mkdir(parents=True)
    describe(tmp_path / "cache")
    (task_folder(tmp_path / "cache") / "datasplits.arff").write_text("\n".join(splits()) + "\n")
    return tmp_path / "cache"


def task_folder(cache: Path) -> Path:
    return cache / PUBLIC.parents[1] / "tasks" / str(TASK)


def opened(cache: Path, split: str = "task", **given: object) -> OpenMLSource:
    named = {"split": {"name": split}, "id": None, "task": TASK}
    source = open_source("openml", name=None, openml_cache=str(cache), **named | given)
    assert isinstance(source, OpenMLSource)
    return source


def loaded(cache: Path, split: str = "task") -> Table:
    return opened(cache, split).load()


def describe(cache: Path, *, kind: int = 1, target: str = "colour") -> None:
    text = TASK_XML.format(task=TASK, kind=kind, dataset=ID, target=target)
    (task_folder(cache) / "task.xml").write_text(text)


def test_it_classifies_by_the_tasks_target(cache: Path) -> None:
    table = loaded(cache)
    assert (table.name, table.dataset_id, table.source) == ("tiny", ID, f"openml-task:{TASK}")
    assert table.target.names == ("blue", "red")  # the dataset's default is `defect`
    assert "defect" in [column.name for column in table.columns]
    assert table.n_unlabelled == 1


def test_a_trial_is_tested_on_the_rows_of_its_fold(cache: Path) -> None:
    table = loaded(cache)
    labelled = set(np.flatnonzero(table.labels >= 0).tolist())
    for trial in range(FOLDS * REPEATS):
        split = Task().split(table, np.random.default_rng(trial), trial)
        theirs = set(rows_of(*divmod(trial, FOLDS)))
        assert set(split.test.tolist()) == theirs & labelled
        assert len(split.validation) == round(0.1 * ROWS)
        assert set(split.validation.tolist()) <= labelled - theirs
        assert sorted([*split.train, *split.validation]) == sorted(set(range(ROWS)) - theirs)
    first = Task().split(table, np.random.default_rng(0))
    assert set(first.test.tolist()) <= set(rows_of(0, 0)), "without a trial the split is the first one's"
    drawn = {int(Task().split(table, np.random.default_rng(seed)).validation[0]) for seed in range(20)}
    assert len(drawn) > 1, "trials of a fold validate on rows of their own"
    said = rf"^openml-task:{TASK} has 6 splits, one for each trial; ask for trials=6 at most\.$"
    with pytest.raises(UsageError, match=said):
        Task().split(table, np.random.default_rng(0), FOLDS * REPEATS)


def test_another_split_takes_the_tasks_data_alone(cache: Path) -> None:
    table, before = loaded(cache, "stratified"), loaded(cache).hash
    assert table.split_by is None
    assert len(Stratified().split(table, np.random.default_rng(0)).test) > 0
    assert opened(cache).key == f"openml-task-{TASK}-task"
    assert opened(cache, "stratified").key == f"openml-task-{TASK}"
    file = task_folder(cache) / "datasplits.arff"
    file.write_text(file.read_text().replace("TEST,0,0,0", "TRAIN,0,0,0"))
    assert loaded(cache).hash != before, "other splits are other data"


def test_a_regression_has_a_number_to_predict(cache: Path) -> None:
    describe(cache, kind=2, target="size")
    assert loaded(cache).target == Number("size")
    assert opened(cache, target_kind="classes").load().target.name == "classes", "what is asked for goes first"


def test_a_task_that_cannot_be_used_is_refused(cache: Path) -> None:
    describe(cache, kind=5, target="size")
    with pytest.raises(UsageError, match=rf"^OpenML task {TASK} is no classification or regression; "):
        loaded(cache)
    describe(cache, target="none")
    with pytest.raises(UsageError, match="has no target 'none'"):
        loaded(cache)
    describe(cache)
    (task_folder(cache) / "datasplits.arff").write_text("<html>")
    with pytest.raises(UsageError, match=rf"^OpenML task {TASK} cannot be read"):
        loaded(cache)
