"""Gradient boosting on typed columns."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from scarf_lightning.data.sources import DiabetesSource
from scarf_lightning.data.table import Table
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods.boosting import HistGradientBoosting, LightGBM
from tests.methods.libraries import PLAIN, assert_it_is_its_librarys, raw, seed_of
from tests.stacks import MakeStack

EITHER = pytest.mark.parametrize("kind", ["classes", "numbers"])


def frame(stack: Stack, rows: np.ndarray) -> pd.DataFrame:
    found = pd.DataFrame(raw(stack, rows)[0]).add_prefix("x")
    for place, n in enumerate(stack.table.n_categories):
        if n:
            found[f"x{place}"] = pd.Categorical(found[f"x{place}"].astype(int), categories=range(n))
    return found


@EITHER
def test_histograms_are_scikit_learns_with_categories(patients: Table, make_stack: MakeStack, kind: str) -> None:
    is_number = kind == "numbers"
    stack = make_stack(DiabetesSource().load() if is_number else patients, [2])
    cls = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier

    def library(seed: int, categories: Any = None) -> Any:
        leaf = 20 if is_number else 13
        return cls(max_iter=9, min_samples_leaf=leaf, categorical_features=categories, random_state=seed)

    with_categories = partial(library, categories=np.array(stack.table.n_categories) > 0)
    assert_it_is_its_librarys(HistGradientBoosting(max_iter=9), with_categories, stack, inputs=raw, rounding=0)
    if not is_number:
        with pytest.raises(AssertionError):
            assert_it_is_its_librarys(HistGradientBoosting(max_iter=9), library, stack, inputs=raw, rounding=0)


@EITHER
def test_lightgbm_is_its_own_with_categories(patients: Table, make_stack: MakeStack, kind: str) -> None:
    lightgbm, is_number = pytest.importorskip("lightgbm"), kind == "numbers"
    stack = make_stack(DiabetesSource().load() if is_number else patients, [2])
    found, n = LightGBM(n_estimators=9).run(stack, PLAIN).predictions[0], stack.data.labelled.shape[1]
    model = (lightgbm.LGBMRegressor if is_number else lightgbm.LGBMClassifier)(
        n_estimators=9, min_child_samples=min(20, n // 10), min_data_per_group=n // 10, deterministic=True,
        force_col_wise=True, n_jobs=1, random_state=seed_of(stack, 2), verbosity=-1,
    )  # fmt: skip
    model.fit(frame(stack, stack.data.labelled), stack.data.labels[0])
    test = frame(stack, stack.data.test)
    np.testing.assert_array_equal(found, model.predict(test) if is_number else model.predict_proba(test))
