"""How often a page on columns is false, and what it finds, on simulated tables whose truth is known.

    python -m tools.benchmarks.columns                      100 pages of each kind, columns permuted alone
    python -m tools.benchmarks.columns --left-out all       the same, and all columns left out, too
    python -m tools.benchmarks.columns --left-out few       the same, and five columns and groups of *mixed* left out
    python -m tools.benchmarks.columns --only mixed         pages of one kind
    python -m tools.benchmarks.columns --fast ...           with a logistic regression and a small forest alone

It prints the table of docs/columns.md. Networks are small and trials few, so that a page takes seconds.

- *mixed*: the label depends on ``strong``, on ``weak`` with two fifths of its weight, and on ``twin``, of which
  ``copy`` is a copy with a little noise; both are a group. ``friend`` and ``fellow`` are alike and tell nothing of the
  label; two columns are noise.
- *noise*: eight columns, of which the label depends on none.

A page is *false* if any answer on it is: that a column without a part in the label helps when it is permuted or left
out of training; that a column of noise helps in any other way; of *noise* also that a column hurts when it is permuted;
or that ``strong``, or ``twin`` and ``copy`` together, make no practical difference when permuted.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from scarf_lightning.data.table import Table
from scarf_lightning.engine.hardware import choose_hardware, own_torch, prepare_process
from scarf_lightning.importance.asked import Question, Task
from scarf_lightning.importance.asking import Asked, ask
from scarf_lightning.importance.competing import Competitor
from scarf_lightning.importance.groups import groups_of
from scarf_lightning.importance.judging import NO_DIFFERENCE, name_of
from scarf_lightning.importance.kept import Kept
from scarf_lightning.metrics import metric_named
from scarf_lightning.options import Config
from scarf_lightning.verdicts.answers import HELPING
from tests.composing import config_of

ROWS, TRIALS, REPEATS = 400, 5, 3
SMALL = (
    "recipe=practical", f"trials={TRIALS}", "network.encoder.width=48", "network.encoder.depth=2",
    "network.head.width=48", "finetune.fixed_steps=80", "trainer=cpu",
)  # fmt: skip
OF_RIVALS = ("recipe=practical", f"trials={TRIALS}", "trainer=cpu")
OF_SCARF = ("network.pretrain_head.width=48", "pretrain.max_epochs=10")
CELLS = {
    "no pre-training": ("pretrain=none",),
    "SCARF": ("pretrain=scarf", *OF_SCARF),
    "random forest": ("pretrain=none", "method=random_forest", "method.n_estimators=20"),
}
FAST = {
    "logistic regression": ("pretrain=none", "method=logistic"),
    "random forest": ("pretrain=none", "method=random_forest", "method.n_estimators=10"),
}
"""Competitors whose trainings without columns are cheap enough for a hundred pages in minutes."""
KINDS = ("mixed", "noise")
NEEDED = {"strong", "weak", "twin", "copy", "twin + copy"}
CERTAIN = ("strong", "twin + copy")
"""Columns whose part in the label is far above the margin."""
NOISE = {"noise 1", "noise 2"}
FEW = {"weak", "twin", "twin + copy", "friend", "noise 1"}
"""Columns that stand for all kinds of them, where leaving out all takes too long."""


def simulated(kind: str, random: np.random.Generator, n: int = ROWS) -> tuple[pd.DataFrame, "pd.Series[str]"]:
    """A table and its labels."""
    if kind == "noise":
        names = [f"noise {number}" for number in range(1, 9)]
        return pd.DataFrame(random.normal(size=(n, 8)), columns=names), _classes(random.normal(size=n))
    strong, weak, twin, shared = random.normal(size=(4, n))
    frame = pd.DataFrame(
        {
            "strong": strong,
            "weak": weak,
            "twin": twin,
            "copy": twin + 0.05 * random.normal(size=n),
            "friend": shared + 0.6 * random.normal(size=n),
            "fellow": shared + 0.6 * random.normal(size=n),
            "noise 1": random.normal(size=n),
            "noise 2": random.choice([0.0, 1.0], size=n),
        }
    )
    return frame, _classes(strong + 0.4 * weak + twin + 0.5 * random.normal(size=n))


def _classes(score: np.ndarray) -> "pd.Series[str]":
    return pd.Series(np.where(score > 0, "yes", "no"))


def question(kind: str, page: int, *, is_fast: bool = False) -> Question:
    """The question of one page; each page has random numbers of its own."""
    frame, labels = simulated(kind, np.random.default_rng([KINDS.index(kind), page]))
    table = Table.from_frame(frame, labels, categorical=[False] * frame.shape[1], name=f"{kind}-{page}", source=kind)
    competitors = []
    for name, overrides in (FAST if is_fast else CELLS).items():
        config = _config(*(OF_RIVALS if is_fast else SMALL), *overrides)
        hardware = choose_hardware(config.trainer)
        competitors.append(Competitor(name, config, table, metric_named("accuracy"), hardware))
    competitors.sort(key=lambda each: each.is_pretrained)
    return Question(competitors, groups_of(table), REPEATS, seed=page)


@cache
def _config(*overrides: str) -> Config:
    return config_of(*overrides)


def answered(kind: str, page: int, *, left_out: str = "none", is_fast: bool = False) -> Asked:
    """The answers of one page; those on ``none``, a ``few`` or ``all`` columns left out are among them."""
    with tempfile.TemporaryDirectory() as folder, own_torch():
        kept = Kept(question(kind, page, is_fast=is_fast), Path(folder))

        def launch(tasks: Sequence[Task]) -> None:
            for task in tasks:
                columns = () if task.unit is None else kept.question.labels[task.unit]
                is_one_of_few = left_out == "few" and name_of(columns) in FEW
                if task.unit is None or left_out == "all" or is_one_of_few:
                    kept.add(task)

        return ask(kept, launch)


def falsehoods(kind: str, asked: Asked) -> list[str]:
    """The false answers of a page, in words."""
    found = []
    for each, answer in asked.importance.answered:
        is_needed = kind == "mixed" and each.name in NEEDED
        is_noise = kind == "noise" or each.name in NOISE
        in_training = each.way in ("permuted", "left out")
        says_it_helps = answer in HELPING
        is_false = says_it_helps and ((in_training and not is_needed) or is_noise)
        if kind == "noise" and each.way == "permuted" and answer.startswith("hurts"):
            is_false = True
        if kind == "mixed" and each.way == "permuted" and each.name in CERTAIN and answer == NO_DIFFERENCE:
            is_false = True
        if is_false:
            found.append(f"{each.competitor}, {each.name}, {each.way}: {answer}")
    return found


def found_shares(pages: Sequence[Asked]) -> pd.DataFrame:
    """The share of pages on which needed columns are found to help, by way and competitor."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for asked in pages:
        for each, answer in asked.importance.answered:
            if each.name in NEEDED:
                counts[each.way, each.competitor, each.name] += answer in HELPING
    rows = [(*place, n / len(pages)) for place, n in counts.items()]
    frame = pd.DataFrame(rows, columns=["way", "competitor", "column", "found"])
    return frame.pivot_table(index=["way", "competitor"], columns="column", values="found", sort=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--left-out", choices=("none", "few", "all"), default="none")
    parser.add_argument("--fast", action="store_true", help="without networks")
    parser.add_argument("--only", choices=KINDS)
    given = parser.parse_args()
    prepare_process(1)
    for kind in KINDS if given.only is None else (given.only,):
        pages = []
        n_false = 0
        for page in range(given.pages):
            asked = answered(kind, page, left_out=given.left_out, is_fast=given.fast)
            wrong = falsehoods(kind, asked)
            n_false += bool(wrong)
            pages.append(asked)
            print(f"{kind}, page {page + 1}: {'; '.join(wrong) or 'true'}; {n_false} false so far", flush=True)
        low, high = binomtest(n_false, len(pages)).proportion_ci(0.95, "exact")
        print(f"{kind}: {n_false} of {len(pages)} pages are false, 95 % interval {low:.3f} to {high:.3f}")
        if kind == "mixed":
            print(found_shares(pages).round(2).to_markdown())


if __name__ == "__main__":
    main()
