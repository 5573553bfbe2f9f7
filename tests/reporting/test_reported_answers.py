"""Answers of a report and of a run: what is compared, as `compare` does it; earlier looks, and what would decide."""

import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.errors import RecordWarning, UsageError
from scarf_lightning.reporting.answers import (
    Answers,
    answer_in_words,
    answers_of,
    answers_of_run,
    check_reference,
    effects_in,
    trials_sentence,
)
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.results import columns, read_looks
from scarf_lightning.results.notes import LOOKS
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.compose import Composer
from scarf_lightning.sweeping.expand import ExpandedSweep, expand
from scarf_lightning.sweeping.folders import SweepFile
from scarf_lightning.verdicts import Effect, ErrorParts, Look, compare
from scarf_lightning.verdicts.answers import ALONE, Levels
from tests.cells import finish, results_in, some_cell, some_config
from tests.reporting.cell_results import a_cell, compared, over_labels, results_of

OPTIONS = ReportOptions("accuracy")
GAINS = (("none", 0.0), ("scarf", 0.03), ("vime", 0.005))
Cells = list[tuple[dict[str, Any], Sequence[float]]]


def values(seed: int, mean: float, trials: int = 12) -> list[float]:
    return (mean + np.random.default_rng(seed).normal(0, 0.01, trials)).tolist()


def framed(cells: Cells, **columns: str) -> pd.DataFrame:
    """The trials of cells; ``columns`` name the frame's columns and say which option each is of."""
    rows = []
    for options, of_trials in cells:
        named = {name: options[option] for name, option in columns.items()}
        rows += [named | {"trial": trial, "accuracy": value} for trial, value in enumerate(of_trials)]
    return pd.DataFrame(rows)


def evidence(found: Sequence[Effect]) -> list[tuple[Any, ...]]:
    return sorted((each.kind, each.claimed, each.needed, each.verdict.interval, each.verdict.levels) for each in found)


@pytest.mark.parametrize(("tables", "measured", "n_effects"), [(1, 1, 2), (3, 3, 6), (7, 7, 2), (6, 5, 10)])
def test_competitors_are_answered_as_compare_answers_them(tables: int, measured: int, n_effects: int) -> None:
    """A table on which fewer than two competitors have a value does not count."""
    cells: Cells = []
    for table, (place, (name, gain)) in itertools.product(range(tables), enumerate(GAINS)):
        its = values(10 * table + place, 0.8 + gain) if table < measured or name == "none" else [math.nan] * 12
        cells.append(a_cell(its, dataset=f"t{table}", pretrain=name))

    found = answers_of(results_of(cells), OPTIONS)

    frame = framed(cells, dataset="dataset", competitor="pretrain")
    assert evidence(found.effects) == evidence(compare(frame, metric="accuracy", reference="none").effects)
    assert len(found.effects) == n_effects


def test_numbers_of_labels_are_answered_and_valued_as_compare_does() -> None:
    cells: Cells = []
    for table, labels, (name, gain) in itertools.product(range(6), (20, 40, 80), GAINS):
        its = values(labels + table, 0.5 + 0.1 * np.log2(labels * (1 + 10 * gain) / 20))
        cells.append(a_cell(its, dataset=f"t{table}", regime="few", regime__labels=labels, pretrain=name))

    found = answers_of(over_labels(results_of(cells)), OPTIONS)

    frame = framed(cells, dataset="dataset", competitor="pretrain", n="regime.labels")
    expected = compare(frame, metric="accuracy", reference="none", labels="n", test_to_train=120 / 400)
    assert evidence(found.effects) == evidence(expected.effects)
    assert {worth.worth for _, worth in found.worths} == {*expected.worth_frame["worth"]} != set()


@pytest.mark.parametrize("trials", [3, 5, 10, 30])
@pytest.mark.parametrize("gain", [0.003, 0.02])
def test_a_frame_and_a_store_have_one_answer(trials: int, gain: float, tmp_path: Path) -> None:
    """Also at the first look of a store, which keeps a part of the level for later ones."""
    cells: Cells = []
    for place, (c, s) in enumerate(itertools.product(("marginal", "mean"), ("zscore", "minmax"))):
        its = values(place, 0.8 - gain * (s == "minmax"), trials)
        cells.append(a_cell(its, pretrain="scarf", corruption=c, scaling=s))
    results = results_of(cells)
    results = replace(results, folders={label: tmp_path / f"cell-{label}" for label in results.rows})
    for folder in results.folders.values():
        folder.mkdir()

    found = answers_of(results, OPTIONS)
    found.remember()

    frame = framed(cells, dataset="dataset", corruption="corruption", scaling="scaling")
    expected = compare(frame, metric="accuracy", factors=["corruption", "scaling"])
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    assert found.in_words == expected.sentences
    assert answers_of(results, OPTIONS).frame.equals(found.frame), "the same look again costs nothing"


