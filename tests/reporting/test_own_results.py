"""The figure of compared results; their verdicts are tested beside `verdicts.compare`."""

import inspect

import pandas as pd
from matplotlib.figure import Figure

import scarf_lightning
from scarf_lightning import verdicts


def test_the_public_function_is_the_door_of_the_statistics_with_a_figure() -> None:
    rows = [("t", trial, name, level + trial / 100) for name, level in (("a", 0.8), ("b", 0.7)) for trial in range(5)]
    frame = pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "accuracy"])

    found = scarf_lightning.compare(frame, metric="accuracy", reference="b")

    expected = verdicts.compare(frame, metric="accuracy", reference="b")
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    assert isinstance(found.figure(), Figure)
    assert inspect.signature(scarf_lightning.compare) == inspect.signature(verdicts.compare)
