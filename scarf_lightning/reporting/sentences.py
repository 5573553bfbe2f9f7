"""Verdicts in words: the answer in a sentence, or one for each competitor over the number of labels."""

import itertools
from collections.abc import Iterable, Sequence

from ..errors import capitalised, enumeration
from ..metrics import Metric
from ..verdicts.amounts import brief_effect, effect, effect_over, won
from ..verdicts.answers import HURTING, Answer
from .blocks import named
from .cell_results import CellResults
from .comparisons import Comparison
from .names import DROPPED, MOST_COLUMNS, NO_PRETRAINING, column_in_words, columns_in_words, value_in_words
from .report_options import ReportOptions

VERBS: dict[Answer, tuple[str, str]] = {
    "helps": ("helps", "help"),
    "helps, size open": ("helps, size open", "help, size open"),
    "no practical difference": ("makes no practical difference", "make no practical difference"),
    "hurts, size open": ("hurts, size open", "hurt, size open"),
    "hurts": ("hurts", "hurt"),
}
"""By answer, the verb after one name and after several. The sixth one, undecided, has none."""
OF_RIVALS: dict[Answer, tuple[str, str]] = {
    "helps": ("is ahead", "are ahead"),
    "helps, size open": ("is ahead, size open", "are ahead, size open"),
    "no practical difference": ("is as good in practice", "are as good in practice"),
    "hurts, size open": ("is behind, size open", "are behind, size open"),
    "hurts": ("is behind", "are behind"),
}
"""The same of a competitor that trains no network of ours: it does nothing to the network, so it neither helps nor
hurts."""
SHOWN_OF_RIVALS: dict[Answer, str] = {
    "helps": "ahead",
    "helps, size open": "ahead, size open",
    "hurts, size open": "behind, size open",
    "hurts": "behind",
}
"""Answers on such a competitor in tables and figures, where another word than the answer's own is shown."""
MOST_CLAUSES = 4
"""Competitors that each have a clause with their interval; more are grouped by their answers."""
MOST_NAMED = 3
"""Competitors that are named of each such group."""
TOGETHER = "In at most 5 % of such pages is a direction false (Holm's correction over {n} comparisons)."
OVER_LABELS = "In at most 5 % a competitor is a direction false (Holm's correction over its numbers of labels)."
WITHOUT_PREDICTIONS = "Predictions were not kept, which makes intervals a third wider (corrected resampled t-test)."


def title_of(results: CellResults, reference: str | None = None) -> str:
    """A title that names the question and the data. ``reference`` is the one that the user names."""
    cells = results.cells
    datasets = list(dict.fromkeys(cells["dataset"]))
    # A heading has room for three names.
    where = f"on {len(datasets)} datasets"
    if len(datasets) <= 3:
        where = f"on {named(datasets)}"
    if reference is not None:
        return f"Is anything better than {reference} {where}?"
    # A question about pre-training needs cells without one to compare with.
    tasks = [name for name in dict.fromkeys(cells["pretrain"]) if name != "none"]
    has_none = len(tasks) < cells["pretrain"].nunique()
    if tasks and has_none:
        labels = [value_in_words("pretrain", name, results.labels) for name in tasks]
        subject = named(labels) if len(labels) <= 3 else "pre-training"
        return f"Does {subject} help {where}?"
    if results.compared == [DROPPED]:
        return f"Which columns matter {where}?"
    if results.compared:
        return _which(results.compared, where)
    if results.competition.budgets is not None:
        return f"How many labels are enough {where}?"
    if results.contexts:
        return _which(results.contexts, where)
    return f"Results {where}"


def _which(columns: Sequence[str], where: str) -> str:
    """The question of which values of these columns are best."""
    if not 1 < len(columns) <= MOST_COLUMNS:
        return f"Which {columns_in_words(columns)} is best {where}?"
    questions = enumeration([f"which {column_in_words(column)}" for column in columns])
    return f"{capitalised(questions)} are best {where}?"


def answer_in_words(comparisons: Sequence[Comparison], options: ReportOptions) -> list[str]:
    """The answer in a sentence, and one on rivals of the network; one for each competitor if cells differ in the number
    of labels. Then what the claim is about."""
    datasets: list[str] = []
    for each in comparisons:
        datasets += each.datasets
    n_datasets = len(set(datasets))
    where = f"over {n_datasets} datasets"
    if n_datasets == 1:
        where = f"on {datasets[0]}"
    elif all(len(each.datasets) == 1 for each in comparisons):
        where = f"on each of {n_datasets} datasets"
    if comparisons[0].labels is not None:
        sentences = _label_sentences(comparisons, where, options.measure)
    else:
        # What is done to the network is one question, and what to use in its place another.
        networks = [each for each in comparisons if not each.is_rival]
        rivals = [each for each in comparisons if each.is_rival]
        sentences = [_several_sentence(group, where, options) for group in (networks, rivals) if group]
    return sentences + claims_in_words(comparisons)


def _several_sentence(comparisons: Sequence[Comparison], where: str, options: ReportOptions) -> str:
    """The answer on some competitors in a sentence."""
    if len(comparisons) == 1:
        return _single_sentence(comparisons[0], where, options)
    if len(comparisons) <= MOST_CLAUSES:
        return _competitor_clause(comparisons, where, options)
    return _grouped_sentence(comparisons, where, options)