@pytest.mark.parametrize(("metric", "other"), [("accuracy", "diabetes"), ("rmse", "iris")])
def test_datasets_that_the_metric_does_not_measure_are_named(metric: str, other: str) -> None:
    results = compared({"iris": {"none": [0.5], "scarf": [0.6]}, "diabetes": {"none": [0.5], "scarf": [0.6]}})
    kinds = {"iris": Classes(("a", "b")), "diabetes": Number("y")}
    both = replace(results, targets={n: kinds[name] for n, name in enumerate(results.cells["dataset"])})

    assert f"does not measure {other}, " in Answers(both, ReportOptions(metric), []).other_kind_note
    assert Answers(results, ReportOptions(metric), []).other_kind_note == ""


VALUES = [0.80, 0.82, 0.79, 0.81]
BETTER = [0.90, 0.92, 0.89, 0.91]
cell = partial(a_cell, VALUES)


def pairs_of(results: CellResults, reference: str | None = None) -> list[tuple[str, str, str]]:
    effects, _ = effects_in(results, ReportOptions(reference=reference))
    return [(each.what, each.reference, each.context) for each in effects if each.kind != "interaction"]


def few(labels: int, **columns: Any) -> Any:
    return a_cell(BETTER if labels == 100 else VALUES, regime="few", regime__labels=labels, **columns)


def curve_of(*methods: str) -> CellResults:
    """Cells with 20 and 100 labels that train no network of ours, but for control."""
    networks = {"control": "mlp"}
    cells = [few(n, method=method, network=networks.get(method)) for n in (20, 100) for method in methods]
    return over_labels(results_of(cells))


def test_two_methods_meet_at_each_number_of_labels() -> None:
    """More labels are not a competitor, however much they help."""
    results = curve_of("logistic", "random_forest")

    assert pairs_of(results) == [
        ("method=random_forest", "method=logistic", "20 labels"),
        ("method=random_forest", "method=logistic", "100 labels"),
    ]
    effects = answers_of(results, ReportOptions()).effects
    assert [each.labels for each in effects] == [20, 100, None]
    assert [each.verdict.difference for each in effects] == pytest.approx([0, 0, 0])


def test_numbers_of_labels_that_are_all_that_was_varied_are_compared() -> None:
    results = results_of([few(n, network="mlp") for n in (20, 100)])

    assert pairs_of(results) == [("regime.labels=100", "regime.labels=20", "")]


def test_what_makes_a_curve_over_the_number_of_labels() -> None:
    """A share of labels is a budget; a seed beside labels and redrawn labels are none."""
    results = results_of([few(n, seed=seed, method=m) for n in (20, 100) for seed in (0, 1) for m in ("a", "b")])
    assert results.competition.budgets is None
    contexts = {context for *_, context in pairs_of(results)}
    assert contexts == {f"regime.labels={n}, seed={seed}" for n in (20, 100) for seed in (0, 1)}
    assert results_of([few(20), few(20, method="a")]).competition.budgets is None, "one number of labels"

    budgets = [cell(), cell(pretrain="scarf"), cell(regime="semi25", regime__labelled=0.25)]
    assert results_of(budgets).competition.budgets == {0: float("inf"), 1: float("inf"), 2: 0.25}
    assert results_of([*budgets, cell(regime="noise30")]).competition.budgets is None
    # Regimes alone are pairs_of with the usual one.
    regimes = results_of([cell(), cell(regime="noise30")], usual={"regime": "full"})
    assert pairs_of(regimes) == [("regime=noise30", "regime=full", "")]


def test_a_method_that_is_never_pretrained_is_compared_with_the_network() -> None:
    """Each pre-training meets its own network, and the forest the one without any."""
    cells = [
        cell(network=network, pretrain=pretrain, method=method)
        for network in ("mlp", "resnet")
        for method in ("control", "mixup")
        for pretrain in ("none", "scarf")
    ]
    results = results_of([*cells, cell(network=None, method="random_forest")], usual={"network": "mlp"})

    effects, _ = effects_in(results, ReportOptions())

    assert {one.ones[0].key: one.others[0].key for one in effects} == {1: 0, 3: 2, 5: 4, 7: 6, 8: 0}


USUAL = columns(some_config())


