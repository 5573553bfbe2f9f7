"""The page of the second edition with its figures, made from study/second_edition/trials.parquet.

    python -m study.second_edition.page [also=FILE] [out=FILE.md]

``also`` names a file of `study.results` with trials of your own; its competitors stand beside ours.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError, counted
from scarf_lightning.reporting.blocks import number

from ..results import NONE, SCARF, read
from ..writing import budgets_of, counted_range, named_in_turn, write_page
from .common import in_common
from .comparisons import (
    ACCURACY,
    AUROC,
    BEST,
    COMPETITORS,
    HALF,
    LOG_LOSS,
    ON_REALMLP,
    PRETRAININGS,
    RANK_CORRELATION,
    RATE,
    REALMLP,
    RIVALS,
    SUBTAB,
    SWITCHTAB,
    Comparison,
    compare,
    parts_of_scarf,
    prepared,
    renamed,
)
from .figures import gains_by_table, learning_curves
from .findings import findings, pretrained_once, seconds_of_pretraining
from .tables import (
    HEADLINES,
    beside,
    explained_table,
    full_tables,
    levels_table,
    sanity_table,
    sensitivity,
    short_tables,
)

FOLDER = Path(__file__).parent
TRIALS = FOLDER / "trials.parquet"
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
        *first_round(trials, budgets),
        "### Which part of SCARF matters?",
        extent_of_parts(trials),
        *short_tables(trials, parts_of_scarf(), budgets),
        "## 4. Does the best network beat linear models and trees?",
        BEST_NETWORK,
        *short_tables(trials, [(BEST, rival) for rival in RIVALS], budgets),
        *(levels_table(trials, measure) for measure in LEVELS),
        LEARNING_CURVES,
        "## 5. What do the tables that gain have in common?",
        in_common(trials, budgets),
        GAINS,
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
The *median* gain is that of the median table, by the sign test; the *mean* is over tables, and has an interval
from 25 tables on. Both have 95 % intervals. Gains are in points of accuracy, AUROC and rank correlation, and in percent
of the reference's log-loss and RMSE; a gain is always for the better. The answers of a pair over the budgets hold
together at 5 % (Holm 1979), so a single interval may leave zero out where the answer is *cannot tell*. The gain of a
*next table*, as it is measured here, lies in the range in nine cases of ten."""

BEST_NETWORK = """\
The *best network* of a table is the one, of all twelve, with the best mean on the *other* tables, so no table chooses
its own."""

LEARNING_CURVES = """\
![Mean accuracy and median gains by number of labels](learning-curves.png)

*Figure 1.* Left, the mean accuracy over the tables that have every competitor. Right, the median gain of a
pre-training over the same network without it, with its single 95 % interval. Grey is what makes no practical
difference, a point and less."""

GAINS = """\
![Gain of SCARF on each table](gains.png)

*Figure 2.* The gain of SCARF over no pre-training on each table, with the 95 % interval for overlapping splits (Nadeau
and Bengio 2003), in the order of the left column. Each interval is of one table alone, so of twenty about one leaves
its true gain out."""

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
    takes_part = trials["competitor"].isin(COMPETITORS)
    whole, others = trials[takes_part], trials[~takes_part]
    per_cell = whole.groupby(["dataset", "labels", "competitor"]).size()
    n_others = others["competitor"].nunique()
    some = f", and {n_others} more on some of the tables" if n_others else ""
    kinds = trials.drop_duplicates("dataset")["classes"].gt(0)
    return (
        f"{counted(len(kinds), 'table')}, {kinds.sum()} with classes and {(~kinds).sum()} with numbers as targets; "
        f"{named_in_turn(budgets_of(trials))} labels, of which validation takes its part; "
        f"{counted(whole['competitor'].nunique(), 'competitor')} in {counted_range(per_cell, 'trial')} of each{some}: "
        f"{len(trials):,} trials. The [protocol](../second_edition.md) was written first. Made by\n\n"
        "<!-- not run: writes this page; tests/study makes one -->\n"
        "```console\npython -m study.second_edition.page\n```"
    )


def first_round(trials: pd.DataFrame, budgets: Sequence[str]) -> list[str]:
    """SwitchTab beside SubTab, which takes part in the study in its place."""
    of_it = trials[trials["competitor"] == SWITCHTAB]
    if of_it.empty:
        return []
    return [
        "### SubTab or SwitchTab?",
        f"SubTab takes part in the study. SwitchTab was compared with it on {_extent_of(of_it)}.",
        *short_tables(trials, [(SWITCHTAB, SUBTAB), (SWITCHTAB, NONE)], budgets),
    ]


def extent_of_parts(trials: pd.DataFrame) -> str:
    """The comparison that the tables of SCARF's parts make, and its number of tables."""
    names = [name for name, _ in parts_of_scarf() if not name.endswith(RATE)]
    exchanged = trials[trials["competitor"].isin(names)]
    if exchanged.empty:
        return ""
    return (
        "One part of SCARF is exchanged at a time: half of the corruption in all of its trials, the others on "
        f"{_extent_of(exchanged)}."
    )


def _extent_of(trials: pd.DataFrame) -> str:
    """The number of tables of classes that competitors have, and of trials of each."""
    n_tables = trials.groupby("competitor")["dataset"].nunique()
    n_trials = trials["trial"].nunique()
    return f"{counted_range(n_tables, 'table')} of classes in {counted(n_trials, 'trial')} of each"


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


def _drawn_gains(trials: pd.DataFrame, budgets: Sequence[str]) -> list[Comparison]:
    """The gains of the first figure."""
    pairs = [(SCARF, NONE), (HALF, NONE), ("VIME", NONE), ("SCARF AE", NONE), *((name, REALMLP) for name in ON_REALMLP)]
    gains = []
    for competitor, reference in pairs:
        gains += compare(trials, ACCURACY, competitor, reference, budgets)
    return gains


if __name__ == "__main__":
    sys.exit(answered(main))
