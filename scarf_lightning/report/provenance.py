"""Where a report comes from, and what is missing in it."""

import importlib.metadata
from datetime import date
from pathlib import Path

import pandas as pd

from ..errors import counted
from ..metrics import Metric
from ..results import source_commit
from .blocks import Block, Paragraph, Section, named, table
from .loading import CellResults, environments
from .naming import Words, distinguishing, named_by

LABELLED_BY = ("dataset", "regime", "pretrain", "method")


def completeness(results: CellResults) -> str:
    """How much of what was asked for is there, in a sentence."""
    cells, unfinished = results.cells, results.unfinished
    trials = f"{results.cells['finished'].sum()} of {counted(int(cells['wanted'].sum()), 'trial')}"
    if unfinished.empty:
        done = f"All {len(cells)} cells are" if len(cells) > 1 else "Its cell is"
        return f"{done} finished, {trials}."
    names = named_by(unfinished, _columns(results), Words(labels=results.labels))
    counts = zip(names, unfinished["finished"], unfinished["wanted"], strict=True)
    missing = [f"{name} ({finished} of {wanted} trials)" for name, finished, wanted in counts]
    finished = f"{len(cells) - len(unfinished)} of {counted(len(cells), 'cell')}"
    return f"{finished} are finished, {trials}; missing: {named(missing)}."


def of_another_kind(results: CellResults, metric: Metric) -> str:
    """Which datasets the metric does not measure, because they predict another kind of target; empty for none."""
    other = [label for label, target in results.targets.items() if not target.is_among(metric.targets)]
    if not other:
        return ""
    datasets = [str(each) for each in dict.fromkeys(results.cells.loc[other, "dataset"])]
    kinds = dict.fromkeys(results.targets[label].name for label in other)
    return (
        f"{metric.label} does not measure {named(datasets)}, whose target is of another kind: {named(list(kinds))}. "
        "Name another metric=, or report these datasets by themselves."
    )


def damage(damaged: dict[Path, str]) -> str:
    """Records that cannot be used, by name and reason."""
    reasons = [f"{path}: {reason}" for path, reason in damaged.items()]
    return f"{counted(len(damaged), 'damaged record')} left out: {named(reasons)}."


def provenance_section(results: CellResults, command: str) -> Section:
    """What is missing or damaged, versions and hardware, fingerprints, and the command."""
    blocks: list[Block] = [Paragraph(completeness(results), warns=not results.unfinished.empty)]
    columns = _columns(results)
    if not results.unfinished.empty:
        failed = ["failure"] if results.unfinished["failure"].notna().any() else []
        missing = results.unfinished[[*columns, "finished", "wanted", *failed]]
        caption = "Cells that lack trials, and why they failed when last tried, where they did"
        blocks.append(table("missing", caption, missing, formats={"failure": _first_line}))
    if results.damaged:
        frame = pd.DataFrame({"record": map(str, results.damaged), "why": results.damaged.values()})
        blocks.append(table("damaged", "Records that cannot be used, and are left out", frame))
    blocks += _versions(results)
    finished = results.cells[results.cells["finished"] > 0]
    if len(finished):
        gone = results.trials.groupby("cell")["diverged"].sum().reindex(finished.index)
        counts = ["finished", *(["diverged"] if gone.any() else [])]
        listed = finished.assign(diverged=gone)[[*columns, "dataset_id", *counts, "fingerprint"]]
        heading = {"finished": "trials", "dataset_id": "OpenML id"}
        blocks.append(table("cells", "Cells behind this report, by fingerprint", listed, headings=heading))
    version = importlib.metadata.version("scarf-lightning")
    commit = f", commit {source_commit()}" if source_commit() else ""
    blocks.append(Paragraph(f"Made by SCARF-Lightning {version} on {date.today():%-d %B %Y}{commit}: {command}"))
    return Section("provenance", "Where this comes from", blocks)


def _versions(results: CellResults) -> list[Block]:
    """Versions and hardware; what differs between stacks is counted."""
    found = environments(results)
    if not found:
        return []
    names = list(dict.fromkeys(name for environment in found for name, _ in environment))
    rows = []
    for name in names:
        values: dict[str, int] = {}
        for environment, stacks in found.items():
            value = dict(environment).get(name, "not said")
            values[value] = values.get(value, 0) + stacks
        alone = len(values) == 1
        rows.append((name, ", ".join(v if alone else f"{v} ({counted(n, 'stack')})" for v, n in values.items())))
    frame = pd.DataFrame(rows, columns=["what", "version"])
    all_stacks = counted(sum(found.values()), "stack")
    return [table("versions", f"Versions and hardware that {all_stacks} were trained with", frame)]


def _columns(results: CellResults) -> list[str]:
    """The axes that name a cell: the usual ones, and options in which cells differ."""
    different = distinguishing(results.cells, results.axes)
    return [column for column in results.axes if column in LABELLED_BY or column in different]


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines and lines[0].startswith("Traceback") else lines[0]
