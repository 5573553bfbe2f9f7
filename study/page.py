"""The page of the study with its figures, made from study/results.parquet.

    python -m study.page [also=FILE] [out=FILE.md]

``also`` names a file of `study.results` with trials of your own; its competitors stand beside ours.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError, counted
from scarf_lightning.report.blocks import named, number, table, to_markdown
from scarf_lightning.report.style import GREY, PAGE, colour, marker, new_figure, styled
from scarf_lightning.verdicts import (
    Interval,
    Verdict,
    answers_together,
    friedman_test,
    holm,
    judge,
    mean_interval,
    overlap_ratio,
    rank_competitors,
    score_array,
    scores_of,
)

from .results import FACTS, FILE, NONE, SCARF, read
from .writing import FEWEST_TABLES, LEVEL, budgets_of, labels_in_words, level_in_words, write_page

RIVALS = ("logistic regression", "random forest", "XGBoost", "CatBoost", "TabM")
PAPER = f"{SCARF}, paper's recipe"
PRETRAININGS = (SCARF, PAPER, "SCARF AE", "VIME", "SubTab", "MLP-PLR", "MLP-PLR with SCARF")
OTHER_METRICS = {"balanced_accuracy": "balanced accuracy", "auroc": "AUROC"}
RIVALS_FROM = 4
"""The rivals' first colour, so that they share none with the first pre-trainings."""
MOST_TABLES = 0.75
"""The share of the tables that a competitor needs to take part in averages over tables."""


def main(arguments: Sequence[str]) -> None:
    """Write the page.

    Raises:
        UsageError: an argument is unknown.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    if set(given) - {"also", "out"}:
        raise UsageError("The options are also=FILE, with trials of yours, and out=FILE.md.")
    out = Path(given.get("out") or FILE.with_name("page.md"))
    trials = read(FILE, *([Path(given["also"])] if given.get("also") else []))
    text, figures = page(trials)
    write_page(out, text, figures, len(trials))


def page(trials: pd.DataFrame) -> tuple[str, dict[str, Figure]]:
    """The page in Markdown, and its figures by name.

    Args:
        trials: as `study.results.read` returns them.
    """
    budgets = budgets_of(trials)
    names = sorted(trials["competitor"].unique(), key=_place)
    pretrained = [name for name in names if name not in (NONE, *RIVALS) and not is_part(name)]
    others = [name for name in pretrained if name != SCARF and not name.startswith("MLP-PLR")]
    counts = trials.groupby(["dataset", "labels", "competitor"])["trial"].nunique()
    gains = gains_over(trials, budgets, [(name, NONE) for name in pretrained])
    against = gains_over(trials, budgets, [(SCARF, rival) for rival in RIVALS if rival in names])
    beside = gains_over(trials, budgets, [(name, SCARF) for name in others])
    parts_of_scarf = gains_over(trials, budgets, [(name, SCARF) for name in names if is_part(name)])
    competing = trials[~trials["competitor"].map(is_part)]
    whole = complete(competing)
    figures = {} if whole.empty else {"learning-curves": learning_curves(whole)}
    if gains:
        figures["gains"] = gains_figure(gains, budgets)
    tables = by_table(trials, budgets)
    if not tables.empty:
        figures["tables"] = tables_figure(tables)
    parts = [
        "# When does pre-training help?",
        FIRST_EDITION,
        f"{counted(trials['dataset'].nunique(), 'table')}, {counted(len(budgets), 'label budget')}, "
        f"{counted(len(names), 'competitor')}, {_trials_each(counts)}: {len(trials):,} trials in all. The "
        "[protocol](README.md) was written first. Made by",
        "<!-- not run: writes this page, from all results; tests/study makes one -->\n"
        "```console\npython -m study.page\n```",
        "## The answer",
        *answer(gains, against, beside, parts_of_scarf),
    ]
    if "learning-curves" in figures:
        parts += [
            "## Accuracy by number of labels",
            "![Mean accuracy of each competitor by number of labels](learning-curves.png)",
            _levels_table(whole),
        ]
    if "gains" in figures:
        parts += [
            "## What pre-training and embeddings gain",
            "![Gain of each pre-training, and of numerical embeddings](gains.png)",
            _gains_table(gains),
        ]
        parts += [other_metrics(trials, budgets)]
    if parts_of_scarf:
        parts += ["## Which part of SCARF matters", _parts_table(parts_of_scarf)]
    if "tables" in figures:
        parts += [
            "## Which tables gain",
            "![Gain of SCARF on each table](tables.png)",
            common(tables),
            _tables_table(tables),
        ]
    parts += ["## Ranks", _ranks(competing, budgets), "## What this does not say", LIMITS, "## Repeat it", REPEAT]
    return "\n\n".join(part.strip() for part in parts if part) + "\n", figures


FIRST_EDITION = """\
> **What is wrong with this first edition.** With few labels many of its networks had not learnt: with 20, 50, 100 and
> 500 labels 26, 17, 12 and 6 % of those without pre-training predict one class, and MLP-PLR is at chance on several
> tables. Its budgets leave out the labels of 54 to 1,099 validation rows.
>
> **[The second edition](second_edition/page.md) answers instead.**"""

LIMITS = """\
- Tables of 540 to 10,992 rows, classes only. Nothing here is about large tables or numbers as targets.
- Each budget is the number of *training* labels. All competitors, also those that stop early or are tuned, see the
  labels of the same validation rows, a tenth of the table.
