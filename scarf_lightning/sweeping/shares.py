"""Shares: the trials of a group of cells, divided among the workers of a run.

Where a trial's numbers do not depend on the trials beside it, one cell is as parallel as many. A group of cells that
start from one pre-training is divided by trials: a share pre-trains its trials once, and trains them in each cell.

    run      claims the cells of a group and their pre-training ---------> gives the claims back
    worker     trials 0 to 9 of each cell     trials of another group
    worker     trials 10 to 19 of each cell   ...

Other processes see the claims and wait, as they do for a cell that is trained whole. Trials of a share whose worker
dies are missing in the store, and the run launches their cells again.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from ..errors import UsageError
from ..options.settings import TrainerSettings
from ..results import Claim, forget_failure
from .cell import Cell, Share
from .chunks import Chunk
from .plan import Group

Say = Callable[[str], None]

IDLE_AT_MOST = 0.15
"""The share of the shortest time that workers may wait for the last one of them before groups are divided further."""
FINEST = 8
"""Shares of the usual group for each worker, at most: small stacks take longer a trial."""


@dataclass(frozen=True)
class Divided:
    """The work of a launch.

    Attributes:
        shares: of the groups that are divided.
        whole: the other groups.
        cells: of the groups that are divided, as whole cells.
    """

    shares: list[Chunk]
    whole: list[Group]
    cells: list[Cell]


def shares_of(groups: Sequence[Group], n_workers: int) -> list[int]:
    """The number of shares of each group: the fewest with which all workers end at about the same time.

    The longest share goes to the worker that is free first. A group has at most as many shares as trials.
    """
    seconds = [group.seconds for group in groups]
    most = [max(1, len(group.missing)) for group in groups]
    shortest = sum(seconds) / n_workers
    numbers = [1] * len(groups)
    for finer in range(FINEST + 1):
        if finer:
            wanted = [math.ceil(each * finer / shortest) for each in seconds]
            numbers = [max(1, min(pair)) for pair in zip(wanted, most, strict=True)]
        if _last_end(seconds, numbers, n_workers) <= (1 + IDLE_AT_MOST) * shortest:
            break
    return numbers


def _last_end(seconds: Sequence[float], numbers: Sequence[int], n_workers: int) -> float:
    """The time at which the last of the workers ends."""
    shares = []
    for each, number in zip(seconds, numbers, strict=True):
        shares += [each / number] * number
    ends = [0.0] * n_workers
    for share in sorted(shares, reverse=True):
        heapq.heapreplace(ends, ends[0] + share)
    return max(ends)


class Exactness(Protocol):
    """Knows how trials are trained: `scarf_lightning.cli.running.OwnTraining` does."""

    def is_exact(self, settings: TrainerSettings) -> bool: ...


def can_be_divided(group: Group, exactness: Exactness) -> bool:
    """True if workers may divide the trials of a group: no number depends on it, and no logger shows live curves,
    which are a process' own."""
    configs = [each.cell.config for each in group.cells]
    return all(not config.logger.views and exactness.is_exact(config.trainer) for config in configs)


@contextmanager
def divided(groups: Sequence[Group], n_workers: int, exactness: Exactness, say: Say) -> Iterator[Divided]:
    """The groups that keep workers waiting for one another, divided into shares, under claims while the block runs."""
    result = Divided([], [], [])
    with ExitStack() as claims:
        for group, number in zip(groups, shares_of(groups, n_workers), strict=True):
            shares = None
            if number > 1 and can_be_divided(group, exactness):
                shares = _shares(group, number, claims, say)
            if shares is None:
                result.whole.append(group)
            else:
                result.shares.extend(shares)
                result.cells.extend(each.cell for each in group.cells)
        yield result


def _shares(group: Group, number: int, claims: ExitStack, say: Say) -> list[Chunk] | None:
    """So many shares of a group, whose claims are released with ``claims``; None if another process has one of them,
    or its data cannot be read, which its training will note."""
    with ExitStack() as own:
        held = []
        pretraining_claim = None
        for each in group.cells:
            try:
                data = each.data or each.cell.note(each.cell.source.read())
            except UsageError:
                return None
            store, pretraining = each.cell.store(data), each.cell.pretraining(data)
            assert store is not None
            claim = own.enter_context(store.claim())
            if claim is None:
                return None
            held.append(claim)
            # The cells of a group have one pre-training.
            if pretraining is not None and pretraining_claim is None and each.cell.config.cache.max_gb:
                pretraining_claim = own.enter_context(pretraining.claim_if_free())
                if pretraining_claim is None:
                    return None
            forget_failure(each.cell.results, each.cell.key)
            for sentence in store.mend():
                say(sentence)
        claims.enter_context(own.pop_all())
    trials = group.missing
    chunks = []
    for place in range(number):
        share_trials = trials[len(trials) * place // number : len(trials) * (place + 1) // number]
        cells = _cells(group, share_trials, held, pretraining_claim)
        chunks.append(Chunk(cells, group.seconds * len(share_trials) / len(trials)))
    return chunks


def _cells(group: Group, trials: Sequence[int], claims: Sequence[Claim], pretraining_claim: Claim | None) -> list[Cell]:
    """The cells of a group with their trials of a share."""
    cells = []
    for each, claim in zip(group.cells, claims, strict=True):
        lacking = tuple(trial for trial in trials if trial in each.missing)
        if lacking:
            share = Share(lacking, claim, pretraining_claim)
            cells.append(replace(each.cell, is_alone=False, share=share))
    return cells
