"""Where a report comes from, and what is missing in it."""

from pathlib import Path

import pandas as pd

from .reading import Material, environments
from .sections import Block, Paragraph, Section, counted, named
from .selecting import distinguishing, labels
from .tables import table

LABELLED_BY = ("dataset", "regime", "pretrain", "method")


def completeness(material: Material) -> str:
    """How much of what was asked for is there, in a sentence."""
    cells, unfinished = material.cells, material.unfinished
    trials = f"{material.cells['finished'].sum()} of {counted(int(cells['asked'].sum()), 'trial')}"
    if unfinished.empty:
        return (
            f"All {len(cells)} cells are finished, {trials}." if len(cells) > 1 else f"Its cell is finished, {trials}."
        )
    missing = [
        f"{name} ({finished} of {asked} trials)"
        for name, finished, asked in zip(
            labels(unfinished, _columns(material)), unfinished["finished"], unfinished["asked"], strict=True
        )
    ]
    finished = f"{len(cells) - len(unfinished)} of {counted(len(cells), 'cell')}"
    return f"{finished} are finished, {trials}; missing: {named(missing)}."


def damage(damaged: dict[Path, str]) -> str:
    """Records that cannot be used, by name and reason."""
    reasons = [f"{path}: {reason}" for path, reason in damaged.items()]
    return f"{counted(len(damaged), 'damaged record')} left out: {named(reasons)}."


def provenance_section(material: Material, command: str, version: str) -> Section:
    """What is missing or damaged, versions and hardware, fingerprints, and the command."""
    blocks: list[Block] = [Paragraph(completeness(material), warns=not material.unfinished.empty)]
    columns = _columns(material)
    if not material.unfinished.empty:
        failed = ["failure"] if material.unfinished["failure"].notna().any() else []
        missing = material.unfinished[[*columns, "finished", "asked", *failed]]
        caption = "Cells that lack trials, and why they failed when last tried, where they did"
        blocks.append(table("missing", caption, missing, formats={"failure": _first_line}))
    if material.damaged:
        frame = pd.DataFrame({"record": map(str, material.damaged), "why": material.damaged.values()})
        blocks.append(table("damaged", "Records that cannot be used, and are left out", frame))
    blocks += _versions(material)
    finished = material.cells[material.cells["finished"] > 0]
    if len(finished):
        listed = finished[[*columns, "dataset_id", "finished", "fingerprint"]]
        heading = {"finished": "trials", "dataset_id": "OpenML id"}
        blocks.append(table("cells", "Cells behind this report, by fingerprint", listed, headings=heading))
    blocks.append(Paragraph(f"Made by SCARF-Lightning {version}: {command}"))
    return Section("provenance", "Where this comes from", blocks)


def _versions(material: Material) -> list[Block]:
    """Versions and hardware; what differs between stacks is counted."""
    found = environments(material)
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
    return [
        table(
            "versions", f"Versions and hardware that {counted(sum(found.values()), 'stack')} were trained with", frame
        )
    ]


def _columns(material: Material) -> list[str]:
    """The axes that name a cell: the usual ones, and options in which cells differ."""
    different = distinguishing(material.cells, material.axes)
    return [column for column in material.axes if column in LABELLED_BY or column in different]


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines and lines[0].startswith("Traceback") else lines[0]