- Rivals are tuned by five tries on the validation rows up to 100 labels, and use their defaults beyond.
- An interval over tables is about tables like these.
- Tables and competitors have different numbers of trials so far ([how far it is](README.md)).
  Differences are paired by trial."""

REPEAT = """\
One row, in a minute:

<!-- not run: takes a table of OpenML -->
```console
python train.py dataset=cc18-balance-scale split=stratified regime=few regime.labels=20 \\
  pretrain=none,scarf recipe=practical
```

Everything: `python train.py sweeps=study/study.yaml`, likewise `all_labels.yaml` and `more.yaml`; then
`python -m study.results results=results` and `python -m study.page`."""


def differences(trials: pd.DataFrame, labels: str, first: str, second: str) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Paired differences of accuracy ``(tables, trials)`` at one budget, and the tables that have any."""
    part = trials[(trials["labels"] == labels) & trials["competitor"].isin([first, second])]
    if part["competitor"].nunique() < 2:
        return np.empty((0, 0)), []
    array = score_array(scores_of(part, competitor=["competitor"]), [first, second])
    found = array.values[:, 0] - array.values[:, 1]
    kept = np.flatnonzero(np.isfinite(found).any(axis=1))
    return found[kept], [str(array.datasets[place]) for place in kept]


class Gain(NamedTuple):
    """What is known of a competitor beside a reference at one label budget.

    ``claimed`` is the answer that survives Holm's correction over the budgets of the pair.
    """

    competitor: str
    reference: str
    labels: str
    verdict: Verdict
    claimed: str


def gains_over(trials: pd.DataFrame, budgets: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Gain]:
    """The verdict on each pair of competitors at each budget with tables enough for one."""
    gains: list[Gain] = []
    for competitor, reference in pairs:
        judged: list[tuple[str, Verdict]] = []
        for labels in budgets:
            found, tables = differences(trials, labels, competitor, reference)
            if len(tables) >= FEWEST_TABLES:
                judged.append((labels, judge(found)))
        claims = answers_together([verdict for _, verdict in judged]) if judged else []
        gains += [
            Gain(competitor, reference, labels, verdict, claimed)
            for (labels, verdict), claimed in zip(judged, claims, strict=True)
        ]
    return gains


def answer(gains: Sequence[Gain], against: Sequence[Gain], beside: Sequence[Gain], parts: Sequence[Gain]) -> list[str]:
    """Sentences that answer the protocol's questions 1, 3, 4 and 5."""
    if not gains:
        return [f"Fewer than {FEWEST_TABLES} tables have trials of a pre-training and of its reference: no answer yet."]
    lines = ["**Does SCARF help a network?**\n"]
    lines += [
        f"- With {labels_in_words(gain.labels)}: {_verdict(gain.claimed, gain.verdict)}."
        for gain in gains
        if gain.competitor == SCARF
    ]
    if against:
        lines += ["\n**Does SCARF help, compared with each rival?**\n", *_by_pair(against, "reference")]
    if beside:
        lines += ["\n**Does another pre-training help, compared with SCARF?**\n", *_by_pair(beside, "competitor")]
    if parts:
        lines += ["\n**Does exchanging one part of SCARF help?**\n", *_by_pair(parts, "competitor")]
    lines.append(
        "\nThe answers over the label budgets hold together at 5 % (Holm 1979), and are about the typical one of "
        "tables like these. *Size open*: the direction is claimed, and the size may be below one point, which makes no "
        "practical difference. *Mean* is the mean gain over tables, also in brackets; *typical* is that of the typical "
        "table, by signed normal scores. Both are in points of accuracy, with 95 % intervals, that of the mean from 25 "
        "tables on."
    )
    return ["\n".join(lines)]


