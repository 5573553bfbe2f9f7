"""Values as JSON."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.cli.as_json import plain, to_stderr, write


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, None), (math.inf, None), (np.float64("nan"), None), (pd.NA, None), (pd.NaT, None), (None, None),
        (np.int64(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (True, True), ("a", "a"),
        (Path("a/b"), "a/b"),
        ((1, math.nan), [1, None]), ({"a": {1: np.int8(2)}}, {"a": {"1": 2}}),
    ],
)  # fmt: skip
def test_a_value_is_plain(value: object, expected: object) -> None:
    found = plain(value)

    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found, allow_nan=False)


def test_what_is_shown_goes_to_standard_error_and_the_object_alone_to_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with to_stderr():
        print("a table")
    write({"difference": math.nan, "größer": [1, 2]})

    out, err = capsys.readouterr()
    assert err == "a table\n"
    assert json.loads(out) == {"difference": None, "größer": [1, 2]}
