"""The looks at comparisons, as the store remembers them: what was seen before makes the next answer stricter."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import Field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from ..errors import RecordWarning
from ..results import keep_looks, read_looks
from ..verdicts.answers import Levels
from ..verdicts.looks import Look
from ..verdicts.verdict import Verdict, after_looks
from .cell_results import CellResults
from .report_options import ReportOptions

Pair = tuple[str, str]
"""Fingerprints of a cell and of its reference."""


class Judged(Protocol):
    """A comparison with its verdict, see `comparisons.Comparison`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def pairs(self) -> Sequence[tuple[int, int]]: ...
    @property
    def question(self) -> str: ...
    @property
    def verdict(self) -> Verdict: ...


J = TypeVar("J", bound=Judged)


def after_all_looks(comparisons: Sequence[J], results: CellResults, options: ReportOptions) -> list[J]:
    """The comparisons with levels that hold after all looks that the store remembers; results of no store have none."""
    store = _store(results)
    if store is None:
        return list(comparisons)
    known = read_looks(store)
    found = []
    for each in comparisons:
        looks = _looks_at(results, each, options.measure.name, known)
        verdict = after_looks(each.verdict, looks, options.rope)
        trials = {verdict.looked_at, *(look.trials for look in looks)}
        found.append(replace(each, verdict=verdict, looks=tuple(sorted(trials))))
    return found


def _store(results: CellResults) -> Path | None:
    """The folder of the store that results are from; None if they are from none, or from several."""
    stores = {folder.parent for folder in results.folders.values() if folder.parent.is_dir()}
    return stores.pop() if len(stores) == 1 else None


def _looks_at(results: CellResults, judged: Judged, metric: str, known: Sequence[Mapping[str, Any]]) -> list[Look]:
    """The looks that were taken at a comparison.

    Over tables these are all looks at some of its tables together; tables that were added later are further trials. On
    a table a look must be at all of its cells: an interaction shares some of them with another one.

    Args:
        results: of the report.
        judged: the comparison.
        metric: by which it is judged.
        known: all looks of the store.
    """
    tables = _fingerprints(results, judged)
    question = _question(judged, metric)
    looks = []
    for look in known:
        try:
            pairs = {(str(cell), str(reference)) for cell, reference in look["pairs"]}
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
        except (KeyError, TypeError, ValueError):
            continue
    return looks


def remember_looks(comparisons: Sequence[Judged], results: CellResults, options: ReportOptions) -> None:
    """Remember that comparisons, with their levels after the looks before, were shown.

    Of a store that cannot be written a warning says so. Results of no store are not remembered.
    """
    store = _store(results)
    if store is None:
        return
    metric, margin, known = options.measure.name, options.rope, read_looks(store)
    taken = []
    for judged in comparisons:
        verdict = judged.verdict
        seen = {look.trials for look in _looks_at(results, judged, metric, known)}
        # A look at which nothing may be claimed is none, and neither is one at trials that were seen already.
        if verdict.basis == "none" or verdict.has_few_trials or verdict.looked_at in seen:
            continue
        look = _question(judged, metric) | {
            "pairs": sorted(set[Pair]().union(*_fingerprints(results, judged))),
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


def _question(judged: Judged, metric: str) -> dict[str, Any]:
    """What a look must be about: an effect of an axis, or a claim over tables, is not that of two cells."""
    return {"metric": metric, "claim": judged.verdict.claim, "question": judged.question}


def _fingerprints(results: CellResults, judged: Judged) -> list[set[Pair]]:
    """The fingerprints of both cells of each pair, table by table: the names of their folders."""
    tables: dict[str, set[Pair]] = {}
    for cell, reference in judged.pairs:
        pair = results.folders[cell].name, results.folders[reference].name
        tables.setdefault(results.rows[cell]["dataset"], set()).add(pair)
    return list(tables.values())
