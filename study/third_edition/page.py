"""The page of the third edition with its figure, by the rules of study/third_edition.md.

    python -m study.third_edition.page

It is made of `trials.parquet`, `tables.csv` and `where.json`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from paper.markdown import to_markdown
from scarf_lightning.errors import counted, enumeration
from scarf_lightning.reporting.blocks import table
from scarf_lightning.reporting.style import drawn
from scarf_lightning.verdicts import Interval

from ..results import FILE, NONE, SCARF, read
from .comparisons import DRAWS, NEXT, Compared, Tables, WorthAt, compare, means_of, tables_of, worth
from .figures import worths_figure
from .findings import AUROC, BUDGETS, CATBOOST, LINEAR, TRIALS, findings
from .learnt import CONSTANT, counts
from .sensitivity import VARIANTS

FOLDER = Path(__file__).parent
RATE, FROZEN, REALMLP = "SCARF, rate 0.3", "SCARF, frozen", "RealMLP"
ON_REALMLP = f"{REALMLP} with {SCARF}"
NAMES = {"SCARF, corruption.rate=0.3": RATE, "SCARF, probe": FROZEN}
"""Competitors that the page calls otherwise than `study.results`."""
PRETRAININGS = (SCARF, RATE, "VIME", "SCARF AE", "binning")
OTHERS = (LINEAR, "ridge regression", "random forest", "XGBoost", CATBOOST, REALMLP)
PAIRS = [*((name, NONE) for name in (*PRETRAININGS, FROZEN)), (ON_REALMLP, REALMLP), *((name, NONE) for name in OTHERS)]
BY_ROWS = {n: f"{SCARF}, pretrain.rows={n}" for n in (20, 200, 2000)}
"""SCARF whose pre-training learns from some of the training rows, by their number."""
LABELS_OF_ROWS = 20
"""The budget of labels beside which the rows without a label are counted."""
AMONG = [(name, SCARF) for name in PRETRAININGS[1:]]
SENSITIVE = [(SCARF, NONE), (CATBOOST, NONE)]
"""The pairs of the sensitivity analysis: one of question 1 and one of question 4."""
FEWEST_FAMILIES = 6
"""Families of tables below which a comparison has no answer."""
WHERE = FOLDER / "where.json"
"""The answer on question 3."""
PAGE = FOLDER / "page.md"

LARGEST_R_HAT = 1.01
"""The largest r-hat with which the model of question 3 is used."""
LIMITS = """\
- Tables have 650 to 70,000 rows. They come from OpenML's CC18 suite and from packages that teach statistics or machine
  learning, and an interval over tables is about tables like these.
- Every competitor has its defaults. Trees that are tuned do better, and so may networks.
- RealMLP's defaults were tuned by its authors on tables that may be among these.
- RealMLP of classes trains 300 steps on all labels. As its authors train it, with a fifth of the labels to stop by, it
  was 2.7 ± 0.8 points of AUROC better with 500 labels, and as good as the network without pre-training
  ([RealMLP with few labels](realmlp.md)).
- Where labels are few and one class is rare, all labels may be of one class. Such trials stay in the means, and every
  model predicts that class.
- With 20 labels a class may have none. Linear models and trees then give it no probability, and each of its test rows
  costs 36 nats of log-loss; networks give it a small one.

[Related work](related.md) says what others found."""
"""What the numbers do not say."""


@dataclass(frozen=True)
class Kind:
    """The kind of target of some tables.

    Attributes:
        name: in tables.csv.
        heading: of its part of the page.
        metrics: by their headings, from a frame of trials; higher is better. The first one is primary.
    """

    name: str
    heading: str
    metrics: dict[str, Callable[[pd.DataFrame], pd.Series]]


KINDS = (
    Kind(
        "classes",
        "Classes",
        {
            "AUROC": lambda trials: trials[AUROC],
            "accuracy": lambda trials: trials["accuracy"],
            "balanced accuracy": lambda trials: trials["balanced_accuracy"],
            "log-loss, hundredths less": lambda trials: -trials["log_loss"],
        },
    ),
    Kind(
        "number",
        "Numbers",
        {
            "rank correlation": lambda trials: trials["spearman"],
            "R2": lambda trials: trials["r2"],
            # The RMSE has a unit of each table's own; a difference of logarithms has none.
            "RMSE, percent less": lambda trials: -np.log(trials["rmse"]),
        },
    ),
)


def main() -> None:
    """Write the page."""
    where = json.loads(WHERE.read_text(encoding="utf-8"))
    text, figure = page(prepared(read(FILE)), pd.read_csv(FOLDER / "tables.csv"), where)
    (FOLDER / "worth.svg").write_bytes(drawn(figure)["svg"])
    PAGE.write_text(text, encoding="utf-8")


def prepared(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of `study.results` with numbers of labels, and the page's names of tables and competitors."""
    few = trials[trials["labels"] != "all"]
    return few.assign(labels=few["labels"].astype(int), competitor=few["competitor"].replace(NAMES))