def _by_pair(gains: Sequence[Gain], of: str) -> list[str]:
    """A line a pair of competitors, which is called by one of them, with its answer at each budget."""
    lines = []
    for name in dict.fromkeys(getattr(gain, of) for gain in gains):
        said = [
            f"{labels_in_words(gain.labels)} {_brief(gain.claimed, gain.verdict)}"
            for gain in gains
            if getattr(gain, of) == name
        ]
        lines.append(f"- {name}: {'; '.join(said)}.")
    return lines


def other_metrics(trials: pd.DataFrame, budgets: Sequence[str]) -> str:
    """SCARF's mean gain by other metrics, which see what accuracy hides where one class is rare."""
    rows = []
    for metric, label in OTHER_METRICS.items():
        if trials[metric].notna().all():
            gains = gains_over(trials.assign(accuracy=trials[metric]), budgets, [(SCARF, NONE)])
            row = {gain.labels: f"{points(gain.verdict.average)}, {gain.claimed}" for gain in gains}
            rows.append({"metric": label} | row)
    if not rows:
        return ""
    caption = "SCARF's mean gain in points of other metrics, which the protocol does not ask for."
    headings = {labels: labels_in_words(labels) for labels in budgets}
    return to_markdown(table("metrics", caption, pd.DataFrame(rows), headings=headings))


def _verdict(claimed: str, verdict: Verdict) -> str:
    return (
        f"{claimed}; mean {points(verdict.average)}, typical {points(verdict.interval)}; better on {verdict.won} of "
        f"{verdict.datasets} tables, worse on {verdict.lost}{_next(verdict)}"
    )


def _next(verdict: Verdict) -> str:
    """What to expect of the next table."""
    expected = verdict.next_table
    if expected is None:
        return ""
    return (
        f"; a table like these gains more than a point with {100 * expected.gains:.0f} % and loses more than one with "
        f"{100 * expected.loses:.0f} %"
    )


def _brief(claimed: str, verdict: Verdict) -> str:
    return f"{claimed} ({number(100 * verdict.average.mean, '+.1f')})"


def points(interval: Interval) -> str:
    """An interval of accuracy in points."""
    mean, low, high = (number(100 * each, "+.1f") for each in interval)
    return mean if np.isnan(interval.low) else f"{mean} ({low} to {high})"


def is_part(competitor: str) -> bool:
    """Whether a competitor is SCARF with one part exchanged."""
    return competitor.startswith(f"{SCARF}, ") and competitor != PAPER


def complete(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials that can be averaged over tables: every table has every competitor at every budget.

    A budget, or one of the study's competitors, that fewer than three quarters of the tables have is left out, so that
    it does not leave few tables. A competitor that is not of the study always counts.
    """
    enough = MOST_TABLES * trials["dataset"].nunique()

    def on_most(column: str) -> pd.Series:
        return trials.groupby(column)["dataset"].nunique() >= enough

    own = ~trials["competitor"].isin([NONE, *PRETRAININGS, *RIVALS])
    kept = trials["labels"].map(on_most("labels")) & (own | trials["competitor"].map(on_most("competitor")))
    known = trials[kept]
    cells = known[["dataset", "labels", "competitor"]].drop_duplicates()
    n_each = cells.groupby("dataset").size()
    return known[known["dataset"].isin(n_each.index[n_each == len(cells[["labels", "competitor"]].drop_duplicates())])]


def _trials_each(counts: pd.Series) -> str:
    least, most = counts.min(), counts.max()
    return f"{counted(most, 'trial')} of each" if least == most else f"{least} to {most} trials of each"


def _place(competitor: str) -> tuple[int, str]:
    known = [NONE, *PRETRAININGS, *RIVALS]
    return (known.index(competitor) if competitor in known else len(known), competitor)


def _look(competitor: str) -> dict[str, Any]:
    """The colour, marker and line of a competitor, the same in all figures. Rivals, which share colours with networks,
    have broken lines and hollow markers."""
    if competitor == NONE:
        return {"color": GREY, "marker": "o", "ls": "-"}
    place, _ = _place(competitor)
    is_rival = competitor in RIVALS
    place = place - 1 - len(PRETRAININGS) + RIVALS_FROM if is_rival else place - 1
    look = {"color": colour(place), "marker": marker(place), "ls": "-"}
    return look | {"ls": "--", "mfc": "white"} if is_rival else look


def _levels(whole: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy in percent over complete tables: a row a competitor, a column a budget."""
    means = whole.groupby(["dataset", "labels", "competitor"])["accuracy"].mean().reset_index()
    levels = 100 * means.pivot_table(index="competitor", columns="labels", values="accuracy")
    return levels.loc[sorted(levels.index, key=_place), budgets_of(whole)]


def _levels_table(whole: pd.DataFrame) -> str:
    levels = _levels(whole)
    n = whole["dataset"].nunique()
    caption = f"Mean accuracy in percent over the {n} tables that have every competitor at each of these budgets."
    formats = dict.fromkeys(map(str, levels.columns), ".1f")
    return to_markdown(table("levels", caption, levels.reset_index(), formats))


def _parts_table(gains: Sequence[Gain]) -> str:
    caption = (
        "Gain over SCARF of SCARF with one part exchanged, in points of accuracy, with 95 % intervals over tables."
    )
    return to_markdown(table("parts", caption, _shown(gains)))


def _gains_table(gains: Sequence[Gain]) -> str:
    caption = "Gain over no pre-training in points of accuracy, with 95 % intervals over tables."
    return to_markdown(table("gains", caption, _shown(gains)))


def _shown(gains: Sequence[Gain]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "competitor": gain.competitor,
            "labels": gain.labels,
            "answer": gain.claimed,
            "mean": points(gain.verdict.average),
            "typical": points(gain.verdict.interval),
            "tables": gain.verdict.datasets,
            "better": gain.verdict.won,
            "worse": gain.verdict.lost,
        }
        for gain in gains
    )


