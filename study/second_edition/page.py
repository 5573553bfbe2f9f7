"""The page of the second edition with its figures, made from study/second_edition/trials.parquet.

    python -m study.second_edition.page [also=FILE] [out=FILE.md]

``also`` names a file of `study.results` with trials of your own; its competitors stand beside ours.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError, counted
from scarf_lightning.report.blocks import named, number, table, to_markdown
from scarf_lightning.report.statistics import Interval, holm

from ..results import ALL, FACTS, NONE, SCARF, read
from ..writing import LEVEL, budgets_of, labels_in_words, level_in_words, write_page
from .comparisons import (
    ACCURACY,
    AUROC,
    BEST,
    COMPETITORS,
    EXTREMES,
    LINEAR,
    LOG_LOSS,
    MEASURES,
    NETWORKS,
    PARTS,
    RANK_CORRELATION,
    RATE,
    REALMLP,
    RIVALS,
    RMSE,
    Comparison,
    Measure,
    broken_rows,
    compare,
    confirming,
    explained,
    levels,
    prepared,
    renamed,
    sanity,
)
from .figures import gains_by_table, learning_curves

FOLDER = Path(__file__).parent
TRIALS = FOLDER / "trials.parquet"
PAPER = f"{SCARF}, paper's recipe"
HALF = f"{SCARF}, {RATE}"
PRETRAININGS = tuple(name for name in NETWORKS if name != NONE and not name.startswith(REALMLP))
ON_REALMLP = (f"{REALMLP} with {SCARF}", f"{REALMLP} with {HALF}")
HEADLINES = (ACCURACY, RMSE)
"""The metrics of the short tables: of classes the first, of numbers the second."""
LEVELS = (ACCURACY, AUROC, LOG_LOSS, RANK_CORRELATION)
"""The metrics whose means over tables have a meaning; the RMSE has a unit of each table's own."""
PLACES = (FOLDER.parents[1] / "README.md", FOLDER.parents[1] / "docs/index.md")
"""The pages that show the findings, between two comments."""
START, END = "<!-- findings -->", "<!-- end of the findings -->"
DRAWN_BUDGETS = ("20", "100")
"""The label budgets of the figure of tables."""


