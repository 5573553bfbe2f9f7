"""The page of the third edition with its figure, by the rules of study/third_edition.md.

    python -m study.third_edition.page

It is made of `trials.parquet`, `tables.csv` and `where.json`.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from paper.markdown import to_markdown
from scarf_lightning.errors import counted, enumeration
from scarf_lightning.reporting.blocks import table
from scarf_lightning.reporting.style import drawn
from scarf_lightning.verdicts import Interval

from ..results import FILE, NONE, SCARF, read
from .comparisons import BUDGETS, NEXT, Compared, compare, means_of, tables_of, worth
from .figures import worths_figure
from .findings import AUROC, CATBOOST, LINEAR, findings
from .learnt import counts
from .sensitivity import variants

Rows = Sequence[tuple[str, Sequence[Compared]]]
"""Pairs of competitors, each compared at every budget."""
FOLDER = Path(__file__).parent
NAMES = {"SCARF, corruption.rate=0.3": "SCARF, rate 0.3", "SCARF, probe": "SCARF, frozen"}
"""Competitors that the page calls otherwise than `study.results`."""
PRETRAININGS = (SCARF, "SCARF, rate 0.3", "VIME", "SCARF AE", "binning")
OTHERS = (LINEAR, "ridge regression", "random forest", "XGBoost", CATBOOST, "RealMLP")
PAIRS = [
    *((name, NONE) for name in (*PRETRAININGS, "SCARF, frozen")),
    ("RealMLP with SCARF", "RealMLP"),
    *((name, NONE) for name in OTHERS),
]
BY_ROWS = {
    "20": "SCARF, pretrain.rows=20",
    "200": "SCARF, pretrain.rows=200",
    "2,000": "SCARF, pretrain.rows=2000",
    "all that train": SCARF,
}
"""SCARF by the number of training rows that its pre-training learns from."""
LABELS_OF_ROWS = 20
"""The budget of labels beside which the rows without a label are counted."""
SENSITIVE = [(SCARF, NONE), (CATBOOST, NONE)]
"""The pairs of the sensitivity analysis: one of question 1 and one of question 4."""
FEWEST_FAMILIES = 6
"""Families of tables below which a comparison has no answer."""
PAGE = FOLDER / "page.md"

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


MEDIAN_CAPTION = (
    "The median table in points of {}, with the interval of the sign test; then the range that holds the next table "
    f"with a chance of {NEXT:.0%}"
)
METRICS = {
    "Classes": {
        "AUROC": AUROC,
        "accuracy": "accuracy",
        "balanced accuracy": "balanced_accuracy",
        "log-loss, hundredths less": "less_log_loss",
    },
    "Numbers": {"rank correlation": "spearman", "R2": "r2", "RMSE, percent less": "less_rmse"},
}
"""The columns of a kind of target by the page's names; higher is better. The first one is primary."""


def main() -> None:
    """Write the page and its figure."""
    text, figure = page()
    (FOLDER / "worth.svg").write_bytes(drawn(figure)["svg"])
    PAGE.write_text(text, encoding="utf-8")


def read_trials() -> pd.DataFrame:
    """The trials with few labels, by the page's names of competitors."""
    trials = read(FILE)
    trials = trials[trials["labels"] != "all"]
    trials = trials.assign(labels=trials["labels"].astype(int), competitor=trials["competitor"].replace(NAMES))
    # The RMSE has a unit of each table's own; a difference of logarithms has none.
    return trials.assign(less_log_loss=-trials["log_loss"], less_rmse=-np.log(trials["rmse"]))


def read_facts() -> pd.DataFrame:
    """The facts of tables.csv by the names that results have."""
    facts = pd.read_csv(FOLDER / "tables.csv")
    return facts.assign(table=facts["table"].str.removeprefix("cc18-")).set_index("table")


def page() -> tuple[str, Figure]:
    """The page in Markdown, and its figure."""
    trials, facts = read_trials(), read_facts()
    classes, numbers = (
        trials[trials["dataset"].isin(facts.index[facts["kind"] == kind])] for kind in ("classes", "number")
    )

    means = means_of(classes, AUROC)
    worths = {}
    for name in (*PRETRAININGS, *OTHERS):
        if found := _worths(means, facts["family"], name, NONE):
            worths[name] = found
    sections = [
        "# What is pre-training worth, in labels?",
        "\n".join(f"- {each}" for each in findings(classes, facts["family"])),
        "![Worth in labels of pre-trainings and of other models, by number of labels, with 95 % intervals](worth.svg)",
        "By the rules of [the protocol](../third_edition.md), on [tables](data.md) that no study here used before. "
        f"{_extent(classes, 'classes')} {_extent(numbers, 'numbers')}",
        *_of_kind("Classes", classes, facts),
        *_of_kind("Numbers", numbers, facts),
        "## Where does SCARF gain?",
        _where(),
        "## Trials that have not learnt",
        _not_learnt(classes),
        "## What this does not say",
        LIMITS,
    ]
    return "\n\n".join(sections) + "\n", worths_figure(worths, PRETRAININGS)


