"""Cells composed by a fork: the same cells, and imports only where workers are about to train."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from scarf_lightning.cli import expanding
from scarf_lightning.cli.expanding import expanded
from scarf_lightning.cli.running import OwnTraining
from scarf_lightning.cli.show import Terminal
from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.cell import State
from scarf_lightning.sweeping.expand import ExpandedSweep, expand
from scarf_lightning.sweeping.folders import SWEEPS
from tests.composing import _composer, request_of

SWEEP = ("corruption=mean,marginal", "scaling=zscore,minmax")


@pytest.fixture
def imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An entry for each time that torch would have been imported, in a process that has not imported it."""
    made: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(expanding, "_can_help", lambda: True)
    monkeypatch.setattr(OwnTraining, "imported", lambda self: made.append("torch"))
    return made


def request(*arguments: str, launcher: str = "basic") -> ExpandedSweep:
    return expanded(arguments, _composer(), SWEEPS, launcher, Terminal())


def test_a_fork_composes_the_cells_that_this_process_would_compose(imports: list[str]) -> None:
    found = request(*SWEEP)

    assert imports == ["torch"]
    assert found == request_of(*SWEEP)
    assert [cell.key for cell in found.cells] == [cell.key for cell in request_of(*SWEEP).cells]


@pytest.mark.slow
def test_a_sweep_file_whose_blocks_have_options_of_their_own_is_composed_by_a_fork(imports: list[str]) -> None:
    assert len(request("sweeps=quick").cells) == 22
    assert imports == ["torch"]


@pytest.mark.parametrize(
    ("arguments", "launcher"),
    [
        ((*SWEEP, "plan=true"), "basic"),
        ((*SWEEP, "workers=1"), "basic"),
        (SWEEP, "joblib"),  # its processes import for themselves
        (("dataset=csv", "dataset.path=nowhere.csv", "dataset.target=kind", *SWEEP), "basic"),  # the run refuses it
    ],
    ids=["a plan", "one worker", "another launcher", "a missing file"],
)
def test_nothing_is_imported_where_no_worker_trains(
    arguments: tuple[str, ...], launcher: str, imports: list[str]
) -> None:
    assert len(request(*arguments, launcher=launcher).cells) == 4
    assert imports == []


@pytest.mark.parametrize(
    ("state", "made"), [(State.FINISHED, []), (State.WAITING, ["torch"]), (State.FAILED, ["torch"])]
)
def test_nothing_is_imported_to_show_finished_cells(
    state: State, made: list[str], imports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expanding, "look_up", lambda _: SimpleNamespace(state=state))

    request(*SWEEP)

    assert imports == made


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("corruption=margnal,mean", "corruption=margnal is not an option"),
        ("pretrain.learning_rate=-1", "pretrain.learning_rate must be"),
    ],
)
def test_a_mistake_is_answered_before_anything_is_imported(wrong: str, sentence: str, imports: list[str]) -> None:
    with pytest.raises(UsageError, match=sentence):
        request(wrong, "scaling=zscore,minmax")
    assert imports == []


def test_a_mistake_in_a_later_cell_is_said_in_the_same_words(imports: list[str]) -> None:
    asked = ("corruption=mean,marginal", "corruption.rate=0.6,1.5")
    with pytest.raises(UsageError) as expected:
        expand(asked, _composer(), SWEEPS)
    with pytest.raises(UsageError) as raised:
        request(*asked)
    assert str(raised.value) == str(expected.value)
    assert imports == ["torch"]
