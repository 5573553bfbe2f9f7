"""Labels come back from their spelling in the type that they had."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.columns import Coded
from scarf_lightning.data.targets import Classes, target_from_plain
from scarf_lightning.data.targets.classes import answers_of, dtype_of


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([2**64 - 1, 3], dtype="uint64"),
        np.array([1, 2], dtype="int8"),
        np.array([1.0, 2.5, -0.0, 1e300, 5e-324]),
        np.array([1e20, 1e-7, 0.1], dtype="float32"),
        np.array([True, False]),
        np.array(["b", " a", ""]),
        np.array(["b", " a"], dtype=object),
    ],
    ids=lambda labels: labels.dtype.name,
)
def test_every_type(labels: Any) -> None:
    _, spelled = Coded.of(pd.Series(labels)).sorted_codes()
    found = answers_of(spelled, dtype_of(labels))
    assert found.dtype == labels.dtype
    assert sorted(found.tolist()) == sorted(labels.tolist())


def test_the_type_is_in_the_record_and_not_in_the_identity() -> None:
    numbers, _, _ = Classes.read(pd.Series([0, 1] * 5), "X")
    text, _, _ = Classes.read(pd.Series(["0", "1"] * 5), "X")
    assert (numbers.dtype, text.dtype) == ("int64", "object")
    assert numbers == text
    assert numbers.identity == text.identity
    assert target_from_plain(numbers.plain()).dtype == "int64"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="is no type of labels"):
        target_from_plain({"target": {"kind": "classes", "dtype": "object2", "rarest": 0.5}, "classes": ["a", "b"]})
    wrong: list[tuple[str, Any]] = [("a", "int64"), ("2", "bool"), ("300", "int8")]
    for spelled, dtype in (*wrong, ("a", "complex128"), ("a", 3)):
        with pytest.raises(ValueError, match=r"classes: |is no type of labels"):
            answers_of([spelled], dtype)