def cells_in(folder: Path, trials: int = 10) -> list[Cell]:
    place = results_in(folder)
    return [some_cell(f"pretrain={name}", pretrain=name, paths=place, trials=trials) for name in ("none", "scarf")]


def said_of(cells: list[Cell]) -> list[str]:
    request = ExpandedSweep(cells, arguments=("pretrain=none,scarf", "trials=4"), usual=USUAL)
    return answer_in_words(answers_of_run(request, survey(cells)))


def test_a_run_that_compares_something_ends_with_the_answer(tmp_path: Path) -> None:
    cells = cells_in(tmp_path)
    for cell, first in zip(cells, (0.5, 0.8), strict=True):
        finish(cell, first=first)

    sentence, *_ = said_of(cells)

    assert sentence.startswith("On wdbc, beside pretrain=none: pretrain=scarf helps, +30.00 points of accuracy (95 %: ")


def test_what_two_trials_leave_open_comes_with_the_trials_that_answer(tmp_path: Path) -> None:
    cells = cells_in(tmp_path, trials=2)
    finish(cells[0])
    finish(cells[1], first=0.8)

    headline, *_, trials = said_of(cells)

    assert headline.startswith("On wdbc, beside pretrain=none: pretrain=scarf undecided, +30.00 ")
    assert trials == "10 trials answer: the same command with trials=10."


def test_a_run_that_compares_nothing_or_whose_trials_all_diverged_says_nothing(tmp_path: Path) -> None:
    cells = cells_in(tmp_path / "compares nothing")
    assert said_of(cells) == []
    finish(cells[0])
    assert said_of(cells) == []
    diverged = cells_in(tmp_path / "diverged")
    for cell in diverged:
        finish(cell, accuracy=None, diverged="finetune")
    assert said_of(diverged) == []


@pytest.mark.parametrize(
    ("metrics", "paper", "chosen"),
    [
        ((None, None), None, "balanced_accuracy"),
        ((None, None), "Figure 3", "accuracy"),
        (("auroc", "auroc"), "Figure 3", "auroc"),
        (("auroc", "log_loss"), None, "balanced_accuracy"),
    ],
)
def test_the_metric_is_that_of_all_cells_or_of_the_target_and_of_the_papers_sweeps(
    metrics: tuple[str | None, ...], paper: str | None, chosen: str, tmp_path: Path
) -> None:
    """One of the classes is rare, and the paper measures by accuracy however rare it is."""
    wanted = cells_in(tmp_path)
    for cell, metric in zip(wanted, metrics, strict=True):
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

    def cells_in(reference: str) -> list[Cell]:
        arguments = ["sweeps=mine.yaml", f"reference={reference}"]
        return expand(arguments, Composer()).cells

    with pytest.raises(UsageError, match=r"reference=scraf is no competitor .*'pretrain=scarf, loss=infonce'"):
        check_reference(cells_in("scraf"))
    check_reference(cells_in("scarf"))
    check_reference(cells_in("'pretrain=scarf, loss=infonce'"))


BY_TRIAL = np.random.default_rng(4).normal(0.012, 0.025, size=30)


def kept(results: CellResults, folder: Path) -> CellResults:
    """The same, in a store."""
    cells = {label: folder / f"cell-{results.competition.names[label]}" for label in results.rows}
    for cell in cells.values():
        cell.mkdir(parents=True, exist_ok=True)
    return replace(results, folders=cells)


def compared_in(folder: Path, trials: int, name: str = "scarf") -> CellResults:
    alike = [0.5 + 0.001 * n for n in range(trials)]
    return kept(compared({"iris": {"none": alike, name: (alike + BY_TRIAL[:trials]).tolist()}}), folder)


def look(folder: Path, trials: int, name: str = "scarf") -> Effect:
    """One look at a comparison of a store, after these trials."""
    answers = answers_of(compared_in(folder, trials, name), OPTIONS)
    answers.remember()
    (found,) = answers.effects
    return found


def looks_at(effect: Effect) -> list[int]:
    return [look.trials for look in effect.verdict.looks]


def test_each_look_is_stricter_than_it_would_be_alone(tmp_path: Path) -> None:
    alone = [look(tmp_path / str(n), n) for n in (10, 20, 30)]

    found = [look(tmp_path, n) for n in (10, 20, 30)]

    assert [looks_at(each) for each in found] == [[10], [10, 20], [10, 20, 30]]
    assert found[0].row == alone[0].row
    assert found[1].verdict.levels.direction > alone[1].verdict.levels.direction


