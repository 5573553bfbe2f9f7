"""RealMLP of the study beside its authors' with few labels: `python -m tools.benchmarks.realmlp_few_labels`.

The study's tables of classes with fewer than 20,000 rows, one split of each: 20 % of the rows test, and as many of the
others as are asked for train, stratified. All networks get the same rows, one network each. pytabkit refuses gaps in
numbers, so its networks get their mean. pytabkit is no requirement of ours.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.model_selection import train_test_split

from scarf_lightning import ScarfClassifier
from scarf_lightning.data.targets import Classes
from scarf_lightning.engine.hardware import prepare_process
from study.third_edition.tables import FILE, tables

from .estimator_few_labels import frame_of, score

MOST_ROWS = 20_000
FACTS = FILE.with_suffix(".csv")
NETWORK = "the study's network"
OF_THE_STUDY = {"finetune.fixed_below": 1000, "network.encoder.dropout": 0.3}
"""Options of `study/third_edition/realmlp.yaml`."""


def networks() -> dict[str, Callable[[], ClassifierMixin]]:
    """Without pre-training, each with its defaults or with those of the study."""
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_S_Classifier

    def ours(recipe: str, **options: object) -> ScarfClassifier:
        return ScarfClassifier(recipe=recipe, pretrain="none", n_trials=1, random_state=0, options=options)

    return {
        NETWORK: lambda: ours("practical"),
        "the study's RealMLP": lambda: ours("realmlp_s", **OF_THE_STUDY),
        "the same, with an early stop": lambda: ours("realmlp_s", **OF_THE_STUDY | {"finetune.fixed_below": 0}),
        "`recipe=realmlp_s`": lambda: ours("realmlp_s"),
        "RealMLP-TD-S of pytabkit": lambda: RealMLP_TD_S_Classifier(device="cpu", n_threads=1, random_state=0),
        "RealMLP-TD of pytabkit": lambda: RealMLP_TD_Classifier(device="cpu", n_threads=1, random_state=0),
    }


def compared(X: pd.DataFrame, y: pd.Series, n_labels: int) -> dict[str, float]:
    """The AUROC of each of the networks, in points."""
    others, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
    train, _ = train_test_split(others, train_size=n_labels, random_state=0, stratify=y.iloc[others])
    filled = X.fillna(X.iloc[train].mean(numeric_only=True))
    found = {}
    for name, make in networks().items():
        rows = filled if "pytabkit" in name else X
        model = make().fit(rows.iloc[train], y.iloc[train])
        found[name] = 100 * score(model, rows.iloc[test], y.iloc[test])
    return found


def lines(n_labels: int, cache: Path) -> Iterator[str]:
    """A Markdown table, after a line for each table of rows."""
    facts = pd.read_csv(FACTS)
    left_out = set(facts.loc[facts["left_out"].notna(), "table"])
    rows = []
    for each in tables():
        if each.target_kind != Classes.name or each.name in left_out:
            continue
        X, y = frame_of(each.source(cache).load())
        if len(y) >= MOST_ROWS:
            continue
        rows.append(compared(X, y, n_labels))
        yield f"{each.name}: {', '.join(f'{points:.1f}' for points in rows[-1].values())}"
    found = pd.DataFrame(rows)
    yield f"| AUROC, {n_labels} labels, {len(found)} tables | points | beside {NETWORK} |"
    yield "|---|--:|--:|"
    for name, points in found.items():
        d = points - found[NETWORK]
        beside = "" if name == NETWORK else f"{d.mean():+.1f} ± {d.sem():.1f}".replace("-", "−")
        yield f"| {name} | {points.mean():.1f} | {beside} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--openml", type=Path, required=True, help="a folder of the OpenML client's cache")
    parser.add_argument("--labels", type=int, default=500)
    asked = parser.parse_args()
    prepare_process(threads=1)
    warnings.simplefilter("ignore")
    for line in lines(asked.labels, asked.openml):
        print(line, flush=True)


if __name__ == "__main__":
    main()
