"""What figures show, read off their artists."""

from collections import Counter

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from scarf_lightning.reporting.drawings.curves import loss_curves, sensitivity_line
from scarf_lightning.reporting.drawings.over_tables import box_plots, heat_map
from scarf_lightning.reporting.style import COLOURS, GREY, drawn
from scarf_lightning.verdicts import WinMatrix
from tests.reporting.cell_results import HOSTILE

NAMES = ["none", "scarf", "scarf_ae"]


def frame(values: list[list[int]], rows: list[str] = NAMES) -> pd.DataFrame:
    return pd.DataFrame(values, index=rows, columns=NAMES)


def matrix(rows: list[str] = NAMES) -> WinMatrix:
    wins = frame([[0, 2, 0], [6, 0, 5], [0, 1, 0]], rows)
    zero = frame([[0] * 3] * 3, rows)
    ties = frame([[0, 2, 10], [2, 0, 4], [10, 4, 0]], rows)
    losses = frame([[0, 6, 0], [2, 0, 1], [0, 5, 0]], rows)
    return WinMatrix(wins, losses, ties, zero)


def texts(axes: Axes) -> dict[tuple[float, float], str]:
    return {
        (round(float(text.get_position()[0]), 2), float(text.get_position()[1])): text.get_text() for text in axes.texts
    }


def test_the_heat_map_writes_fractions_and_the_minimum_of_each_row_and_wins_are_blue() -> None:
    (axes,) = heat_map(matrix(), row_title="pretrain", column_title="against pretrain").axes

    by_row = {0: {1: "2/8", 2: "0/0", 3: "2/8"}, 1: {0: "6/8", 2: "5/6", 3: "6/8"},
              2: {0: "0/0", 1: "1/6", 3: "1/6"}}  # fmt: skip
    assert texts(axes) == {(x, y): text for y, row in by_row.items() for x, text in row.items()}
    image, empty = axes.images
    np.testing.assert_array_equal(np.argwhere(~np.isnan(empty.get_array().filled(np.nan))), [[0, 0], [1, 1], [2, 2]])
    assert image.get_cmap().name == "RdBu", "red is lost, blue won"
    shares = np.ma.masked_invalid([[np.nan, 2 / 8, np.nan, 2 / 8], [6 / 8, np.nan, 5 / 6, 6 / 8], [np.nan, 1 / 6] * 2])
    np.testing.assert_allclose(np.ma.filled(image.get_array(), -1), shares.filled(-1))


def gains() -> pd.DataFrame:
    values = {"scarf": [1.0, 2.0, 3.0, 500.0], "scarf_ae": [0.0, -1.0, np.nan, 0.5]}
    kept = {"scarf": [True, True, False, True], "scarf_ae": [False, True, False, False]}
    return pd.concat(
        pd.DataFrame({"row": "control", "column": c, "dataset": list("abcd"), "gain": values[c], "kept": kept[c]})
        for c in values
    )


def test_box_plots_have_a_point_a_dataset_kept_beside_all_and_the_axis_of_the_whiskers() -> None:
    (axes,) = box_plots(gains(), reference="none", column_title="pretrain").axes
    points = Counter(
        (round(float(x)), to_hex(collection.get_facecolor()[0]))
        for collection in axes.collections
        for x, _ in np.asarray(collection.get_offsets())
    )

    assert points == {(0, COLOURS[0].lower()): 3, (0, GREY): 4, (1, COLOURS[1].lower()): 1, (1, GREY): 3}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["scarf", "scarf_ae"]


def test_points_beyond_the_whiskers_do_not_widen_the_axis() -> None:
    values = [1, 2, 3, 4, 5, 6, 7, 8, 900.0]
    many = pd.DataFrame({"row": "m", "column": "c", "dataset": range(9), "gain": values, "kept": True})
    (axes,) = box_plots(many, reference="none", column_title="pretrain").axes
    assert axes.get_ylim()[1] < 10


def test_curves_end_where_half_of_the_trials_have_stopped() -> None:
    epochs = {"a": 2, "b": 4, "c": 6}
    curves = pd.DataFrame(
        [
            {"panel": "p", "phase": "pretrain", "line": line, "epoch": e, "train_loss": e, "validation_loss": 2 * e}
            for line, last in epochs.items()
            for e in range(1, last + 1)
        ]
    )

    training, validation = loss_curves(curves).axes

    assert [axes.get_title() for axes in (training, validation)] == ["training", "validation"]
    faint, mean = training.lines[:-1], training.lines[-1]
    assert sorted(int(np.isfinite(np.asarray(line.get_ydata())).sum()) for line in faint) == [2, 4, 6]
    assert list(np.asarray(mean.get_xdata())) == [1, 2, 3, 4]
    assert list(np.asarray(validation.lines[-1].get_ydata())) == [2, 4, 6, 8]


def test_a_single_epoch_is_a_point_at_its_number() -> None:
    row = {"panel": "p", "phase": "pretrain", "line": "a", "epoch": 1, "train_loss": 0.5, "validation_loss": 0.4}

    for axes in loss_curves(pd.DataFrame([row])).axes:
        assert {line.get_marker() for line in axes.lines} == {"o"}
        low, high = axes.get_xlim()
        assert [tick for tick in axes.get_xticks() if low <= tick <= high] == [1]


@pytest.mark.parametrize(("x", "scale"), [([0.1, 0.5, 0.9], "linear"), ([32, 128, 1024], "log")])
def test_the_sensitivity_line_suits_its_values(x: list[float], scale: str) -> None:
    relative = pd.DataFrame({"x": x, "mean": [98.0, 100.0, 97.0], "low": np.nan, "high": np.nan})

    (axes,) = sensitivity_line(relative, x_title="corruption.rate", y_title="accuracy").axes

    assert axes.get_xscale() == scale
    assert list(np.asarray(axes.lines[0].get_ydata())) == [98, 100, 97]


def test_names_are_text_and_equal_figures_are_equal_files_and_leave_no_state() -> None:
    before = dict(matplotlib.rcParams)
    figures = [heat_map(matrix([HOSTILE, "a $b^2$", "n" * 200]), row_title=HOSTILE, column_title="") for _ in "ab"]
    figure, files, again = figures[0], *map(drawn, figures)

    first, second, third = figure.axes[0].get_yticklabels()
    assert first.get_text().startswith('<script>alert("x')
    assert second.get_text() == "a $b^2$"
    assert not second.get_parse_math()
    assert len(third.get_text()) == 32
    assert dict(matplotlib.rcParams) == before
    assert files["svg"] == again["svg"]
    assert files["png"].startswith(b"\x89PNG")
