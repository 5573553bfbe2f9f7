"""Hints that rows belong together: found in tables made for it, and silent on the bundled ones."""

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.arguments import argument
from scarf_lightning.data.reading import ReadingOptions
from scarf_lightning.data.untyped import read_table

N = 240


def visits(name: str, *, agree: float = 1.0) -> pd.DataFrame:
    """240 visits of 60 patients, of whom this share has one outcome."""
    random = np.random.default_rng(0)
    patient = random.permutation(np.repeat(np.arange(60), 4))
    outcome = np.where(random.random(60) < 0.5, "ill", "well")[patient]
    alone = np.where(random.random(N) < 0.5, "ill", "well")
    frame = pd.DataFrame(random.normal(size=(N, 4)), columns=list("abcd"))
    frame[name] = [f"P{each}" for each in patient]
    return frame.assign(y=np.where(random.random(N) < agree, outcome, alone))


def hinted(frame: pd.DataFrame, *, is_split: bool = False) -> list[str]:
    split_by = np.arange(float(len(frame))) if is_split else None
    table = read_table(frame.drop(columns="y"), frame["y"], ReadingOptions(), name="t", source="t", split_by=split_by)
    return [str(note) for note in table.notes if "split" in str(note)]


@pytest.mark.parametrize("name", ["patient", "patient_id", "PatientID", "household no", "user.id", "seen"])
def test_an_id_or_a_day_whose_rows_agree_in_the_target_is_named(name: str) -> None:
    frame = visits(name)
    if name == "seen":
        days = pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d")
        frame[name] = days[frame[name].str[1:].astype(int)]
    assert hinted(frame) == [
        f"Rows with one value of {name!r} mostly have the same target, and a random split parts them; "
        f"split=group with {argument('split.column', name)} keeps them together."
    ]
    assert hinted(frame, is_split=True) == [], "a split by the data needs no hint"


def copies_with(column: "pd.Series[float] | np.ndarray", n_times: int = 3) -> pd.DataFrame:  # type: ignore[type-arg]
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.integers(9, size=(N // n_times, 6)) / 4, columns=list("abcdef"))
    labels = pd.Series(random.choice(["u", "v"], len(frame)))
    row = random.permutation(np.repeat(np.arange(len(frame)), n_times))
    return frame.iloc[row].reset_index(drop=True).assign(clock=column, y=labels[row].to_numpy())


def test_the_column_that_hides_copies_is_named() -> None:
    """Six columns of three values have 729 combinations, so that rows repeat some by chance, which hides nothing."""
    frame = copies_with(np.random.default_rng(2).normal(size=N))
    assert hinted(frame) == [
        "Without column 'clock', 67% of the rows equal an earlier row in every column; dataset.drop=[clock] leaves it "
        "out, and split.copies=together then keeps equal rows in one part."
    ]
    assert hinted(copies_with(np.zeros(N))) == [], "copies that nothing hides need no column to be left out"
    random = np.random.default_rng(3)
    by_chance = pd.DataFrame(random.integers(3, size=(2000, 6)).astype(float), columns=list("abcdef"))
    assert hinted(by_chance.assign(g=random.normal(size=2000), y=random.choice(["u", "v"], 2000))) == []


def test_it_is_silent_on_the_bundled_tables() -> None:
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

    for load in (load_breast_cancer, load_diabetes, load_iris, load_wine):
        bunch = load(as_frame=True)
        table = read_table(bunch.data, bunch.target.rename("y"), ReadingOptions(), name="t", source="t")
        assert [note for note in map(str, table.notes) if "split" in note] == []


def measured(n_things: int, n_times: int, error: float, width: int = 6) -> pd.DataFrame:
    """Things that were measured several times, with an error in standard deviations."""
    random = np.random.default_rng(0)
    thing = np.repeat(np.arange(n_things), n_times)
    truth = random.normal(size=(n_things, width))[thing]
    frame = pd.DataFrame(truth + error * random.normal(size=truth.shape)).add_prefix("x")
    return frame.assign(y=np.where(random.random(n_things) < 0.5, "a", "b")[thing])


@pytest.mark.parametrize(("n_times", "error"), [(2, 0.01), (3, 0.01), (8, 0.003)])
def test_rows_that_nearly_equal_another_are_counted(n_times: int, error: float) -> None:
    frame = measured(600 // n_times, n_times, error)
    assert hinted(frame) == [
        "About 100% of the rows nearly equal another row, and a random split tests a model on rows much like those it "
        "has seen; if they are measurements of one thing, write a column that says of which, and split=group with "
        "split.column=COLUMN keeps them together."
    ]
    assert hinted(frame, is_split=True) == [], "its advice works"


SILENT = {
    "a name of another thing": visits("ward"),
    "rows that agree by chance": visits("patient", agree=0.0),
    "a patient a row": visits("patient").assign(patient=[f"P{each}" for each in range(N)]),
    "three patients": visits("patient").assign(patient=["P1", "P2", "P3"] * 80),
    "an id within a word": visits("width"),
    "things that were measured once": measured(600, 1, 0.0),
    "points of a curve": measured(600, 1, 0.0, width=1).assign(x1=lambda frame: frame["x0"] ** 2),
    "errors as large as the distance of things": measured(200, 3, 0.3),
    "a few rows": measured(50, 3, 0.01),
    "copies, which are counted elsewhere": measured(200, 3, 0.0),
    "rows that are equal in four columns, beside the three of a date": measured(80, 3, 0.0, width=4).assign(
        day=pd.date_range("2024-01-01", periods=N)
    ),
    "rare categories": measured(200, 3, 0.01).assign(c=[f"c{n}" for n in np.arange(600) % 97]),
}


@pytest.mark.parametrize("name", SILENT)
def test_it_is_silent_on(name: str) -> None:
    assert hinted(SILENT[name]) == []