def main(arguments: Sequence[str]) -> None:
    """Write the page.

    Raises:
        UsageError: an argument is unknown.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    if set(given) - {"also", "out"}:
        raise UsageError("The options are also=FILE, with trials of yours, and out=FILE.md.")
    if "also" in given and "out" not in given:
        raise UsageError("Name another file for the page with trials of yours: out=FILE.md.")
    out = Path(given.get("out") or FOLDER / "page.md")
    trials = read(TRIALS, *([Path(given["also"])] if "also" in given else []))
    text, figures = page(trials)
    write_page(out, text, figures, len(trials))
    if "out" not in given:
        _, found, *_ = text.split("\n\n")
        for place in PLACES:
            place.write_text(with_findings(place.read_text(encoding="utf-8"), found), encoding="utf-8")


def with_findings(text: str, found: str) -> str:
    """A page with the findings in their place.

    Raises:
        UsageError: the page has no place for them.
    """
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise UsageError(f"The page has no place for the findings; write {START} and {END} where they are to stand.")
    return f"{before}{start}\n{found}\n{end}{after}"


def page(trials: pd.DataFrame) -> tuple[str, dict[str, Figure]]:
    """The page in Markdown, and its figures by name.

    Args:
        trials: as `study.results.read` returns them.
    """
    whole, trials = renamed(trials), prepared(trials)
    budgets = budgets_of(trials)
    figures = {
        "learning-curves": learning_curves(trials, _drawn_gains(trials, budgets)),
        "gains": gains_by_table(trials, SCARF, NONE, [each for each in DRAWN_BUDGETS if each in budgets]),
    }
    sections = [
        "# Does pre-training help a network that learns?",
        findings(trials),
        extent(whole),
        *beside(trials, budgets),
        "## 1. Does pre-training help a network?",
        HOW_TO_READ,
        *full_tables(trials, [(SCARF, NONE)], budgets),
        "## 2. Does it help RealMLP?",
        *full_tables(trials, [(name, REALMLP) for name in ON_REALMLP], budgets, HEADLINES),
        "## 3. Which pre-training is best?",
        *short_tables(trials, [(name, NONE) for name in PRETRAININGS], budgets),
        *short_tables(trials, [(name, SCARF) for name in PRETRAININGS if name != SCARF], budgets),
        "### Which part of SCARF matters?",
        extent_of_parts(trials),
        *short_tables(trials, parts_of_scarf(), budgets),
        "## 4. Does the best network beat linear models and trees?",
        BEST_NETWORK,
        *short_tables(trials, [(BEST, rival) for rival in RIVALS], budgets),
        *(levels_table(trials, measure) for measure in LEVELS),
        "![Mean accuracy and typical gains by number of labels](learning-curves.png)",
        "## 5. What do the tables that gain have in common?",
        in_common(trials, budgets),
        "![Gain of SCARF on each table](gains.png)",
        "## Sensitivity",
        *sensitivity(trials, budgets),
        "## Have the networks learnt?",
        sanity_table(whole),
        explained_table(whole),
        text_of("texts/limits.md"),
        text_of("texts/related.md"),
        "## Compute",
        compute(whole),
        "## Recompute it",
        RECOMPUTE,
        f"<!-- not run: needs the trials; tests/study runs it -->\n```python\n{text_of('recompute.py')}```",
        "## Cite it",
        CITE,
    ]
    return "\n\n".join(section.strip() for section in sections if section) + "\n", figures


HOW_TO_READ = """\
The *typical* gain is that of the typical table, by signed normal scores; the *mean* is over tables, and has an interval
from 25 tables on. Both have 95 % intervals. Gains are in points of accuracy, AUROC and rank correlation, and in percent
of the reference's log-loss and RMSE; a gain is always for the better. The answers of a pair over the budgets hold
together at 5 % (Holm 1979), so a single interval may leave zero out where the answer is *cannot tell*. The gain of a
*next table*, as it is measured here, lies in the range in nine cases of ten."""

BEST_NETWORK = """\
The *best network* of a table is the one, of all twelve, with the best mean on the *other* tables, so no table chooses
its own."""

COUPLED = """\
The score without pre-training is part of the gain, so chance in it alone lowers that correlation (Chiolero et al. 2013,
DOI 10.3389/fpubh.2013.00029). The mean of the scores with and without pre-training is free of this (Oldham 1962, J.
Chronic Dis. 15, 969–977); it stands beside, outside the protocol."""

RECOMPUTE = """\
[The data card](data.md) tells what is in `trials.parquet`. These forty lines make the numbers of this page:
gains with their intervals, means, counts, correlations with their levels, and times. They use no line of ours, and a
test compares them with the page, number by number. The three largest of gains `g` are left out by
`g[np.argsort(-abs(g), kind="stable")[3:]]`. Answers are words, after Holm's correction over the budgets of a pair."""

CITE = """\
```text
@misc{scarf_lightning_2026,
  title  = {Does pre-training help a network that learns? A study on 46 tables},
  author = {{The SCARF-Lightning authors}},
  year   = {2026},
  note   = {SCARF-Lightning 0.3, study/second\\_edition}
}
```"""


def extent(trials: pd.DataFrame) -> str:
    """The numbers of tables, budgets, competitors and trials."""
    per_cell = trials.groupby(["dataset", "labels", "competitor"]).size()
    fewest, most = per_cell.min(), per_cell.max()
    each = counted(fewest, "trial") if fewest == most else f"{fewest} to {most} trials"
    budgets = budgets_of(trials)
    kinds = trials.drop_duplicates("dataset")["classes"].gt(0)
    return (
        f"{counted(len(kinds), 'table')}, {kinds.sum()} with classes and {(~kinds).sum()} with numbers as targets; "
        f"{named_in_turn(budgets)} labels, of which validation takes its part; "
        f"{counted(trials['competitor'].nunique(), 'competitor')}; {each} of each: "
        f"{len(trials):,} trials. The [protocol](../second_edition.md) was written first. Made by\n\n"
        "<!-- not run: writes this page; tests/study makes one -->\n"
        "```console\npython -m study.second_edition.page\n```"
    )