def _extent(trials: pd.DataFrame, targets: str) -> str:
    """A sentence on how much there is, on tables with these targets."""
    most = int(trials.groupby(["dataset", "labels", "competitor"]).size().max())
    return (
        f"{counted(len(trials), 'trial')} of {counted(trials['competitor'].nunique(), 'competitor')} on "
        f"{counted(trials['dataset'].nunique(), 'table')} with {targets}, up to {counted(most, 'trial')} each."
    )


def _of_kind(kind: str, trials: pd.DataFrame, facts: pd.DataFrame) -> list[str]:
    """The tables of one kind of target."""
    families = facts["family"]
    by_metric = {heading: means_of(trials, column) for heading, column in METRICS[kind].items()}
    primary, *_ = by_metric
    of_primary = by_metric[primary]

    by_pair = {heading: _answers(means, families) for heading, means in by_metric.items()}
    sections = [
        f"## {kind}: does it help, and beside what?",
        _pairs_table(
            "answers", f"Mean difference in points of {primary}, with its interval and answer", by_pair[primary]
        ),
        *_on_fewer(by_pair[primary], trials["dataset"].nunique()),
        f"## {kind}: the median table, and the next one",
        _pairs_table("tables", MEDIAN_CAPTION.format(primary), by_pair[primary], _median_and_next),
        f"## {kind}: which pre-training?",
        _pairs_table(
            "among",
            f"Beside SCARF, in points of {primary}; alike: within ±0.25 points",
            _among(of_primary, families),
            _answer_or_alike,
        ),
        f"## {kind}: how many labels is it worth?",
        _worth_table(of_primary, families),
        f"## {kind}: by every metric",
    ]
    rows = []
    for heading, answers in by_pair.items():
        for pair, several in answers:
            for labels, each in zip(BUDGETS, several, strict=True):
                rows.append((pair, heading, labels, each.answer, _ends(each.interval), _ends(each.median), each.n))
    columns = ["pair", "metric", "labels", "answer", "mean", "median", "tables"]
    caption = "The same by every metric, in points, and the median table with the interval of the sign test"
    sections.append(to_markdown(table("metrics", caption, pd.DataFrame(rows, columns=columns))))
    if of_rows := _rows_table(of_primary, families):
        sections += [f"## {kind}: what are rows without a label worth?", of_rows]
    sections += [f"## {kind}: without some tables", _sensitivity(of_primary, facts)]
    return sections


def _answers(means: pd.DataFrame, families: pd.Series) -> Rows:
    """The answers on each pair with enough tables, at each budget, with Holm's correction over the budgets."""
    answers = []
    for competitor, reference in PAIRS:
        if tables := _several(means, families, competitor, reference):
            answers.append((f"{competitor}, over {reference}", compare(tables)))
    return answers


def _among(means: pd.DataFrame, families: pd.Series) -> Rows:
    """The answers on other pre-trainings over SCARF, with Holm's correction over all of them and the budgets."""
    known = {name: _several(means, families, name, SCARF) for name in PRETRAININGS[1:]}
    every = iter(compare([tables for its in known.values() for tables in its]))
    return [(f"{name}, over {SCARF}", [next(every) for _ in its]) for name, its in known.items() if its]


def _several(means: pd.DataFrame, families: pd.Series, competitor: str, reference: str) -> list[pd.DataFrame]:
    """The tables of a pair at each budget; none unless each budget has enough."""
    if not {competitor, reference} <= set(means.columns.get_level_values("competitor")):
        return []
    several = [tables_of(means, families, competitor, reference, labels) for labels in BUDGETS]
    return several if _are_enough(several) else []


def _are_enough(several: Sequence[pd.DataFrame]) -> bool:
    """True if there are enough families at each budget for an answer."""
    return min(each["family"].nunique() for each in several) >= FEWEST_FAMILIES


def _ends(interval: Interval) -> str:
    return f"{interval.mean:+.2f} ({interval.low:+.2f} to {interval.high:+.2f})"


def _answer(each: Compared) -> str:
    return f"{_ends(each.interval)}: {each.answer}"


def _answer_or_alike(each: Compared) -> str:
    return f"{_ends(each.interval)}: {'alike' if each.is_alike else each.answer}"


def _median_and_next(each: Compared) -> str:
    low, high = each.following
    return f"{_ends(each.median)}; {low:+.2f} to {high:+.2f}"


