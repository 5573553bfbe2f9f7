"""`ScarfClassifier()` beside logistic regression: `python -m tools.benchmarks.estimator_defaults --openml CACHE`.

Ten random splits of each table, stratified, 80 % to train and 20 % to test, the same for both. Logistic regression is
scikit-learn's with its own defaults, on imputed, standardised and one-hot encoded columns. On a table of less than
1,000 rows, where a test row weighs most, `ScarfClassifier` is fitted with the seeds 0, 1 and 2 on each split, on the
others with seed 0. Seconds are the processor time of one `fit` in a process that has imported everything.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from scarf_lightning import ScarfClassifier
from scarf_lightning.data.sources import OpenMLSource
from scarf_lightning.data.targets import Classes
from scarf_lightning.engine.hardware import prepare_process

BUNDLED: dict[str, Callable[..., tuple[pd.DataFrame, pd.Series]]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
OPENML = {
    "balance-scale": 11, "analcatdata_dmft": 469, "pc1": 1068, "tic-tac-toe": 50, "credit-approval": 29, "car": 40975,
    "segment": 40984, "kc1": 1067, "pc3": 1050, "eucalyptus": 188, "cylinder-bands": 6332, "ozone-level-8hr": 1487,
    "wilt": 40983, "phoneme": 1489, "churn": 40701,
}  # fmt: skip
"""The tables of OpenML-CC18 with the fewest cells among those with at most 6,000 rows and a file in the study's cache,
without wdbc, which is breast cancer."""


SMALL = 1000
"""Rows of a table below which each split is fitted with three seeds."""


def logistic() -> Pipeline:
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    encoded = make_column_transformer(
        (words, make_column_selector(dtype_include="category")),
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
    )
    return make_pipeline(encoded, LogisticRegression(max_iter=10_000))


def table(name: str, cache: Path | None) -> tuple[pd.DataFrame, pd.Series]:
    """Features, with categories as such, and labels."""
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True, as_frame=True)
    read = OpenMLSource(OPENML[name], cache, dataset_name=name).load()
    assert isinstance(read.target, Classes)
    columns = {
        column.name: values if column.categories is None else of_codes(values, column.categories)
        for column, values in zip(read.columns, read.values.T, strict=True)
    }
    return pd.DataFrame(columns), pd.Series(np.array(read.target.names)[read.labels])


def of_codes(codes: np.ndarray, categories: tuple[str, ...]) -> pd.Categorical:
    return pd.Categorical.from_codes(np.nan_to_num(codes, nan=-1).astype(int), list(categories))


def rows(names: list[str], cache: Path | None, n_splits: int) -> Iterator[str]:
    headings = (
        "table",
        "rows",
        "`ScarfClassifier()`",
        "logistic regression",
        "difference",
        "without pre-training",
        "seconds",
    )
    yield f"| {' | '.join(headings)} |"
    yield f"|---|{'--:|' * (len(headings) - 1)}"
    for name in names:
        X, y = table(name, cache)
        pairs, times, scratch = [], [], 0
        splits = StratifiedShuffleSplit(n_splits, test_size=0.2, random_state=0)
        seeds = range(3 if len(X) < SMALL else 1)
        for train, test in splits.split(X, y):
            ours = []
            for seed in seeds:
                model = ScarfClassifier(random_state=seed)
                took, accuracy = fitted(model, X, y, train, test)
                ours.append(accuracy)
                times.append(took)
                scratch += not str(model.choice_).startswith("Pre-training helps")
            pairs.append((np.mean(ours), fitted(logistic(), X, y, train, test)[1]))
        both, differences = 100 * np.mean(pairs, axis=0), 100 * np.subtract(*np.transpose(pairs))
        noise = differences.std(ddof=1) / np.sqrt(n_splits)
        difference = f"{differences.mean():+.1f} ± {noise:.1f}".replace("-", "−")
        cells = name, f"{len(X):,}", f"{both[0]:.1f}", f"{both[1]:.1f}", difference, f"{scratch} of {len(times)}"
        yield f"| {' | '.join(cells)} | {np.median(times):.1f} |"


def fitted(
    model: ClassifierMixin, X: pd.DataFrame, y: pd.Series, train: np.ndarray, test: np.ndarray
) -> tuple[float, float]:
    """Processor seconds of `fit`, and the accuracy on test rows."""
    started = time.process_time()
    model.fit(X.iloc[train], y.iloc[train])
    return time.process_time() - started, model.score(X.iloc[test], y.iloc[test])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--openml", type=Path, help="a folder of the OpenML client's cache; without it, bundled tables")
    parser.add_argument("--tables", nargs="*", choices=[*BUNDLED, *OPENML], help="these alone")
    parser.add_argument("--splits", type=int, default=10, help="of each table (default 10)")
    arguments = parser.parse_args()
    prepare_process(threads=1)
    warnings.simplefilter("ignore")
    rows_of = arguments.tables or [*BUNDLED, *(OPENML if arguments.openml else ())]
    X, y = table("iris", None)
    ScarfClassifier(n_trials=1).fit(X, y)  # imports what training needs
    for line in rows(rows_of, arguments.openml, arguments.splits):
        print(line, flush=True)


if __name__ == "__main__":
    main()