def findings(trials: pd.DataFrame) -> str:
    """The findings and the advice, in three sentences that the README shows too. They are the page's second paragraph.

    Args:
        trials: as `prepared` returns them.
    """
    budgets = [labels for labels in budgets_of(trials) if labels != ALL]
    scarf = compare(trials, ACCURACY, SCARF, NONE, budgets)
    realmlp = compare(trials, ACCURACY, f"{REALMLP} with {SCARF}", REALMLP, budgets)
    linear = compare(trials, ACCURACY, BEST, LINEAR, budgets)
    trees = compare(trials, ACCURACY, BEST, "CatBoost", budgets)
    auroc = compare(trials, AUROC, SCARF, NONE, budgets)
    n_tables = max(len(each.gains) for each in scarf)
    others = compare(trials, ACCURACY, BEST, LINEAR, budgets, confirming(trials))
    on_others = (
        f"; over a linear model, without the tables that confirmed its recipe: {_told(others)}" if others else ""
    )
    alike = as_good(trials, budgets)
    names = [name.replace(HALF, f"{SCARF} at rate 0.3") for name in alike]
    no_difference = f"; {named_in_turn(names)} make no practical difference to SCARF" if alike else ""
    return (
        f"- **Does SCARF help a network?** In points on the typical of {n_tables} tables, by number of labels, in "
        f"accuracy: {_told(scarf)}; on RealMLP: {_told(realmlp)}; in AUROC: {_told(auroc)}{no_difference}.\n"
        "- **Does the best network beat others?** In points of accuracy, over a linear model: "
        f"{_told(linear)}; over CatBoost: {_told(trees)}{on_others}.\n"
        f"- **What to do:** {advice(trials, budgets, [SCARF, *alike])}"
    )


def advice(trials: pd.DataFrame, budgets: Sequence[str], alike: Sequence[str]) -> str:
    """The advice: what labels add, and what a pre-training does.

    Args:
        alike: the pre-trainings to choose from.
    """
    means, _ = levels(trials, ACCURACY)
    fewest, more = budgets[:2]
    of_few, of_more = means.loc[NONE, [fewest, more]].to_numpy(dtype=np.float64)
    added = number(of_more - of_few, ".1f")
    fastest = str(seconds_of_pretraining(trials)[list(alike)].idxmin())
    (gain,) = compare(trials, ACCURACY, fastest, NONE, [fewest])
    return (
        f"Label more rows, if you can: {more} labels in place of {fewest} add {added} points of accuracy to the mean "
        f"of networks without pre-training; if you cannot, pre-train with {fastest}, which takes least time of these, "
        f"expect {shown(gain.typical)} points on a typical table with {fewest} labels, and compare with a linear model "
        "and CatBoost before you keep the network."
    )


def as_good(trials: pd.DataFrame, budgets: Sequence[str]) -> list[str]:
    """The pre-trainings that make no practical difference to SCARF at any budget."""
    names = []
    for name in PRETRAININGS:
        compared = compare(trials, ACCURACY, name, SCARF, budgets) if name != SCARF else []
        if compared and all(each.claimed == "no practical difference" for each in compared):
            names.append(name)
    return names


def seconds_of_pretraining(trials: pd.DataFrame) -> pd.Series:
    """The mean seconds of a pre-training of each network, shortest first."""
    means = pretrained_once(trials).groupby("competitor")["pretrain_seconds"].mean()
    return means.reindex(NETWORKS).dropna().sort_values()