def _pairs_table(name: str, caption: str, rows: Rows, cell: Callable[[Compared], str] = _answer) -> str:
    """A line a pair, with a cell for each budget."""
    return _by_budget(name, caption, "pair", [(pair, *map(cell, several)) for pair, several in rows])


def _on_fewer(rows: Rows, n_tables: int) -> list[str]:
    """A sentence on the pairs that not all tables have."""
    by_n: dict[int, list[str]] = {}
    for pair, several in rows:
        by_n.setdefault(max(each.n for each in several), []).append(pair)
    return [f"On {n} of the {n_tables} tables: {'; '.join(pairs)}." for n, pairs in by_n.items() if n < n_tables]


def _rows_table(means: pd.DataFrame, families: pd.Series) -> str:
    """A line a number of rows: what SCARF adds that learns from so many; nothing where none was trained.

    Every line is of the tables that have all of them.
    """
    wanted = [(LABELS_OF_ROWS, name) for name in (NONE, *BY_ROWS.values())]
    if not set(wanted) <= set(means.columns):
        return ""
    whole = means[wanted].dropna()
    several = [tables_of(whole, families, name, NONE, LABELS_OF_ROWS) for name in BY_ROWS.values()]
    compared = zip(BY_ROWS, compare(several), strict=True)
    lines = [(rows, _ends(each.interval), each.answer, each.n) for rows, each in compared]
    columns = ["rows of pre-training", "mean", "answer", "tables"]
    caption = f"SCARF over no pre-training with {LABELS_OF_ROWS} labels, by the rows that pre-training learns from"
    return to_markdown(table("rows", caption, pd.DataFrame(lines, columns=columns)))


def _worths(means: pd.DataFrame, families: pd.Series, competitor: str, reference: str) -> dict[int, Interval]:
    """The worth of a competitor by budget; none if there are too few tables, or no curve that rises."""
    if not _several(means, families, competitor, reference):
        return {}
    found = {labels: worth(means, families, competitor, labels, reference) for labels in BUDGETS}
    return {labels: each for labels, each in found.items() if each is not None}


def _worth_table(means: pd.DataFrame, families: pd.Series) -> str:
    """A line a pair: how many times the labels it is worth at each budget."""
    lines = []
    for competitor, reference in PAIRS:
        if found := _worths(means, families, competitor, reference):
            cells = dict.fromkeys(BUDGETS, "unknown")
            for labels, each in found.items():
                cells[labels] = f"×{each.mean:.2f} ({each.low:.2f} to {each.high:.2f})"
            lines.append((f"{competitor}, over {reference}", *cells.values()))
    caption = "Times the labels that the reference needs for the same metric, with 95 % intervals"
    return _by_budget("worth", caption, "pair", lines)


def _sensitivity(means: pd.DataFrame, facts: pd.DataFrame) -> str:
    """The primary metric again: one mean a family, and without tables that might decide by themselves."""
    rows = []
    for competitor, reference in SENSITIVE:
        found = [variants(tables, facts) for tables in _several(means, facts["family"], competitor, reference)]
        for heading in found[0] if found else ():
            kept = [each[heading] for each in found]
            if _are_enough(kept):
                rows.append((f"{competitor}, over {reference}; {heading}", compare(kept)))
    return _pairs_table("sensitivity", "The same answers without some tables", rows)


def _where() -> str:
    """Question 3: why its model is not used."""
    checks = json.loads((FOLDER / "where.json").read_text(encoding="utf-8"))["checks"]
    failed = [
        f"the {each['measure']} with {each['budget'].lstrip('b0')} labels" for each in checks if not each["is_inside"]
    ]
    return (
        "The model of question 3 failed a check, so it is not used: gains drawn from it differ from the trials in "
        f"{enumeration(failed)}."
    )


def _not_learnt(trials: pd.DataFrame) -> str:
    """A line a competitor: trials that predict one class, and those that are worse than class frequencies."""
    lines = []
    for name, of_competitor in counts(trials).reset_index().groupby("competitor", sort=False):
        cells = dict.fromkeys(BUDGETS, "none")
        for its in of_competitor.to_dict("records"):
            cells[its["labels"]] = f"{its['one_class']} and {its['worse']} of {its['trials']}"
        lines.append((str(name), *cells.values()))
    caption = (
        "Trials that predict one class, and those worse than the class frequencies by log-loss, by number of labels"
    )
    return _by_budget("learnt", caption, "competitor", lines)


def _by_budget(name: str, caption: str, of: str, lines: Sequence[tuple[str, ...]]) -> str:
    """A table with a column for each budget."""
    return to_markdown(table(name, caption, pd.DataFrame(lines, columns=[of, *map(str, BUDGETS)])))


if __name__ == "__main__":
    main()