def by_table(trials: pd.DataFrame, budgets: Sequence[str]) -> pd.DataFrame:
    """SCARF's gain on each table at the two smallest budgets, in points, with what is known of the table.

    Returns:
        A row a table and budget: ``dataset, labels, gain, low, high, reference`` (accuracy without pre-training) and
        `FACTS`; the interval of a table is the one of the corrected resampled t-test, NaN for fewer than three trials.
    """
    rows = []
    for labels in budgets[:2]:
        found, tables = differences(trials, labels, SCARF, NONE)
        for name, values in zip(tables, found, strict=True):
            of_table = trials[(trials["dataset"] == name) & (trials["labels"] == labels)]
            facts = of_table.iloc[0]
            ratio = overlap_ratio(facts["n_test"], facts["n_train"], facts["n_labelled"])
            gain, low, high = mean_interval(values[np.isfinite(values)], ratio)
            reference = of_table.loc[of_table["competitor"] == NONE, "accuracy"].mean()
            row = {"dataset": name, "labels": labels, "gain": 100 * gain, "low": 100 * low, "high": 100 * high}
            rows.append(row | {"reference": 100 * reference} | {fact: facts[fact] for fact in FACTS})
    return pd.DataFrame(rows)


def common(tables: pd.DataFrame) -> str:
    """What the tables that gain have in common: Spearman's correlations that survive Holm's correction over five."""
    sentences = []
    for labels, part in tables.groupby("labels", sort=False):
        if len(part) < FEWEST_TABLES or np.ptp(part["gain"]) == 0:
            continue
        facts = {
            "rows": part["rows"], "columns": part["columns"], "the share of categorical columns":
            part["categorical_share"], "classes": part["classes"], "the accuracy without pre-training":
            part["reference"],
        }  # fmt: skip
        varied = {name: values for name, values in facts.items() if np.ptp(values) > 0}
        tests = {name: stats.spearmanr(part["gain"], values) for name, values in varied.items()}
        adjusted = holm([test.pvalue for test in tests.values()])
        kept = [
            f"{name} (rank correlation {number(test.statistic, '+.2f')}, {level_in_words(p)})"
            for (name, test), p in zip(tests.items(), adjusted, strict=True)
            if p <= LEVEL
        ]
        what = f"goes with {named(kept)}" if kept else f"goes with none of: {named(list(varied))}"
        sentences.append(f"With {labels_in_words(str(labels))}, the gain {what}.")
    return " ".join(sentences)


def _tables_table(tables: pd.DataFrame) -> str:
    wide = tables.pivot_table(index=["dataset", *FACTS], columns="labels", values="gain", sort=False).reset_index()
    budgets = [column for column in wide.columns if column not in ("dataset", *FACTS)]
    wide = wide.sort_values(budgets[0], ascending=False)
    formats = dict.fromkeys(budgets, "+.1f") | {"categorical_share": ".2f"}
    headings = {labels: labels_in_words(labels) for labels in budgets} | {"categorical_share": "categorical"}
    return to_markdown(table("tables", "SCARF's gain on each table in points of accuracy.", wide, formats, headings))


