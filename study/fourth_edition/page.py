"""The pages of the fourth edition with their figures, by the rules of study/fourth_edition.md.

    python -m study.fourth_edition.page

They are made of `trials.parquet` and `tables.csv`: page.md of the tables of classes, and numbers.md of those of
numbers. There is no page while a table lacks trials, unless the word ``ended`` says that no more will be trained.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from scarf_lightning.errors import enumeration
from scarf_lightning.reporting.style import drawn
from scarf_lightning.verdicts import Interval

from .bounds import bounds, worse_than_constant
from .comparisons import Compared, Rows, compare_over, means_of, worth
from .figures import worths_figure
from .findings import answers, findings, headline_of
from .sensitivity import EXTREME, VARIANTS
from .trials import (
    BUDGETS,
    CONSTANT,
    FOLDER,
    KINDS,
    NONE,
    PRETRAININGS,
    SCARF,
    Kind,
    read_facts,
    read_trials,
    unfinished,
)

LIMITS = """\
- Tables have 650 to 70,000 rows. Four with classes come from OpenML's CC18 suite, all others from packages that teach
  statistics or machine learning. An interval over tables is about tables like these.
- Every competitor has its defaults. Trees that are tuned do better, and so may networks.

[Related work](related.md) says what others found."""
"""The limits of the numbers."""
RARE_CLASSES = (
    "Where labels are few and one class is rare, all labels may be of one class. Such trials stay in the means, and "
    "every model predicts that class. With 20 labels a class may have none. Linear models and trees then give it no "
    "probability, and each of its test rows costs 36 nats of log-loss; networks give it a small one."
)
ANSWERS = (
    "The mean difference in points, with its interval and answer; how many tables gain; the mean without the three "
    "tables that weigh most. The headline is of the best of four, and the mean of the best is too large on the "
    "average: here are all four."
)
NEXT_TABLE = (
    "The median table in points, with the interval of the sign test; then the range that holds the next table with a "
    "chance of 80 %."
)

ENDS = "{0.mean:+.2f} ({0.low:+.2f} to {0.high:+.2f})"
MULTIPLE = "×{0.mean:.2f} ({0.low:.2f} to {0.high:.2f})"


def main() -> None:
    """Write the pages and their figures."""
    trials, facts = read_trials(), read_facts()
    for name, kind in KINDS.items():
        tables = facts[facts["kind"] == name]
        trials_of_kind = trials[trials["dataset"].isin(tables.index)]
        lacking = unfinished(trials_of_kind, tables)
        if lacking and ("ended" not in sys.argv or trials_of_kind.empty):
            sys.exit(
                f"{kind.file}.md is not made, for {len(lacking)} of {len(tables)} tables of {kind.targets} have too "
                "few trials in study/fourth_edition/trials.parquet: train them by study/fourth_edition.md."
            )
        text, figure = page(kind, trials_of_kind, tables)
        (FOLDER / f"{kind.file}.svg").write_bytes(drawn(figure)["svg"])
        (FOLDER / f"{kind.file}.md").write_text(text, encoding="utf-8")


def page(kind: Kind, trials: pd.DataFrame, facts: pd.DataFrame) -> tuple[str, Figure]:
    """The page of one kind of target in Markdown, and its figure.

    Args:
        trials, facts: of the tables of this kind.
    """
    primary, *beside = kind.metrics
    means = means_of(trials, kind.metrics[primary])
    gains = compare_over(NONE, PRETRAININGS, means, facts)
    without = compare_over(NONE, PRETRAININGS, means, facts, EXTREME)
    best = headline_of(gains)
    pairs = [(name, reference) for reference in (NONE, best) if reference for name in kind.others]

    def answer_pairs(means: pd.DataFrame, heading: str | None = None) -> Rows:
        """Each pair: the pre-trainings are corrected together, and each pair of another model by itself."""
        rows = _over(NONE, compare_over(NONE, PRETRAININGS, means, facts, heading))
        for name, reference in pairs:
            rows |= _over(reference, compare_over(reference, [name], means, facts, heading))
        return rows

    rows = answer_pairs(means)
    worths, others = (worths_over(NONE, names, means, facts) for names in (PRETRAININGS, kind.others))
    every_worth = _over(NONE, worths | others)
    if best:
        every_worth |= _over(best, worths_over(best, kind.others, means, facts))
    multiples = [
        f"{name} {enumeration(_multiples(by_budget, '{0.mean:.1f}'))}"
        for name, by_budget in (worths | others).items()
        if name in (best, *others)
    ]
    bullets = [*findings(primary, gains, without), f"Worth in labels, as a multiple: {'; '.join(multiples)}."]
    sections = [
        f"# What is pre-training worth, in labels? Tables of {kind.targets}",
        "\n".join(f"- {each}" for each in bullets),
        "![Worth of pre-trainings and of other models in labels, by number of labels, with 95 % intervals]"
        f"({kind.file}.svg)",
        _extent(kind, trials, facts),
        f"## Is a pre-training worth labels, and beside what? By {primary}",
        ANSWERS,
        _of_pairs(rows, _weighed),
        "\n".join(f"- {pair}: {answers(compared)}." for pair, compared in rows.items()),
        "## The median table, and the next one",
        NEXT_TABLE,
        _of_pairs(rows, _median_and_next),
        "## Which pre-training?",
        "Beside SCARF, in points; alike: within ±0.25 points.",
        _of_pairs(_over(SCARF, compare_over(SCARF, PRETRAININGS[1:], means, facts)), _answer_or_alike),
        "## How many labels is it worth?",
        "Times the labels that the reference needs for the same metric, with 95 % intervals.",
        _table({pair: _multiples(by_budget, MULTIPLE) for pair, by_budget in every_worth.items()}),
    ]
    if kind.has_bounds:
        sections += ["## Does the network reach its bounds?", RARE_CLASSES]
        for caption, figures in bounds(trials, means).items():
            sections += [f"Bound: {caption}.", _of_figures(figures)]
    else:
        worse = worse_than_constant(trials, "rmse").drop(CONSTANT)
        sections += ["## Percent of trials whose RMSE is above that of the mean of the labels", _of_figures(worse)]
    for heading in beside:
        rows = answer_pairs(means_of(trials, kind.metrics[heading]))
        sections += [f"## By {heading}", "As the first table, in points.", _of_pairs(rows, _weighed)]
    sections.append("## Without some tables")
    for heading in VARIANTS:
        sections += [
            f"The answers of the first table again, {heading}.",
            _of_pairs(answer_pairs(means, heading), _answer),
        ]
    sections += ["## What this does not say", LIMITS]
    return "\n\n".join(sections) + "\n", worths_figure(worths, others)


def worths_over(
    reference: str, competitors: Sequence[str], means: pd.DataFrame, facts: pd.DataFrame
) -> dict[str, dict[int, Interval]]:
    """The worth of each competitor by budget; none where the curve of the reference does not rise."""
    worths: dict[str, dict[int, Interval]] = {}
    for name in competitors:
        multiples = {labels: worth(means, facts, name, reference, labels) for labels in BUDGETS}
        if measured := {labels: each for labels, each in multiples.items() if each}:
            worths[name] = measured
    return worths


def _extent(kind: Kind, trials: pd.DataFrame, facts: pd.DataFrame) -> str:
    """A sentence on how much there is, and one on the tables that lack trials."""
    text = (
        "By the rules of [the protocol](../fourth_edition.md), on [tables](data.md) that the third edition looked at "
        f"with another recipe: {len(trials):,} trials on {trials['dataset'].nunique()} tables of {kind.targets}. Each "
        "competitor has ten trials of a table with 20 and 50 labels, and five with 100 and 500."
    )
    if lacking := unfinished(trials, facts):
        most = facts["rows"].drop(lacking).max()
        text += f" These lack trials: {enumeration(lacking)}. The others have at most {most:,} rows."
    return text


def _over(reference: str, competitors: Mapping[str, Any]) -> dict[str, Any]:
    """Comparisons or worths of competitors, by the names of their pairs."""
    return {f"{name}, over {reference}": each for name, each in competitors.items()}


def _answer(each: Compared) -> str:
    return f"{ENDS.format(each.interval)}: {each.answer}"


def _weighed(each: Compared) -> str:
    return f"{_answer(each)}; {each.n_gains} of {each.n}; {each.without:+.2f}"


def _answer_or_alike(each: Compared) -> str:
    return f"{ENDS.format(each.interval)}: alike" if each.is_alike else _answer(each)


def _median_and_next(each: Compared) -> str:
    low, high = each.following
    return f"{ENDS.format(each.median)}; {low:+.2f} to {high:+.2f}"


def _of_pairs(rows: Rows, cell: Callable[[Compared], str]) -> str:
    return _table({pair: list(map(cell, compared)) for pair, compared in rows.items()})


def _of_figures(figures: pd.DataFrame) -> str:
    lines = {str(name): [f"{each:.2f}" for each in row] for name, row in figures.iterrows()}
    return _table(lines, figures.columns)


def _multiples(worths: Mapping[int, Interval], form: str) -> list[str]:
    """A worth for each budget."""
    return [form.format(worths[labels]) if labels in worths else "unknown" for labels in BUDGETS]


def _table(lines: Mapping[str, Sequence[str]], columns: Iterable[Any] = BUDGETS) -> str:
    """A table in Markdown."""
    heading = ["", *map(str, columns)]
    rows = [heading, ["---"] * len(heading), *([name, *cells] for name, cells in lines.items())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
