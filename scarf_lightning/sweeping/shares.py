"""Shares: the trials of a group of cells, divided among the workers of a run.

Where a trial's numbers do not depend on the trials beside it, one cell is as parallel as many. A group of cells that
start from one pre-training is divided by trials: a share pre-trains its trials once, and trains them in each cell.

    run      claims the cells of a group and their pre-training ---------> gives the claims back
    worker     trials 0 to 9 of each cell     trials of another group
    worker     trials 10 to 19 of each cell   ...

Other processes see the claims and wait, as they do for a cell that is trained whole. Trials of a share whose worker
dies are missing in the store, and the run launches their cells again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain

from ..errors import UsageError
from ..results import Claim
from .cell import Share
from .chunks import Chunk, Training, by_dataset, can_be_divided
from .plan import Group

LONG = 0.25
"""A group is divided that takes longer than this share of the shortest time in which all workers can end."""


@contextmanager
def divided(
    groups: Sequence[Group], n_workers: int, training: Training, say: Callable[[str], None]
) -> Iterator[list[Chunk]]:
    """A chunk a group, and a chunk a worker of each group that would keep one of them busy alone, whose cells are
    claimed while the block runs."""
    shortest = sum(group.seconds for group in groups) / n_workers
    divided_groups, whole = list[Chunk](), list[Chunk]()
    with ExitStack() as claims:
        # A long group that begins last would leave workers idle. One of the same dataset finds its table loaded.
        datasets = sorted(by_dataset(groups), key=lambda each: -max(group.seconds for group in each))
        for group in chain.from_iterable(datasets):
            number = min(n_workers, len(group.missing))
            held = None
            if number > 1 and group.seconds > LONG * shortest and can_be_divided(group, training):
                held = _claimed(group, claims, say)
            if held is None:
                whole.append(Chunk([each.cell for each in group.cells], group.seconds))
            else:
                divided_groups += _shares(group, number, held)
        yield divided_groups + whole


def _claimed(group: Group, claims: ExitStack, say: Callable[[str], None]) -> list[Share] | None:
    """The claims to the cells of a group, each in a share without trials; None if another process has one of them, or
    the data cannot be read, which their training will note."""
    with ExitStack() as own:
        held = list[Share]()
        pretraining_claim: Claim | None = None
        for each in group.cells:
            try:
                data = each.data or each.cell.note(each.cell.source.read())
            except UsageError:
                return None
            store, pretraining = each.cell.store(data), each.cell.pretraining(data)
            assert store is not None
            claim = own.enter_context(store.claim())
            # The cells of a group have one pre-training.
            if pretraining is not None and pretraining_claim is None and each.cell.config.cache.max_gb:
                pretraining_claim = own.enter_context(pretraining.claim())
                if pretraining_claim is None:
                    return None
            if claim is None:
                return None
            for sentence in store.mend():
                say(sentence)
            held.append(Share((), claim, pretraining_claim))
        claims.enter_context(own.pop_all())
        return held


def _shares(group: Group, number: int, held: Sequence[Share]) -> list[Chunk]:
    """So many shares of a group: neighbouring trials, of each cell those that it lacks."""
    trials = group.missing
    chunks = []
    for place in range(number):
        own = trials[len(trials) * place // number : len(trials) * (place + 1) // number]
        cells = []
        for each, share in zip(group.cells, held, strict=True):
            lacking = tuple(trial for trial in own if trial in each.missing)
            if lacking:
                cells.append(replace(each.cell, is_alone=False, share=replace(share, trials=lacking)))
        chunks.append(Chunk(cells, group.seconds * len(own) / len(trials)))
    return chunks