def _ranks(trials: pd.DataFrame, budgets: Sequence[str]) -> str:
    """Mean ranks of all competitors by budget, over the tables that have all of them."""
    columns, notes = {}, []
    for labels in budgets:
        try:
            ranking = rank_competitors(scores_of(trials[trials["labels"] == labels], competitor=["competitor"]))
        except UsageError:
            continue
        n, k = ranking.ranks.shape
        if n >= FEWEST_TABLES and k >= 3:
            columns[labels] = ranking.mean_ranks
            notes.append(f"{labels_in_words(labels)} {n} tables, {level_in_words(friedman_test(ranking).p)}")
    if not columns:
        return "Too few tables have all competitors yet."
    ranks = pd.DataFrame(columns)
    ranks = ranks.loc[ranks.mean(axis=1).sort_values().index].rename_axis("competitor").reset_index()
    caption = f"Mean ranks by accuracy, 1 is best, with Friedman's test of whether all rank alike: {'; '.join(notes)}."
    headings = {labels: labels_in_words(labels) for labels in columns}
    return to_markdown(table("ranks", caption, ranks, dict.fromkeys(columns, ".2f"), headings))


@styled()
def learning_curves(whole: pd.DataFrame) -> Figure:
    """Mean accuracy over complete tables by number of labels, and the difference from no pre-training beside it."""
    levels, n = _levels(whole), whole["dataset"].nunique()
    figure, (left, right) = new_figure(PAGE, 3.4, 1, 2)
    places = range(len(levels.columns))
    over = levels - levels.loc[NONE] if NONE in levels.index else levels - levels.mean()
    for name in levels.index:
        look = {"ms": 3.5, "lw": 1.2} | _look(name)
        left.plot(places, levels.loc[name], label=name, **look)
        right.plot(places, over.loc[name], **look)
    for axes, title in ((left, f"accuracy, %, mean of {n} tables"), (right, "points above no pre-training")):
        axes.set_xticks(list(places), [str(labels) for labels in levels.columns])
        axes.set_xlabel("labels")
        axes.set_title(title)
    right.axhline(0, color=GREY, lw=0.6, zorder=0)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


@styled()
def gains_figure(gains: Sequence[Gain], budgets: Sequence[str]) -> Figure:
    """The mean gain of each pre-training by number of labels, with its 95 % interval over tables."""
    names = list(dict.fromkeys(gain.competitor for gain in gains))
    figure, (axes,) = new_figure(PAGE, 2.8)
    shift = 0.7 / len(names)
    for i, name in enumerate(names):
        part = [gain for gain in gains if gain.competitor == name]
        at = np.array([budgets.index(gain.labels) for gain in part]) + (i - (len(names) - 1) / 2) * shift
        averages = 100 * np.array([gain.verdict.average for gain in part])
        error = [averages[:, 0] - averages[:, 1], averages[:, 2] - averages[:, 0]]
        look = _look(name) | {"ls": "", "ms": 4, "elinewidth": 1}
        axes.errorbar(at, averages[:, 0], yerr=error, label=name, **look)
    axes.axhline(0, color=GREY, lw=0.6, zorder=0)
    axes.axhspan(-1, 1, color=GREY, alpha=0.12, lw=0, zorder=0)
    axes.set_xticks(range(len(budgets)), [labels_in_words(labels) for labels in budgets])
    axes.set_ylabel("gain over none, points")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


@styled()
def tables_figure(tables: pd.DataFrame) -> Figure:
    """SCARF's gain on each table, a panel a budget, with the table's own 95 % interval where trials give one."""
    budgets = list(dict.fromkeys(tables["labels"]))
    n = tables["dataset"].nunique()
    figure, panels = new_figure(PAGE, 0.8 + 0.14 * n, 1, len(budgets), sharey=True, sharex=True)
    order = tables[tables["labels"] == budgets[0]].sort_values("gain")["dataset"].tolist()
    order = [name for name in dict.fromkeys(tables["dataset"]) if name not in order] + order
    for axes, labels in zip(panels, budgets, strict=True):
        part = tables[tables["labels"] == labels]
        at = [order.index(name) for name in part["dataset"]]
        error = np.nan_to_num([part["gain"] - part["low"], part["high"] - part["gain"]])
        axes.errorbar(part["gain"], at, xerr=error, fmt="o", color=colour(0), ms=3, lw=0.8)
        axes.axvline(0, color=GREY, lw=0.6, zorder=0)
        axes.axvspan(-1, 1, color=GREY, alpha=0.12, lw=0, zorder=0)
        axes.set_title(labels_in_words(labels))
        axes.set_xlabel("gain, points")
    panels[0].set_yticks(range(len(order)), order)
    return figure


if __name__ == "__main__":
    sys.exit(answered(main))