def pretrained_once(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials without those that share the pre-training of a trial at another budget, whose seconds they show."""
    return trials.drop_duplicates(["dataset", "competitor", "trial", "pretrain_seconds"])


def named_in_turn(items: Sequence[str]) -> str:
    """Items as a list in a sentence."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def _told(compared: Sequence[Comparison]) -> str:
    """The answers with their budgets and typical gains."""
    answers: dict[str, list[Comparison]] = {}
    for each in compared:
        answers.setdefault(each.claimed, []).append(each)
    parts = []
    for answer, its in answers.items():
        budgets = named_in_turn([each.labels for each in its])
        gains = named_in_turn([number(each.typical.mean, "+.1f") for each in its])
        parts.append(f"*{answer}* with {budgets} ({gains})")
    return ", ".join(parts)


def full_tables(
    trials: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    budgets: Sequence[str],
    measures: Sequence[Measure] = MEASURES,
) -> list[str]:
    """A table a pair: all that is known of it, a row a metric and budget."""
    written = []
    for competitor, reference in pairs:
        rows = []
        for measure in measures:
            for each in compare(trials, measure, competitor, reference, budgets):
                rows.append(
                    {
                        "metric": measure.label,
                        "labels": each.labels,
                        "answer": each.claimed,
                        "typical": shown(each.typical),
                        "mean": shown(each.mean),
                        "better / worse": f"{each.verdict.won} / {each.verdict.lost}",
                        "by more than 1": f"{(each.gains > 1).sum()} / {(each.gains < -1).sum()}",
                        "next table": _range(each.expected),
                    }
                )
        if rows:
            caption = f"Gain of {competitor} over {reference}."
            written.append(to_markdown(table("gains", caption, pd.DataFrame(rows))))
    return written


def beside(trials: pd.DataFrame, budgets: Sequence[str]) -> list[str]:
    """The competitors that are not of the study, beside no pre-training and beside SCARF."""
    of_the_study = {*COMPETITORS, BEST, *(name for name, _ in parts_of_scarf())}
    others = sorted(set(trials["competitor"]) - of_the_study)
    pairs = [(name, reference) for name in others for reference in (NONE, SCARF)]
    return ["## Your own competitors", *short_tables(trials, pairs, budgets)] if pairs else []


def parts_of_scarf() -> list[tuple[str, str]]:
    """SCARF with one part exchanged beside SCARF, on the plain network and on RealMLP."""
    pairs = []
    for scarf in (SCARF, f"{REALMLP} with {SCARF}"):
        pairs += [(f"{scarf}, {part}", scarf) for part in (RATE, *PARTS)]
    return pairs


def extent_of_parts(trials: pd.DataFrame) -> str:
    """What the tables of SCARF's parts compare, and on how many tables."""
    names = [name for name, _ in parts_of_scarf() if not name.endswith(RATE)]
    exchanged = trials[trials["competitor"].isin(names)]
    if exchanged.empty:
        return ""
    n_tables = exchanged.groupby("competitor")["dataset"].nunique()
    fewest, most = n_tables.min(), n_tables.max()
    tables = counted(fewest, "table") if fewest == most else f"{fewest} to {most} tables"
    return (
        "One part of SCARF is exchanged at a time: half of the corruption in all of its trials, the others on "
        f"{tables} of classes in {counted(exchanged['trial'].nunique(), 'trial')} of each."
    )


def short_tables(trials: pd.DataFrame, pairs: Sequence[tuple[str, str]], budgets: Sequence[str]) -> list[str]:
    """A table a metric: a row a pair, with its typical gain and answer at each budget."""
    written = []
    for measure in HEADLINES:
        rows = []
        for competitor, reference in pairs:
            compared = compare(trials, measure, competitor, reference, budgets)
            answers = {each.labels: f"{shown(each.typical)}, {each.claimed}" for each in compared}
            if answers:
                rows.append({"competitor": competitor, "over": reference} | answers)
        if rows:
            shown_rows = pd.DataFrame(rows)
            caption = f"Typical gain in {measure.unit} of {measure.label} with its 95 % interval, and the answer."
            written.append(to_markdown(table("pairs", caption, shown_rows, headings=_headings(budgets))))
    return written


def levels_table(trials: pd.DataFrame, measure: Measure) -> str:
    """The mean of a metric of each competitor at each budget."""
    means, n_tables = levels(trials, measure)
    if not n_tables:
        return ""
    percent = "" if measure.is_relative else ", in percent"
    caption = f"Mean {measure.label}{percent} over {counted(n_tables, 'table')}."
    formats = dict.fromkeys(means.columns, ".3f" if measure is LOG_LOSS else ".1f")
    return to_markdown(table("levels", caption, means.reset_index(), formats, _headings(list(means.columns))))


def in_common(trials: pd.DataFrame, budgets: Sequence[str]) -> str:
    """Rank correlations of SCARF's gain in accuracy with what is known of the tables, and what survives Holm's
    correction over the five of a budget."""
    rows, sentences = [], []
    for labels in budgets:
        for comparison in compare(trials, ACCURACY, SCARF, NONE, [labels]):
            tests = correlations(trials, comparison)
            adjusted = holm([p for _, p in tests.values()])
            row = {"labels": labels}
            kept = []
            for (fact, (correlation, _)), p in zip(tests.items(), adjusted, strict=True):
                row[fact] = f"{number(correlation, '+.2f')} ({level_in_words(p)})"
                if p <= LEVEL:
                    kept.append(fact)
            row["mean of both scores"] = number(uncoupled(trials, comparison), "+.2f")
            rows.append(row)
            sentences.append(
                f"With {labels_in_words(labels)} the gain goes with {named(kept) if kept else 'none of them'}."
            )
    if not rows:
        return ""
    caption = "Spearman's correlation of SCARF's gain in accuracy over tables, with p after Holm's correction."
    return "\n\n".join([" ".join(sentences), COUPLED, to_markdown(table("common", caption, pd.DataFrame(rows)))])


def correlations(trials: pd.DataFrame, comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Spearman's correlation of gains with each fact of the tables, and its level."""
    facts = facts_of(trials, comparison)
    known = {
        "rows": facts["rows"],
        "columns": facts["columns"],
        "share of categories": facts["categorical_share"],
        "classes": facts["classes"],
        "score without pre-training": facts[comparison.measure.name],
    }
    tests = {}
    for name, values in known.items():
        test = stats.spearmanr(comparison.gains, values)
        tests[name] = (float(test.statistic), float(test.pvalue))
    return tests


def uncoupled(trials: pd.DataFrame, comparison: Comparison) -> float:
    """Spearman's correlation of gains in points with the mean of the scores with pre-training and without it.

    The score without pre-training is part of the gain; the mean of both is not coupled with it (Oldham 1962).
    """
    score = facts_of(trials, comparison)[comparison.measure.name]
    return float(stats.spearmanr(comparison.gains, score + comparison.gains / 200).statistic)


def facts_of(trials: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """The facts of the tables of a comparison, and the mean score of the reference on each: a row a table."""
    reference = trials[(trials["competitor"] == comparison.reference) & (trials["labels"] == comparison.labels)]
    return reference.groupby("dataset")[[*FACTS, comparison.measure.name]].mean().loc[list(comparison.tables)]


def sensitivity(trials: pd.DataFrame, budgets: Sequence[str]) -> list[str]:
    """Every answer of questions 1, 2 and 4 again, without some of the tables."""
    asked = [(SCARF, NONE), *((name, REALMLP) for name in ON_REALMLP), *((BEST, rival) for rival in RIVALS)]
    without = confirming(trials)
    written = []
    for measure in HEADLINES:
        rows = []
        for competitor, reference in asked:
            analyses = {
                "all tables": compare(trials, measure, competitor, reference, budgets),
                f"without the {EXTREMES} largest": compare(
                    trials, measure, competitor, reference, budgets, extremes=EXTREMES
                ),
            }
            if measure is ACCURACY:
                analyses["without CC18"] = compare(trials, measure, competitor, reference, budgets, without)
            for labels in budgets:
                row = {"competitor": competitor, "over": reference, "labels": labels}
                for name, compared in analyses.items():
                    for each in compared:
                        if each.labels == labels:
                            row[name] = f"{shown(each.typical)}, {each.claimed}"
                if len(row) > 3:
                    rows.append(row)
        if rows:
            caption = f"Typical gain in {measure.unit} of {measure.label} with its 95 % interval, and the answer."
            written.append(to_markdown(table("sensitivity", caption, pd.DataFrame(rows))))
    return written


def sanity_table(trials: pd.DataFrame) -> str:
    """One-class predictions of each competitor, and how far it is above guesses."""
    rows = sanity(trials)
    broken = [f"{competitor} with {labels_in_words(labels)}" for competitor, labels in broken_rows(trials)]
    said = f" Broken, and compared with nothing: {named(broken)}." if broken else " No row is broken."
    rows["share"] = 100 * rows["one_class"] / rows["trials"]
    ours = rows.loc[[name for name in rows.index if name in NETWORKS and name != PAPER]]
    share = 100 * ours["one_class"].sum() / ours["trials"].sum()
    caption = (
        "Trials of classes whose labels are of two classes and more, those of them that predict one class for every "
        "test row, and points of balanced accuracy above guesses with the fewest labels."
    )
    shown_rows = rows[["trials", "one_class", "share", "above_guesses"]].reset_index()
    headings = {"one_class": "one class", "share": "%", "above_guesses": "above guesses"}
    formats = {"share": ".1f", "above_guesses": "+.1f", "trials": ",.0f"}
    return (
        f"Of the networks that train by our recipe or as RealMLP, {share:.2f} % predict one class.{said}\n\n"
        + to_markdown(table("sanity", caption, shown_rows, formats, headings))
    )


def explained_table(trials: pd.DataFrame) -> str:
    """On how many tables of numbers each competitor is better than the mean of the labels."""
    counts = explained(trials)
    n_tables = trials.loc[trials["classes"] == 0, "dataset"].nunique()
    caption = f"Tables of numbers, of {n_tables}, on which the mean R2 is above that of the labels' mean, which is 0."
    return to_markdown(table("explained", caption, counts.reset_index(), headings=_headings(list(counts.columns))))


def compute(trials: pd.DataFrame) -> str:
    """The time that the trials took."""
    pretraining = pretrained_once(trials)["pretrain_seconds"].sum() / 3600
    supervised = trials["finetune_seconds"].sum() / 3600
    by_name = "; ".join(
        f"{number(seconds, '.1f')} ({name})" for name, seconds in seconds_of_pretraining(trials).items()
    )
    return (
        f"The trials took {pretraining + supervised:.1f} hours of one processor core: {pretraining:.1f} of "
        f"pre-training, which the budgets of a table share, and {supervised:.1f} of supervised training. Two cores "
        "of an AMD EPYC worked, without a GPU and beside other work. Reading tables and testing are not counted. Mean "
        f"seconds of a pre-training: {by_name}."
    )


def text_of(name: str) -> str:
    """A file of this folder."""
    return (FOLDER / name).read_text(encoding="utf-8")


def shown(interval: Interval) -> str:
    """An interval with a decimal."""
    mean, low, high = (number(each, "+.1f") for each in interval)
    return mean if np.isnan(interval.low) else f"{mean} ({low} to {high})"


def _drawn_gains(trials: pd.DataFrame, budgets: Sequence[str]) -> list[Comparison]:
    """The gains of the first figure."""
    pairs = [(SCARF, NONE), (HALF, NONE), ("VIME", NONE), ("SCARF AE", NONE), *((name, REALMLP) for name in ON_REALMLP)]
    gains = []
    for competitor, reference in pairs:
        gains += compare(trials, ACCURACY, competitor, reference, budgets)
    return gains


def _range(ends: tuple[float, float] | None) -> str | None:
    return None if ends is None else f"{number(ends[0], '+.1f')} to {number(ends[1], '+.1f')}"


def _headings(budgets: Sequence[str]) -> Mapping[str, str]:
    return {labels: labels_in_words(labels) for labels in budgets}


if __name__ == "__main__":
    sys.exit(answered(main))
