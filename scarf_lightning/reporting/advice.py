"""What would settle open comparisons, as commands with their cost."""

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import counted
from ..intervals import FEWEST, LEVEL
from ..options.combinations import with_dataset, with_trials
from ..options.settings import DatasetSettings
from ..screen import command_line
from ..sweeping.cell import Cell, survey
from ..sweeping.plan import about, make_plan
from ..sweeping.sizes import CC18
from ..verdicts.answers import CANNOT_TELL, MARGIN
from ..verdicts.centres import FEWEST_TABLES
from ..verdicts.looks import spent
from ..verdicts.power import POWER, Settling, fewest_after, settling, settling_tables
from ..verdicts.rows_and_fits import ErrorParts
from ..verdicts.verdict import FEWEST_FOR_SAME, Verdict
from .blocks import named
from .cell_results import SECONDS, CellResults
from .comparisons import Comparison
from .learning import LEARNS_NOTHING
from .pairing import pairs_of

Commands = Callable[[Comparison, str], str]
"""The command that trains a comparison's cells with a change such as ``trials=30`` to what was asked."""
Price = Callable[[str], float]
"""The processor seconds that a command takes with such a change, as its plan gives them; 0 if that is unknown."""
NOT_OF_A_CELL = ("sweeps", "reference", "plan", "force", "paths.results")
PAPERS_DATASETS = "dataset=glob(cc18-*)"
N_PAPERS_DATASETS = 69
SMALL_DATASETS = {
    "cc18-balance-scale": 11,
    "cc18-credit-approval": 29,
    "cc18-tic-tac-toe": 50,
    "cc18-eucalyptus": 188,
    "cc18-cylinder-bands": 6332,
    "cc18-analcatdata_dmft": 469,
    "cc18-pc1": 1068,
    "cc18-car": 40975,
}
"""Datasets of at most 1,728 rows, which train within minutes, with their numbers on OpenML. Advice names them first."""
MOSTLY = " in four cases of five"
"""The chance that advice has, `power.POWER`, in words."""
AND = " && "
"""Between two commands of a line."""
MOST_TABLES = 10
"""A run is not told to add more than this many times the datasets that it has."""


def one_line(sentence: str, command: str) -> str:
    """Advice with its command, for a terminal."""
    return f"{sentence}: {command}" if command else f"{sentence}."


class Advice(NamedTuple):
    """Advice on how to settle a comparison.

    Attributes:
        change: to what was asked, empty for none.
        sentence: before the command.
        trials: in all, if trials would settle it; 0 otherwise.
        rows: that would settle it, with their noun, if trials would not; empty if it is something else.
        chance: that the trials settle it.
    """

    change: str
    sentence: str
    trials: int = 0
    rows: str = ""
    chance: float = POWER


def settling_advice(
    comparisons: Sequence[Comparison],
    commands: Commands,
    results: CellResults,
    margin: float = MARGIN,
    *,
    price: Price | None = None,
) -> list[tuple[str, str]]:
    """Advice on comparisons of which we cannot tell: sentences, each with a command, which may be empty.

    One command trains as many trials as any comparison needs that trials will settle. Where no ``price`` is given, a
    command costs as much as the finished trials and datasets did.
    """
    known = {str(name) for name in results.cells["dataset"]}
    groups: dict[Advice, list[Comparison]] = {}
    # Comparisons that trials will settle, and those that they may.
    by_trials: list[tuple[Comparison, Advice]] = []
    by_luck: list[tuple[Comparison, Advice]] = []
    lacking_rows: list[tuple[Comparison, Advice]] = []
    for each in comparisons:
        # A comparison with a reason, such as a side that has not learnt, is not settled by more of the same.
        if each.claimed != CANNOT_TELL or each.verdict.reason:
            continue
        advice = _advice(each, known, margin)
        if advice.trials:
            (by_luck if advice.chance < POWER else by_trials).append((each, advice))
        elif advice.rows:
            lacking_rows.append((each, advice))
        else:
            groups.setdefault(advice, []).append(each)
    for settled in filter(None, (by_trials, by_luck)):
        fewest_first = sorted(settled, key=lambda item: item[1].trials)
        groups[_trials_advice(fewest_first)] = [each for each, _ in fewest_first]

    sentences = []
    # The advice that settles most comparisons comes first.
    for advice, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        labels = named([each.label for each in group], 3)
        lines: dict[str, None] = {}
        for each in group:
            change = _with_finished(advice.change, each, results)
            if change:
                # Comparisons share cells, such as their reference, which are trained by one command.
                lines |= dict.fromkeys(commands(each, change).split(AND))
        cost = ""
        if lines:
            cost = _cost(group, advice.change, results) if price is None else _priced(advice.change, price)
        sentences.append((f"{labels}: {advice.sentence}{cost}", AND.join(lines)))
    if lacking_rows:
        sentences.append((_rows_advice(lacking_rows), ""))
    if instead := [f"{advice.rows} for {each.label}" for each, advice in by_luck if advice.rows]:
        sentences.append((f"In place of trials it would take, four times in five, {', '.join(instead)}", ""))
    return sentences


