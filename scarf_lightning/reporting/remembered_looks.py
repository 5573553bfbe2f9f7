"""The looks at comparisons, as the store remembers them: what was seen before makes the next answer stricter."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import RecordWarning
from ..results import keep_looks, read_looks
from ..verdicts.answers import Levels
from ..verdicts.effects import Effect
from ..verdicts.looks import Look
from .cell_results import CellResults
from .report_options import ReportOptions

Pair = tuple[str, str]
"""Fingerprints of a cell and of its reference."""


def looks_at(results: CellResults, options: ReportOptions) -> Callable[[Effect], Sequence[Look]]:
    """A function that gives the looks at an effect which the store remembers; none for results of no store."""
    store = _store(results)
    known = [] if store is None else read_looks(store)
    metric = options.measure.name
    return lambda effect: _looks_at(results, effect, metric, known) if known else []


def _store(results: CellResults) -> Path | None:
    """The folder of the store that results are from; None if they are from none, or from several."""
    stores = {folder.parent for folder in results.folders.values() if folder.parent.is_dir()}
    return stores.pop() if len(stores) == 1 else None


def _looks_at(results: CellResults, effect: Effect, metric: str, known: Sequence[Mapping[str, Any]]) -> list[Look]:
    """The looks that were taken at an effect.

    Over tables these are all looks at some of its tables together; tables that were added later are further trials. On
    a table a look must be at all of its cells: an interaction shares some of them with another one.

    Args:
        results: of the report.
        effect: of them.
        metric: by which it is measured.
        known: all looks of the store.
    """
    tables = _fingerprints(results, effect)
    question = _question(effect, metric)
    looks = []
    for look in known:
        try:
            pairs = {(cell, reference) for cell, reference in look["pairs"]}
            turned = {(reference, cell) for cell, reference in pairs}
            if any(look[name] != value for name, value in question.items()):
                continue
            is_gain = bool(look["gain"])
            # The same two cells the other way round: what was a gain is a loss.
            if any(table <= turned for table in tables):
                is_gain = not is_gain
            elif not any(table <= pairs for table in tables):
                continue
            levels = Levels(*(float(look[name]) for name in Levels._fields))
            looks.append(Look(int(look["trials"]), levels, is_gain, float(look["margin"])))
        # Somebody has edited the file, or a later version writes it otherwise.
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    return looks


def remember_looks(effects: Sequence[Effect], results: CellResults, options: ReportOptions) -> None:
    """Remember that effects, with their levels after the looks before, were shown.

    Of a store that cannot be written a warning says so. Results of no store are not remembered.
    """
    store = _store(results)
    if store is None:
        return
    metric, margin, known = options.measure.name, options.rope, read_looks(store)
    taken = []
    for effect in effects:
        verdict = effect.verdict
        seen = {look.trials for look in _looks_at(results, effect, metric, known)}
        # A look at which nothing may be claimed is none, and neither is one at trials that were seen already.
        if verdict.basis == "none" or verdict.has_few_trials or verdict.looked_at in seen:
            continue
        look = _question(effect, metric) | {
            "pairs": sorted(set[Pair]().union(*_fingerprints(results, effect))),
            "margin": margin,
            "trials": verdict.looked_at,
            "gain": verdict.difference > 0,
            **verdict.levels._asdict(),
        }
        taken.append(look)
    if not keep_looks(store, taken):
        warnings.warn(
            f"This look at the results is not remembered, because {store} cannot be written.",
            RecordWarning,
            stacklevel=2,
        )


def _question(effect: Effect, metric: str) -> dict[str, Any]:
    """What a look must be about: an effect of an axis, or a claim over tables, is not that of two cells."""
    return {"metric": metric, "claim": effect.verdict.claim, "question": effect.question}


def _fingerprints(results: CellResults, effect: Effect) -> list[set[Pair]]:
    """The fingerprints of both cells of each pair, table by table: the names of their folders."""
    tables: dict[str, set[Pair]] = {}
    for one, other in zip(effect.ones, effect.others, strict=True):
        pair = results.folders[one.key].name, results.folders[other.key].name
        tables.setdefault(one.table, set()).add(pair)
    return list(tables.values())
