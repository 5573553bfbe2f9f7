"""What a run says at its end."""

from dataclasses import replace
from pathlib import Path

import pytest

from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from scarf_lightning.reporting.answers import answer_in_words, answers_of_run, check_reference
from scarf_lightning.results import columns
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.compose import Composer
from scarf_lightning.sweeping.expand import ExpandedSweep, expand
from scarf_lightning.sweeping.folders import SweepFile
from tests.cells import finish, results_in, some_cell, some_config

USUAL = columns(some_config())


def cells(folder: Path, trials: int = 10) -> list[Cell]:
    place = results_in(folder)
    return [some_cell(f"pretrain={name}", pretrain=name, paths=place, trials=trials) for name in ("none", "scarf")]


def said(asked: list[Cell]) -> list[str]:
    request = ExpandedSweep(asked, arguments=("pretrain=none,scarf", "trials=4"), usual=USUAL)
    return answer_in_words(answers_of_run(request, survey(asked)))


def test_a_run_that_compares_something_ends_with_the_answer(tmp_path: Path) -> None:
    asked = cells(tmp_path)
    for cell, first in zip(asked, (0.5, 0.8), strict=True):
        finish(cell, first=first)

    sentence, *_ = said(asked)

    assert sentence.startswith("On wdbc, beside pretrain=none: pretrain=scarf helps, +30.00 points of accuracy (95 %: ")


def test_what_two_trials_leave_open_comes_with_the_trials_that_answer(tmp_path: Path) -> None:
    asked = cells(tmp_path, trials=2)
    finish(asked[0])
    finish(asked[1], first=0.8)

    headline, *_, trials = said(asked)

    assert headline.startswith("On wdbc, beside pretrain=none: pretrain=scarf undecided, +30.00 ")
    assert trials == "10 trials answer: the same command with trials=10."


def test_a_run_that_compares_nothing_or_whose_trials_all_diverged_says_nothing(tmp_path: Path) -> None:
    asked = cells(tmp_path / "compares nothing")
    assert said(asked) == []
    finish(asked[0])
    assert said(asked) == []
    diverged = cells(tmp_path / "diverged")
    for cell in diverged:
        finish(cell, accuracy=None, diverged="finetune")
    assert said(diverged) == []


@pytest.mark.parametrize(
    ("asked", "paper", "chosen"),
    [
        ((None, None), None, "balanced_accuracy"),
        ((None, None), "Figure 3", "accuracy"),
        (("auroc", "auroc"), "Figure 3", "auroc"),
        (("auroc", "log_loss"), None, "balanced_accuracy"),
    ],
)
def test_the_metric_is_that_of_all_cells_or_of_the_target_and_of_the_papers_sweeps(
    asked: tuple[str | None, ...], paper: str | None, chosen: str, tmp_path: Path
) -> None:
    """One of the classes is rare, and the paper measures by accuracy however rare it is."""
    wanted = cells(tmp_path)
    for cell, metric in zip(wanted, asked, strict=True):
        finish(cell)
        cell.config = replace(cell.config, metric=metric)
        survey([cell])
        cell.stored.description |= Classes(("a", "b"), 0.05).plain()
    sweep = SweepFile("mine", "title", [{"pretrain": ["none"]}], paper=paper)

    assert answers_of_run(ExpandedSweep(wanted, sweep, usual=USUAL), wanted).options.measure.name == chosen


@pytest.mark.slow
def test_a_reference_that_is_no_competitor_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = "title: x\ntrials: 3\ncells: [{pretrain: scarf}, {loss: barlow_twins}, {pretrain: vime}]\n"
    (tmp_path / "mine.yaml").write_text(blocks, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def cells(reference: str) -> list[Cell]:
        arguments = ["sweeps=mine.yaml", f"reference={reference}"]
        return expand(arguments, Composer()).cells

    with pytest.raises(UsageError, match=r"reference=scraf is no competitor .*'pretrain=scarf, loss=infonce'"):
        check_reference(cells("scraf"))
    check_reference(cells("scarf"))
    check_reference(cells("'pretrain=scarf, loss=infonce'"))