def trials_may_settle(comparison: Comparison, margin: float) -> bool:
    """True if more trials are worth their time: there are few, the comparison alone is answered, or it could be."""
    verdict = comparison.verdict
    # What a comparison claims alone, and not with the others, a little more evidence is likely to settle.
    if verdict.trials < FEWEST_FOR_SAME or verdict.answer != CANNOT_TELL:
        return True
    # Without its parts nobody knows how much of the error trials average away.
    if verdict.parts is None:
        return False
    needed = _settling(comparison, verdict.parts, margin)
    return needed.trials is not None


def _settling(comparison: Comparison, parts: ErrorParts, margin: float) -> Settling:
    """What would settle a comparison on one table, at the levels that it needs among the answers of its page."""
    return settling(comparison.verdict.difference, parts, margin, comparison.needed, comparison.looks)


def _trials_advice(settled: Sequence[tuple[Comparison, Advice]]) -> Advice:
    """The advice on all comparisons that trials will settle, or may; as many trials as the last of them needs."""
    trials = max(advice.trials for _, advice in settled)
    fewest = min(each.verdict.trials for each, _ in settled)
    more = counted(trials - fewest, "more trial")
    chances = sorted({round(100 * advice.chance) for _, advice in settled})
    verb, chance = "will settle", MOSTLY
    if settled[0][1].chance < POWER:
        verb, chance = "would settle", f" with a chance of {_from_to(chances)} %"
    sentence = f"{more} {verb} it{chance}" if len(settled) == 1 else f"up to {more} {verb} each of them{chance}"
    # A look on the way there is paid for by the one that is advised.
    left = sorted({round(100 * (1 - float(spent(each.looks)[-1]))) for each, _ in settled if each.looks})
    if left:
        sentence = f"{sentence}, if you look no sooner: the looks so far leave {_from_to(left)} % of the level"
    return Advice(f"trials={trials}", sentence, trials)


def _from_to(numbers: Sequence[int]) -> str:
    """Rising numbers by the first and the last: 10 to 40."""
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _out_of_reach(verdict: Verdict, margin: float) -> str:
    """Why nothing in reach settles a comparison: what is so small, or so large."""
    return "the difference is so small" if abs(verdict.difference) <= margin else "the error is so large"


def _rows_advice(comparisons: Sequence[tuple[Comparison, Advice]]) -> str:
    """A sentence on the comparisons that more trials will not settle, each with the rows that would."""
    if len(comparisons) == 1:
        each, advice = comparisons[0]
        return f"{each.label}: {advice.sentence}"
    needed = [f"{advice.rows} for {each.label}" for each, advice in comparisons]
    return (
        "More trials will not help, because too much of the error comes from which rows the table has. It would be "
        f"settled (four times in five) by {', '.join(needed)}"
    )


def _advice(comparison: Comparison, known: set[str], margin: float) -> Advice:
    """Advice on how to settle a comparison of which we cannot tell."""
    verdict = comparison.verdict
    # Over tables the tables are the sample: more trials of each hardly move the interval of the median one.
    if verdict.datasets > 1:
        return _advice_over_tables(comparison, known, margin)
    enough = f"trials={FEWEST_FOR_SAME}"
    if verdict.trials < FEWEST:
        return Advice(enough, f"too few trials to tell; go on to {FEWEST_FOR_SAME}")
    if verdict.parts is None:
        if verdict.trials < FEWEST_FOR_SAME:
            return Advice(enough, f"few trials; go on to {FEWEST_FOR_SAME}")
        return Advice("", "without predictions it is not known what would settle it")
    needed = _settling(comparison, verdict.parts, margin)
    # Worded later, by `_trials_advice`: all comparisons that trials settle share one command.
    if needed.trials is not None:
        return Advice("", "", needed.trials)
    sample = verdict.parts.sample
    rows = "" if needed.rows is None else f"about {rounded(needed.rows)} {sample}"
    if needed.worthwhile is not None:
        return Advice("", "", needed.worthwhile, rows, needed.chance)
    units = sample.removeprefix("labelled ")
    cause = f"{100 * needed.rows_share:.0f} % of the error's variance comes from which {units} the table has"
    if rows:
        sentence = f"more trials will not help, because {cause}; {rows} would settle it (four times in five)"
        return Advice("", sentence, rows=rows)
    why = _out_of_reach(verdict, margin)
    return Advice("", f"neither trials nor {sample} in reach will settle it, because {why}; {cause}")