def _by_answer(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """The comparisons of each answer, the clearest ones first; those without one come last."""
    groups = []
    for answer in VERBS:
        group = [each for each in comparisons if each.claimed == answer]
        # Comparisons come best first, so of those that hurt the clearest one is the last.
        groups.append(group[::-1] if answer in HURTING else group)
    groups.append([each for each in comparisons if each.claimed not in VERBS])
    return [group for group in groups if group]


def claims_in_words(comparisons: Sequence[Comparison]) -> list[str]:
    """Sentences on what the answers are about, and on intervals without predictions."""
    sentences = []
    known = [each.verdict for each in comparisons if each.verdict.basis != "none"]
    # The reader can change this: predictions that are kept make the intervals narrower.
    if any(verdict.basis == "resampled t-test" for verdict in known):
        sentences.append(WITHOUT_PREDICTIONS)
    if any(verdict.claim == "tables like these" for verdict in known):
        sentences.append("Holds for the median one of tables like these.")
    datasets = list(dict.fromkeys(name for each in comparisons for name in each.datasets))
    if any(verdict.claim == "this table" for verdict in known):
        sentences.append(f"Holds for {named(datasets)}; other tables may differ.")
    return sentences


def verb_of(comparison: Comparison, *, many: bool = False) -> str:
    """The verb of a claimed answer, after one name or after ``many``: ``helps``, of a rival ``is ahead``."""
    verbs = OF_RIVALS if comparison.is_rival else VERBS
    return verbs[comparison.claimed][int(many)]


def shown_answer(comparison: Comparison) -> str:
    """The answer as tables and figures show it: of a rival ``behind`` in the place of ``hurts``."""
    if comparison.is_rival:
        return SHOWN_OF_RIVALS.get(comparison.claimed, comparison.shown)
    return comparison.shown


def _clause(comparison: Comparison) -> str:
    """An answer with its subject: ``SCARF helps, size open``, ``SCARF undecided (4 comparisons)``."""
    answer = verb_of(comparison) if comparison.claimed in VERBS else comparison.shown
    reason = f", because {comparison.verdict.reason}" if comparison.verdict.reason else ""
    return f"{comparison.label} {answer}{reason}"


def _single_sentence(only: Comparison, where: str, options: ReportOptions) -> str:
    """The answer on the only comparison, with its effect and the trials that were won."""
    size = f"{effect_over(only, options.measure)}, {won(only)}."
    if only.claimed in VERBS:
        # "helps, size open" is an insertion, which ends with a comma too.
        comma = "," if "," in only.claimed else ""
        return f"{capitalised(only.name)} {verb_of(only)}{comma} {where}: {size}"
    reason = f" No answer: {only.verdict.reason}." if only.verdict.reason else ""
    return f"{capitalised(only.name)} {where}: {only.shown}, {size}{reason}"


def _competitor_clause(comparisons: Sequence[Comparison], where: str, options: ReportOptions) -> str:
    """A clause on each competitor, with its effect and interval."""
    clauses = [f"{_clause(each)}, {effect(each, options.measure)}" for each in comparisons]
    return f"{capitalised(where)}, beside {references(comparisons)}: {'; '.join(clauses)}."


def _grouped_sentence(comparisons: Sequence[Comparison], where: str, options: ReportOptions) -> str:
    """The competitors by their answers; the clearest of each with their effects."""
    metric = options.measure
    parts: list[str] = []
    for group in _by_answer(comparisons):
        first = group[0]
        if first.claimed in VERBS:
            examples = [f"{each.label} ({brief_effect(each, metric)})" for each in group]
            parts.append(f"{named(examples, MOST_NAMED)} {verb_of(first, many=len(group) > 1)}")
            continue
        # Their means are no answers, so one alone is named: what a reader would look for.
        best = ""
        if len(group) > 1 and not parts:
            best = f"; the best so far is {first.label}, {effect(first, metric)}"
        parts.append(f"undecided: {named([each.label for each in group], MOST_NAMED)}{best}")
    return f"{capitalised(where)}, beside {references(comparisons)}: {'; '.join(parts)}."


def _label_sentences(comparisons: Sequence[Comparison], where: str, metric: Metric) -> list[str]:
    """A sentence on each competitor, with its own estimate and interval at each number of labels."""
    sentences = [f"{capitalised(where)}, beside {_full_name(references(comparisons))}:"]
    for group in _competitor_comparisons(comparisons).values():
        parts: list[str] = []
        # Neighbouring numbers of labels with the same answer share a verb: "SCARF helps: +3 with 20, +2 with 50".
        for (answer, why), run in itertools.groupby(group, key=lambda each: (each.shown, each.spoilt)):
            neighbours = list(run)
            effects = [f"{effect(each, metric)} with {each.context}" for each in neighbours]
            clause = verb_of(neighbours[0]) if neighbours[0].claimed in VERBS else answer
            reason = f", because {why}" if why else ""
            parts.append(f"{clause}{reason}: {', '.join(effects)}")
        sentences.append(f"{capitalised(group[0].name)} {'; '.join(parts)}.")
    return sentences


def _full_name(reference: str) -> str:
    """No pre-training is that of the network."""
    return f"the network with {reference}" if reference == NO_PRETRAINING else reference


def _competitor_comparisons(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    """The comparisons of each competitor by the number of labels; networks before rivals, in the order of the cells."""
    by_name: dict[str, list[Comparison]] = {}
    for each in sorted(comparisons, key=_place):
        by_name.setdefault(each.name, []).append(each)
    for group in by_name.values():
        group.sort(key=_n_labels)
    return by_name


def _place(comparison: Comparison) -> tuple[bool, int, float]:
    """A comparison's place: what is done to the network, then rivals; each in the order of the cells."""
    first_cell, _ = comparison.pairs[0]
    return comparison.is_rival, first_cell, _n_labels(comparison)


def _n_labels(comparison: Comparison) -> float:
    """The number of labels; 0 if it is not known."""
    return comparison.labels or 0


def references(comparisons: Sequence[Comparison]) -> str:
    """The names of all references, in a sentence."""
    # An interaction has no reference.
    return " or ".join(dict.fromkeys(each.against for each in comparisons if each.against))