def test_the_same_look_again_costs_nothing_and_another_comparison_has_its_own(tmp_path: Path) -> None:
    first = look(tmp_path, 10)
    assert look(tmp_path, 10).row == first.row
    assert len(read_looks(tmp_path)) == 1

    assert looks_at(look(tmp_path, 20, name="vime")) == [20]
    assert looks_at(look(tmp_path, 20)) == [10, 20]


def test_effects_that_share_cells_remember_no_look_of_each_other(tmp_path: Path) -> None:
    """An interaction with one value has cells of that with another one."""
    noise = np.random.default_rng(0).normal(0, 0.002, (6, 12))

    def looks_after(trials: int) -> list[list[int]]:
        cells = []
        for place, (c, s) in enumerate(itertools.product(("marginal", "mean"), ("zscore", "minmax", "none"))):
            cells.append(a_cell((0.8 + noise[place][:trials]).tolist(), corruption=c, scaling=s))
        answers = answers_of(kept(results_of(cells), tmp_path), OPTIONS)
        answers.remember()
        return [looks_at(each) for each in answers.effects]

    assert looks_after(5) == [[]] * 5, "nothing is claimed, so nothing is looked at"
    assert looks_after(10) == [[10]] * 5
    assert looks_after(12) == [[10, 12]] * 5


def test_a_look_that_somebody_has_edited_counts_for_nothing(tmp_path: Path) -> None:
    look(tmp_path, 10)
    (whole,) = read_looks(tmp_path)
    (file,) = tmp_path.glob(f"*/{LOOKS}")
    edits = ({"trials": math.inf}, {"trials": "ten"}, {"pairs": 3}, {"pairs": [[["cell-none"], "cell-scarf"]]})
    file.write_text("\n".join(json.dumps(edited) for edited in ({"trials": 10}, *(whole | edit for edit in edits))))

    assert looks_at(look(tmp_path, 20)) == [20]


def test_a_store_that_cannot_be_written_is_named_and_answers_stay(tmp_path: Path) -> None:
    compared_in(tmp_path, 10)
    for cell in tmp_path.iterdir():
        (cell / LOOKS).mkdir()

    with pytest.warns(RecordWarning, match="not remembered"):
        assert looks_at(look(tmp_path, 10)) == [10]


def test_a_question_writes_nothing(tmp_path: Path) -> None:
    assert answers_of(compared_in(tmp_path, 10), OPTIONS).in_words
    assert read_looks(tmp_path) == []


OPEN = compared({"iris": {"none": [0.50, 0.51, 0.49, 0.51] * 3, "scarf": [0.50, 0.42, 0.60, 0.61] * 3}})
SCARF, VIME = ("pretrain=scarf", 0.015, 3e-5, 7e-5), ("VIME", 0.018, 1e-5, 9e-5)
OF_ROWS = ("pretrain=scarf", 0.012, 9.7e-5, 3e-6)


def advice_on(*errors: tuple[str, float, float, float], needed: Levels = ALONE, looks: tuple[int, ...] = ()) -> str:
    """The sentence on open comparisons at ten trials, each with its name, difference and parts of the variance."""
    (effect,) = answers_of(OPEN, ReportOptions()).effects
    effects = []
    for name, difference, rows, fits in errors:
        parts = ErrorParts(difference, rows, fits, fits, 499.0, 10, 500, 0.2)
        taken = tuple(Look(trials) for trials in looks)
        verdict = replace(effect.verdict, parts=parts, difference=difference, trials=10, looks=taken)
        effects.append(replace(effect, what=name, verdict=verdict, claimed="undecided", needed=needed))
    return " ".join(trials_sentence(effects))


def test_one_sentence_says_how_many_trials_would_decide_with_which_chance() -> None:
    """The fewest of 10, 20, 30, 50 and 100 trials that nearly have the best chance."""
    assert re.fullmatch(
        r"50 trials would decide VIME with a chance of \d\d % and pretrain=scarf of \d\d %: "
        r"the same command with trials=50\.",
        advice_on(SCARF, VIME),
    )


def test_what_more_trials_do_not_decide_has_no_sentence() -> None:
    assert advice_on(OF_ROWS) == "", "rows leave it open whatever the trials"
    assert advice_on(OF_ROWS, VIME) == advice_on(VIME)


def test_looks_and_other_comparisons_leave_less_of_the_level() -> None:
    assert advice_on(VIME, needed=Levels(0.005, 0.005, 0.005)) != advice_on(VIME)
    assert advice_on(VIME, looks=(10,)) != advice_on(VIME)
