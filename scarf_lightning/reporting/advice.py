"""What would decide open comparisons: one sentence on the trials of one table."""

from collections.abc import Sequence

from ..errors import enumeration
from ..verdicts.answers import ENOUGH_TRIALS, UNDECIDED
from ..verdicts.effects import Effect
from ..verdicts.verdict import chance_of_answer

TRIED = (10, 20, 30, 50, 100)
"""Numbers of trials that may be advised."""
ENOUGH = 0.8
"""The chance from which on no more trials are advised."""
NEARLY = 0.9
"""The part of the best chance for which fewer trials are enough."""
WORTHWHILE = 0.2
"""The chance below which trials are not advised: they would leave four comparisons in five open."""


def trials_sentence(comparisons: Sequence[Effect]) -> list[str]:
    """A sentence on the trials that would decide what is open, with the chance of each comparison.

    There is none over several tables, without predictions, and where no number of trials is worth its time.
    """
    chances: dict[str, dict[int, float]] = {}
    for each in comparisons:
        verdict = each.verdict
        # A comparison with a reason, such as a side that has not learnt, is not decided by more of the same.
        if each.claimed != UNDECIDED or verdict.reason or verdict.datasets > 1:
            continue
        if verdict.has_few_trials:
            return [f"{ENOUGH_TRIALS} trials answer: the same command with trials={ENOUGH_TRIALS}."]
        if verdict.parts is not None:
            chances[each.label] = {
                trials: chance_of_answer(verdict, trials, each.needed) for trials in TRIED if trials > verdict.trials
            }
    best = {
        trials: max(known.get(trials, 0.0) for known in chances.values())
        for trials in TRIED
        if any(trials in known for known in chances.values())
    }
    if not best or max(best.values()) < WORTHWHILE:
        return []
    enough = min(ENOUGH, NEARLY * max(best.values()))
    trials = next(trials for trials, chance in best.items() if chance >= enough)
    decided = [(label, known[trials]) for label, known in chances.items() if known.get(trials, 0.0) >= WORTHWHILE]
    # A sentence of 25 words has room for three.
    (first, chance), *others = sorted(decided, key=lambda item: -item[1])[:3]
    clauses = [f"{first} with a chance of {100 * chance:.0f} %"]
    clauses += [f"{label} of {100 * chance:.0f} %" for label, chance in others]
    return [f"{trials} trials would decide {enumeration(clauses)}: the same command with trials={trials}."]