def facts_of(tables: pd.DataFrame) -> pd.DataFrame:
    """The facts of tables.csv by the names that results have."""
    return tables.assign(table=tables["table"].str.removeprefix("cc18-")).set_index("table")


def page(
    trials: pd.DataFrame,
    tables: pd.DataFrame,
    where: Mapping[str, Any] | None = None,
    *,
    n_trials: int = TRIALS,
    n_draws: int = DRAWS,
) -> tuple[str, Figure]:
    """The page in Markdown, and its figure.

    Args:
        trials: as `prepared` gives them.
        tables: tables.csv.
        where: as `where.fitted` gives it, if that model was fitted.
        n_trials: that a mean on a table needs.
        n_draws: of the bootstrap.
    """
    facts = facts_of(tables)
    by_kind = {kind.name: _of_tables(trials, facts, kind.name) for kind in KINDS}
    classes = by_kind[KINDS[0].name]
    means = means_of(classes, AUROC, n_trials)
    known = {name: _worths(means, facts["family"], name, NONE, n_draws) for name in (*PRETRAININGS, *OTHERS)}
    figure = worths_figure({name: its for name, its in known.items() if its}, PRETRAININGS)
    shown = [kind for kind in KINDS if len(by_kind[kind.name])]
    extents = [_extent(by_kind[kind.name], kind.heading.lower()) for kind in shown]
    sections = [
        "# What is pre-training worth, in labels?",
        "\n".join(f"- {each}" for each in findings(classes, facts["family"], n_trials=n_trials, n_draws=n_draws)),
        "![Worth in labels of pre-trainings and of other models, by number of labels, with 95 % intervals](worth.svg)",
        "By the rules of [the protocol](../third_edition.md), on [tables](data.md) that no study here used before. "
        + " ".join(extents),
    ]
    for kind in shown:
        sections += _of_kind(kind, by_kind[kind.name], facts, n_trials, n_draws)
    if where is not None:
        sections += ["## Where does SCARF gain?", *_where(where)]
    sections += ["## Trials that have not learnt", _not_learnt(classes)]
    sections += ["## What this does not say", LIMITS]
    return "\n\n".join(sections) + "\n", figure


