"""The answer of a sweep in its loggers: beside the metrics of each cell, and in a run of the sweep's own."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..importing import require_report
from ..loggers import CellView, cell_view, write_views
from ..options.run_settings import LoggerSettings
from ..reporting.run_results import ComparedRun
from ..reporting.schema import evidence_columns
from ..reporting.sentences import shown_answer, title_of
from ..results import write_whole
from ..screen import command_line
from ..sweeping.cell import SurveyedCell
from ..sweeping.expand import ExpandedSweep
from ..verdicts.amounts import effect_over
from .tables import differing_options

if TYPE_CHECKING:
    import pandas as pd

LOGGED = "logged_answers.json"
"""The answers that loggers have, by the fingerprint of the cell: what has not changed is not written again."""
Answered = tuple[Mapping[str, str], Mapping[str, float], str]
"""The words of an answer, the difference with its ends, and both in a sentence."""
WORKSPACES = "workspaces"
"""In the same file, the addresses of W&B's workspaces by group."""
OF_A_SWEEP = ("effects", "summary", "worth")
"""The tables of a page that its run shows."""


def log_answers(run: ComparedRun, request: ExpandedSweep, settings: LoggerSettings, results: Path) -> list[str]:
    """Write the answers of a run to the loggers that its settings name: the runs of cells whose answer is another one
    than they have, and one run for the sweep with its tables, figures and page.

    Returns:
        A sentence on each view that could not be written, with the reason.
    """
    if not settings.views or not run.answers.comparisons:
        return []
    loggers, file = ",".join(settings.views), results / LOGGED
    known = _known(file)
    logged = dict(known.get(loggers, {}))
    problems, is_written = list[str](), False
    for place, answer in _answers(run).items():
        surveyed = run.tried[place]
        # Before its records are read again: mostly nothing has changed.
        if surveyed.folder is None or logged.get(surveyed.folder.name) == _state(surveyed, answer):
            continue
        problems += write_views(_answered(surveyed, surveyed.folder, answer), results, settings)
        logged[surveyed.folder.name] = _state(surveyed, answer)
        is_written = True
    if is_written:
        problems += _log_sweep(run, request, settings, results)
        spaces = dict(known.get(WORKSPACES, {}))
        if settings.wandb.write and settings.wandb.mode == "online":
            problems += _save_workspace(run, settings, spaces)
        write_whole(file, json.dumps(known | {loggers: logged, WORKSPACES: spaces}, indent=1))
    return problems


def _save_workspace(run: ComparedRun, settings: LoggerSettings, spaces: dict[str, str]) -> list[str]:
    """Save the workspace of a sweep in W&B, and note its address by the sweep's group."""
    from ..loggers.wandb_workspace import save_workspace

    group = run.tried[0].cell.group
    axes = differing_options([each.cell.axes() for each in run.tried])
    # Like every view, it shows what the store has: nothing is lost if it cannot be saved, for whatever reason.
    try:
        spaces[group] = save_workspace(group, axes, run.answers.options.measure, settings.wandb, url=spaces.get(group))
    except Exception as error:
        return [f"The workspace of {group} is not in W&B: {error}."]
    return []


def _answers(run: ComparedRun) -> dict[int, Answered]:
    """Of each cell that is compared, by its place in the run: the answer, the difference, and both in a sentence."""
    metric = run.answers.options.measure
    found: dict[int, Answered] = {}
    for each in run.answers.comparisons:
        known = evidence_columns(each)
        words = {"answer": shown_answer(each), "against": each.reference_label}
        numbers = {name: known[name] for name in ("difference", "difference_low", "difference_high")}
        sentence = f"{each.label}: {shown_answer(each)}, {effect_over(each, metric)}."
        for cell, reference in each.pairs:
            found[cell] = words, numbers, sentence
            others = {"answer": "reference", "against": ""}
            found.setdefault(reference, (others, {}, f"Others are compared with {each.reference_label}."))
    return found


def _answered(surveyed: SurveyedCell, folder: Path, answer: Answered) -> CellView:
    """The view of a cell in this folder, with its answer."""
    cell = surveyed.cell
    words, numbers, sentence = answer
    view = cell_view(folder.name, cell.results, group=cell.group, name=cell.name or None)
    finite = {name: value for name, value in numbers.items() if not math.isnan(value)}
    return replace(view, answer=words, summary=view.summary | finite, notes=sentence)


def _state(surveyed: SurveyedCell, answer: Answered) -> dict[str, Any]:
    """The part of a view by which a changed answer, or a further trial, is seen."""
    return {"notes": answer[-1], "trials": len(surveyed.rows), "group": surveyed.cell.group}


def _log_sweep(run: ComparedRun, request: ExpandedSweep, settings: LoggerSettings, results: Path) -> list[str]:
    """Write the run of a sweep: its sentences, tables, figures and page."""
    import pandas as pd

    first = run.tried[0].cell
    folder = results / "tables" / "page"
    command = command_line("train.py", [*request.flags, *request.arguments])
    fingerprints = sorted(each.folder.name for each in run.tried if each.folder is not None)
    problems, tables = list[str](), dict[str, pd.DataFrame]()
    try:
        require_report("The page of the answer in a logger")
        tables = _page(run, request, results, folder)
    except UsageError as error:
        problems.append(str(error))
    sentences = run.in_words
    view = CellView(
        id=f"sweep-{hashlib.sha256(' '.join(fingerprints).encode()).hexdigest()[:12]}",
        name=f"{first.group}: the answer",
        group=first.group,
        tags=[],
        config={"command": command, "cells": len(run.tried)},
        curves=pd.DataFrame(columns=["phase", "trial", "epoch"]),
        summary={"cells": float(len(run.tried))},
        trials=pd.DataFrame(),
        answer={"answer": sentences[0]} if sentences else {},
        notes="\n".join(sentences),
        job="sweep",
        tables=tables,
        page=folder if tables else None,
    )
    return [*problems, *write_views(view, results, settings)]


def _page(run: ComparedRun, request: ExpandedSweep, results: Path, folder: Path) -> "dict[str, pd.DataFrame]":
    """Write the page of a run, and give its tables as frames, by name."""
    from ..reporting.blocks import Table
    from ..reporting.default_drawings import default_drawings
    from ..reporting.making import make_report, write_report

    page = make_report(
        run.answers.results,
        default_drawings(run.answers.results),
        run.answers.options,
        title=title_of(run.answers.results, run.answers.options.reference),
        command=command_line("report.py", [f"results={results}"]),
    )
    write_report(page, folder)
    found = {}
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Table) and block.name in OF_A_SWEEP:
                found[block.name] = block.data
    return found


def _known(file: Path) -> dict[str, Any]:
    """The answers that loggers have; none if the file is not there or cannot be read, and all are written again."""
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