def _advice_over_tables(comparison: Comparison, known: set[str], margin: float) -> Advice:
    """Advice on a comparison over several datasets, which only more datasets settle."""
    verdict = comparison.verdict
    n = verdict.datasets
    # Fewer datasets than an interval needs are not remembered as a look.
    looks = () if verdict.ends is None else comparison.looks
    fewest = fewest_after(verdict.trials, comparison.needed, looks)
    total = None
    if verdict.ends is not None:
        # Of 95 %, since the interval that is shown goes by the levels of all that is answered with it.
        total = settling_tables(
            verdict.ends(level=LEVEL), n, MOST_TABLES * n, margin, comparison.needed, trials=verdict.trials, looks=looks
        )
    would_tell = "" if total is None else f"about {rounded(total)} datasets would tell{MOSTLY}"
    if n < fewest:
        needs = f"an answer over datasets needs {fewest} or more"
        if fewest > FEWEST_TABLES:
            needs = f"{needs} at the level that other comparisons and earlier looks leave"
        sentence = f"{needs}, and {would_tell}" if total is not None and total > fewest else needs
        return Advice(_more_tables(max(fewest, total or 0) - n, known), sentence)
    if total is not None:
        return Advice(_more_tables(total - n, known), would_tell)
    if abs(verdict.difference) > margin:
        return Advice("", f"no number of datasets up to {MOST_TABLES * n} would tell{MOSTLY}")
    return Advice(
        "", f"the median dataset differs by so little that no number of datasets in reach will tell, beyond {n}"
    )


def n_together(results: CellResults, reference: str | None = None) -> int:
    """The number of comparisons that will be answered together, before cells are trained; of the smallest family."""
    families: dict[str, set[tuple[str, str]]] = {}
    for pair in pairs_of(results, reference):
        # A baseline costs no level.
        if results.rows[pair.cell]["method"] != LEARNS_NOTHING:
            families.setdefault("" if pair.labels is None else pair.name, set()).add((pair.context, pair.name))
    sizes = [len(family) for family in families.values()]
    axes = [results.cells[axis].map(str).nunique() for axis in results.compared]
    contexts = set(results.competition.contexts.values())
    # A product of axes is answered axis by axis.
    if len(axes) > 1 and len(results.cells) == math.prod([*axes, len(contexts), results.cells["dataset"].nunique()]):
        sizes = [(n_values - 1) * len(contexts) for n_values in axes]
    return min(sizes, default=1)


def _more_tables(more: int, known: set[str]) -> str:
    """The change that adds this many datasets: small ones if they are enough, else the paper's."""
    others = []
    for name in SMALL_DATASETS:
        # Results name a dataset as OpenML does, without the prefix of its configuration.
        if name.removeprefix("cc18-") not in known:
            others.append(name)
    if more > len(others):
        return PAPERS_DATASETS
    return f"dataset={','.join(others[:more])}"


def _with_finished(change: str, comparison: Comparison, results: CellResults) -> str:
    """A change that adds datasets, with those that are finished, so that the answer is over all of them; empty if one
    command cannot name these, such as tables of one's own. Any other change stays as it is."""
    if _key(change) != "dataset":
        return change
    finished = []
    for cell, _ in comparison.pairs:
        overrides = results.cells["overrides"][cell]
        choices = dict(each.split("=", 1) for each in overrides if _key(each).partition(".")[0] == "dataset")
        # A command would give an option of one dataset, such as dataset.path, to all.
        if choices.keys() != {"dataset"}:
            return ""
        finished.append(choices["dataset"])
    if change != PAPERS_DATASETS:
        return f"dataset={','.join([*finished, change.partition('=')[2]])}"
    own = [name for name in finished if not name.startswith("cc18-")]
    # A dataset with a name of its own may have one in the suite, too, and is trained once.
    twins = ",".join(f"cc18-{name}" for name in own)
    return f"dataset=glob([cc18-*,{','.join(own)}],exclude=[{twins}])" if own else change


def rounded(number: int) -> str:
    """A number with two digits that count: 2,300."""
    digits = max(len(str(number)) - 2, 0)
    return f"{round(number, -digits):,}"