def _of_tables(trials: pd.DataFrame, facts: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The trials on tables with targets of a kind."""
    return trials[trials["dataset"].isin(facts.index[facts["kind"] == kind])]


def _extent(trials: pd.DataFrame, targets: str) -> str:
    """A sentence on how much there is, on tables with these targets."""
    most = int(trials.groupby(["dataset", "labels", "competitor"]).size().max())
    return (
        f"{counted(len(trials), 'trial')} of {counted(trials['competitor'].nunique(), 'competitor')} on "
        f"{counted(trials['dataset'].nunique(), 'table')} with {targets}, up to {counted(most, 'trial')} each."
    )


def _of_kind(kind: Kind, trials: pd.DataFrame, facts: pd.DataFrame, n_trials: int, n_draws: int) -> list[str]:
    """The tables of one kind of target."""
    families = facts["family"]
    by_metric = {}
    for heading, values in kind.metrics.items():
        by_metric[heading] = means_of(trials.assign(metric=values(trials)), "metric", n_trials)
    primary, *_ = by_metric
    of_primary = by_metric[primary]

    by_pair = {heading: _answers(means, families, PAIRS, n_draws) for heading, means in by_metric.items()}
    among = _answers(of_primary, families, AMONG, n_draws, together=True)
    sections = [
        f"## {kind.heading}: does it help, and beside what?",
        _answers_table(
            "answers", f"Mean difference in points of {primary}, with its interval and answer", by_pair[primary]
        ),
        *_on_fewer(by_pair[primary], trials["dataset"].nunique()),
        f"## {kind.heading}: the median table, and the next one",
        _tables_table(primary, by_pair[primary]),
        f"## {kind.heading}: which pre-training?",
        _answers_table("among", f"Beside SCARF, in points of {primary}; alike: within ±0.25 points", among, alike=True),
        f"## {kind.heading}: how many labels is it worth?",
        _worth_table(of_primary, families, n_draws),
        f"## {kind.heading}: by every metric",
    ]
    rows = []
    for heading, answers in by_pair.items():
        for pair, several in answers:
            for each in several:
                rows.append((pair, heading, each.labels, each.answer, _size(each), _ends(each.median), each.n))
    columns = ["pair", "metric", "labels", "answer", "mean", "median", "tables"]
    caption = "The same by every metric, in points, and the median table with the interval of the sign test"
    sections.append(to_markdown(table("metrics", caption, pd.DataFrame(rows, columns=columns))))
    if of_rows := _rows_table(of_primary, families, n_draws):
        sections += [f"## {kind.heading}: what are rows without a label worth?", of_rows]
    sections += [f"## {kind.heading}: without some tables", _sensitivity(of_primary, facts, n_draws)]
    return sections


def _answers(
    means: pd.DataFrame,
    families: pd.Series,
    pairs: Sequence[tuple[str, str]],
    n_draws: int,
    *,
    together: bool = False,
) -> list[tuple[str, list[Compared]]]:
    """The answers on each pair with enough tables, at each budget.

    Holm's correction is over the budgets of a pair, or over those of all pairs ``together``.
    """
    names, several = [], []
    for competitor, reference in pairs:
        if tables := _several(means, families, competitor, reference):
            names.append(f"{competitor}, over {reference}")
            several.append(tables)
    if not together:
        return [(name, compare(its, BUDGETS, n_draws)) for name, its in zip(names, several, strict=True)]
    every = (
        compare([tables for its in several for tables in its], [*BUDGETS] * len(several), n_draws) if several else []
    )
    n = len(BUDGETS)
    return [(name, every[place * n : (place + 1) * n]) for place, name in enumerate(names)]


def _several(means: pd.DataFrame, families: pd.Series, competitor: str, reference: str) -> list[Tables]:
    """The tables of a pair at each budget; none unless each budget has enough."""
    if not all((labels, name) in means.columns for labels in BUDGETS for name in (competitor, reference)):
        return []
    several = [tables_of(means, families, competitor, reference, labels) for labels in BUDGETS]
    return several if _are_enough(several) else []


def _are_enough(several: Sequence[Tables]) -> bool:
    """True if there are enough families at each budget for an answer."""
    return min(len(set(each.families)) for each in several) >= FEWEST_FAMILIES


def _size(each: Compared) -> str:
    return _ends(Interval(each.mean, each.low, each.high))


def _ends(interval: Interval) -> str:
    return f"{interval.mean:+.2f} ({interval.low:+.2f} to {interval.high:+.2f})"


def _answers_table(
    name: str, caption: str, rows: Sequence[tuple[str, Sequence[Compared]]], *, alike: bool = False
) -> str:
    """A line a pair: at each budget the mean difference with its interval, and the answer."""
    lines = []
    for pair, several in rows:
        cells = []
        for each in several:
            answer = "alike" if alike and each.is_alike else each.answer
            cells.append(f"{_size(each)}: {answer}")
        lines.append((pair, *cells))
    return to_markdown(table(name, caption, pd.DataFrame(lines, columns=["pair", *map(str, BUDGETS)])))


def _on_fewer(rows: Sequence[tuple[str, Sequence[Compared]]], n_tables: int) -> list[str]:
    """A sentence on the pairs that not all tables have."""
    by_n: dict[int, list[str]] = {}
    for pair, several in rows:
        by_n.setdefault(max(each.n for each in several), []).append(pair)
    return [f"On {n} of the {n_tables} tables: {'; '.join(pairs)}." for n, pairs in by_n.items() if n < n_tables]


def _tables_table(metric: str, rows: Sequence[tuple[str, Sequence[Compared]]]) -> str:
    """A line a pair: at each budget the median table, and the range of a further one."""
    lines = []
    for pair, several in rows:
        ranges = [f"{_ends(each.median)}; {each.following[0]:+.2f} to {each.following[1]:+.2f}" for each in several]
        lines.append((pair, *ranges))
    caption = (
        f"The median table in points of {metric}, with the interval of the sign test; then the range that holds the "
        f"next table with a chance of {NEXT:.0%}"
    )
    return to_markdown(table("tables", caption, pd.DataFrame(lines, columns=["pair", *map(str, BUDGETS)])))


def _rows_table(means: pd.DataFrame, families: pd.Series, n_draws: int) -> str:
    """A line a number of rows: what SCARF adds that learns from so many; nothing without enough tables.

    Every line is of the tables that have all of them.
    """
    competitors = {**BY_ROWS, 0: SCARF}
    wanted = [(LABELS_OF_ROWS, name) for name in (NONE, *competitors.values())]
    if not set(wanted) <= set(means.columns):
        return ""
    whole = means[wanted].dropna()
    several = [tables_of(whole, families, name, NONE, LABELS_OF_ROWS) for name in competitors.values()]
    if not _are_enough(several):
        return ""
    lines = []
    for rows, each in zip(competitors, compare(several, [LABELS_OF_ROWS] * len(several), n_draws), strict=True):
        lines.append((f"{rows:,}" if rows else "all that train", _size(each), each.answer, each.n))
    columns = ["rows of pre-training", "mean", "answer", "tables"]
    caption = f"SCARF over no pre-training with {LABELS_OF_ROWS} labels, by the rows that pre-training learns from"
    return to_markdown(table("rows", caption, pd.DataFrame(lines, columns=columns)))


def _worths(means: pd.DataFrame, families: pd.Series, competitor: str, reference: str, n_draws: int) -> list[WorthAt]:
    """The worth of a competitor at each budget; none if there are too few tables, or no curve that rises."""
    if not _several(means, families, competitor, reference):
        return []
    found = [worth(means, families, competitor, reference, labels, BUDGETS, n_draws) for labels in BUDGETS]
    return [each for each in found if each is not None]


def _worth_table(means: pd.DataFrame, families: pd.Series, n_draws: int) -> str:
    """A line a pair: how many times the labels it is worth at each budget."""
    lines = []
    for competitor, reference in PAIRS:
        found = {each.labels: each for each in _worths(means, families, competitor, reference, n_draws)}
        if found:
            cells = [
                f"×{found[labels].factor:.2f} ({found[labels].low:.2f} to {found[labels].high:.2f})"
                if labels in found
                else "unknown"
                for labels in BUDGETS
            ]
            lines.append((f"{competitor}, over {reference}", *cells))
    caption = "Times the labels that the reference needs for the same metric, with 95 % intervals"
    return to_markdown(table("worth", caption, pd.DataFrame(lines, columns=["pair", *map(str, BUDGETS)])))


def _sensitivity(means: pd.DataFrame, facts: pd.DataFrame, n_draws: int) -> str:
    """The primary metric again: one mean a family, and without tables that might decide by themselves."""
    rows = []
    for competitor, reference in SENSITIVE:
        several = _several(means, facts["family"], competitor, reference)
        if not several:
            continue
        for heading, keep in VARIANTS.items():
            kept = [keep(tables, facts) for tables in several]
            if _are_enough(kept):
                rows.append((f"{competitor}, over {reference}; {heading}", compare(kept, BUDGETS, n_draws)))
    return _answers_table("sensitivity", "The same answers without some tables", rows)


def _where(found: Mapping[str, Any]) -> list[str]:
    """Question 3: the facts of tables that go with a gain, or why the model is not used."""
    failed = []
    for each in found["checks"]:
        if not each["is_inside"]:
            failed.append(f"the {each['measure']} with {each['budget'].lstrip('b0')} labels")
    if not found["is_used"]:
        reasons = [f"its chains do not agree (r-hat {found['r_hat']:.3f})"] if found["r_hat"] > LARGEST_R_HAT else []
        reasons += [f"gains drawn from it differ from the trials in {enumeration(failed)}"] if failed else []
        return [f"The model of question 3 failed a check, so it is not used: {' and '.join(reasons)}."]
    lines = []
    for each in found["facts"]:
        size = _ends(Interval(each["mean"], each["low"], each["high"]))
        lines.append((each["fact"].replace("_", " "), each["labels"], size, "named" if each["named"] else ""))
    caption = "Points of AUROC that SCARF gains more with one standard deviation of a fact of the table"
    columns = ["fact", "labels", "mean, 95 % interval", "beside zero"]
    return [to_markdown(table("where", caption, pd.DataFrame(lines, columns=columns)))]


def _not_learnt(trials: pd.DataFrame) -> str:
    """A line a competitor: trials that predict one class, and those that are worse than class frequencies."""
    if CONSTANT not in set(trials["competitor"]):
        return f"Without {CONSTANT} it is not known which trials are worse than the class frequencies."
    found = counts(trials).reset_index()
    lines = []
    for name, of_competitor in found.groupby("competitor", sort=False):
        by_budget = of_competitor.set_index("labels")
        cells = []
        for labels in BUDGETS:
            if labels in by_budget.index:
                its = by_budget.loc[labels]
                cells.append(f"{its['one_class']} and {its['worse']} of {its['trials']}")
            else:
                cells.append("none")
        lines.append((str(name), *cells))
    caption = (
        "Trials that predict one class, and those worse than the class frequencies by log-loss, by number of labels"
    )
    return to_markdown(table("learnt", caption, pd.DataFrame(lines, columns=["competitor", *map(str, BUDGETS)])))


if __name__ == "__main__":
    main()