def _cost(comparisons: Sequence[Comparison], change: str, results: CellResults) -> str:
    """Expected time of the command, if more trials, or datasets, take as long as the finished ones; empty if the
    times of these are unknown."""
    # A set, because many comparisons share a reference, which is trained once.
    cells = set[int]()
    for each in comparisons:
        for pair in each.pairs:
            cells.update(pair)
    trials = results.trials[results.trials["cell"].isin(cells)]
    seconds = trials[list(SECONDS)].sum(axis=1)
    if not change or not seconds.sum() > 0:
        return ""
    key, _, value = change.partition("=")
    if key == "trials":
        cell_seconds = seconds.groupby(trials["cell"]).agg(["mean", "count"])
        # Finished trials are kept, so only those that are missing cost anything.
        n_missing = (int(value) - cell_seconds["count"]).clip(lower=0)
        expected = float((cell_seconds["mean"] * n_missing).sum())
        return f" (about {about(expected)} on one core)"
    n_datasets = N_PAPERS_DATASETS if change == PAPERS_DATASETS else 1 + value.count(",")
    seconds_of_dataset = float(seconds.sum()) / len(comparisons[0].pairs)
    return f" (about {about(n_datasets * seconds_of_dataset)} on one core, if they take as long as these)"


def price_of(cells: Sequence[Cell]) -> Price:
    """The processor seconds of a sweep's command with a change, as the plan of that command counts them."""
    return lambda change: make_plan(survey(_changed(cells, change))).seconds_in_all


def _changed(cells: Sequence[Cell], change: str) -> list[Cell]:
    """The cells of a sweep with another number of trials, or on other datasets."""
    key, _, value = change.partition("=")
    if key == "trials":
        n_trials = int(value)
        return [Cell(cell.overrides, with_trials(cell.config, n_trials)) for cell in cells]
    numbers = list(CC18)
    if change != PAPERS_DATASETS:
        numbers = [SMALL_DATASETS[name] for name in value.split(",")]
    # The cells of another dataset differ in that alone, and would be the same cells once more.
    first = cells[0].config.dataset
    changed = []
    for cell, number in itertools.product(cells, numbers):
        if cell.config.dataset == first:
            dataset = DatasetSettings("openml", number)
            changed.append(Cell(cell.overrides, with_dataset(cell.config, dataset)))
    return changed


def _priced(change: str, price: Price) -> str:
    """The cost of a command in words; empty if nothing is to be trained, or if it is unknown."""
    seconds = price(change) if change else 0.0
    return f" (about {about(seconds)} on one core)" if seconds else ""


def change_sweep(overrides: Sequence[str], flags: Sequence[str] = ()) -> Commands:
    """The sweep again with the change, and with flags such as ``--config-dir FOLDER``."""
    return lambda comparison, change: command_line("train.py", [*flags, *_without(overrides, change), change])


def cell_commands(results: CellResults, folder: Path) -> Commands:
    """The cells of a comparison as they were asked for; in one command if they have all combinations of options."""
    overrides = results.cells["overrides"].to_dict()
    folder_overrides = [] if folder == Path("results") else [f"paths.results={folder}"]

    def arguments_of(cell: int, change: str) -> list[str]:
        own = []
        for override in overrides[cell]:
            # A sweep file and its reference ask for more cells than this one.
            if _key(override) not in NOT_OF_A_CELL:
                own.append(override)
        return _without(own, change)

    def command(comparison: Comparison, change: str) -> str:
        dataset = results.rows[comparison.pairs[0][0]]["dataset"]
        # The effect of an axis is over all settings of the others.
        every = set(itertools.chain.from_iterable(comparison.pairs))
        # In one order, so that two effects on the same cells have one command.
        cells = [cell for cell in sorted(every) if results.rows[cell]["dataset"] == dataset]
        arguments = [arguments_of(cell, change) for cell in cells]
        shared_arguments = set(arguments[0]).intersection(*arguments)
        # In the order in which they were asked for.
        keys = list(dict.fromkeys(_key(each) for own in arguments for each in own if each not in shared_arguments))
        # Values that were not given on the command line are in the column of the results.
        if keys and set(keys) <= set(results.axes):
            settings = [tuple(str(results.cells.loc[cell, key]) for key in keys) for cell in cells]
            values = [list(dict.fromkeys(key_values)) for key_values in zip(*settings, strict=True)]
            # Cells that have all combinations of some options are one sweep over these.
            if len(set(settings)) == math.prod(map(len, values)):
                swept = [f"{key}={','.join(key_values)}" for key, key_values in zip(keys, values, strict=True)]
                shared = [override for override in arguments[0] if _key(override) not in keys]
                return command_line("train.py", [*shared, *swept, change, *folder_overrides])
        lines = [command_line("train.py", [*own, change, *folder_overrides]) for own in arguments]
        return AND.join(dict.fromkeys(lines))

    return command


def _without(overrides: Sequence[str], change: str) -> list[str]:
    """The overrides without those of the change's axis and its options."""
    # Options of reading, such as dataset.drop, name columns that another dataset lacks.
    return [each for each in overrides if _key(each).partition(".")[0] != _key(change)]


def _key(override: str) -> str:
    """The option that an override sets."""
    return override.partition("=")[0]
