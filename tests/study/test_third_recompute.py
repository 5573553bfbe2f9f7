"""The lines of numpy and pandas of the third edition's page: they make every number of its tables."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from study.third_edition import page as pages
from study.third_edition.learnt import CONSTANT, TRIAL
from tests.composing import ROOT
from tests.study.test_third_page import FACTS, lines_of, made_up

DRAWS = 300
COLUMNS = {
    "AUROC": "auroc", "accuracy": "accuracy", "balanced accuracy": "balanced_accuracy",
    "log-loss, hundredths less": "log_loss", "rank correlation": "spearman", "R2": "r2", "RMSE, percent less": "rmse",
}  # fmt: skip
ROWS = {"all that train": "SCARF"} | {f"{n:,}": name for n, name in pages.BY_ROWS.items()}


def marked(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with the mark of those that are worse than class frequencies, as a release that has it leaves it."""
    bounds = trials[trials["competitor"] == CONSTANT].set_index(TRIAL)["log_loss"].rename("bound")
    joined = trials.join(bounds, on=TRIAL)
    return trials.assign(worse_than_frequencies=(joined["log_loss"] > joined["bound"]).astype(float))


@pytest.fixture(scope="module")
def text() -> str:
    made, _ = pages.page(pages.prepared(marked(made_up())), FACTS, n_trials=2, n_draws=DRAWS)
    return made


@pytest.fixture
def names(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the lines of the page define."""
    folder = tmp_path / "study/third_edition"
    folder.mkdir(parents=True)
    marked(made_up()).to_parquet(folder / "trials.parquet")
    FACTS.to_csv(folder / "tables.csv", index=False)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert code.strip() == (ROOT / "study/third_edition/recompute.py").read_text(encoding="utf-8").strip()
    defined: dict[str, Any] = {}
    exec(code.replace("DRAWS, TRIALS, BUDGETS = 10_000, 5,", f"DRAWS, TRIALS, BUDGETS = {DRAWS}, 2,"), defined)
    return defined


def numbers(cell: str) -> list[float]:
    return [float(number) for number in re.findall(r"[+-]?(?:\d+\.\d+|inf)", cell)]


def gains(names: dict[str, Any], means: pd.DataFrame, pair: str, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The gains of a pair at a budget, and the number of each table's family."""
    competitor, reference = pair.split(", over ")
    found = (means[labels, competitor] - means[labels, reference]).dropna()
    return found.to_numpy(), pd.factorize(names["facts"].family[found.index])[0]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "heading"), [("classes", "Classes"), ("number", "Numbers")])
def test_answers_medians_and_worths_are_made_again(kind: str, heading: str, text: str, names: dict[str, Any]) -> None:
    primary = next(metric for each in pages.KINDS if each.name == kind for metric in each.metrics)
    by_metric = {metric: names["means"](COLUMNS[metric], kind) for metric in COLUMNS if metric in text}
    means, budgets = by_metric[primary], names["BUDGETS"]

    compared = 0
    for pair, *cells in lines_of(text, f"{heading}: does it help, and beside what?"):
        for cell, (*made, answer) in zip(cells, answers_of(names, means, pair), strict=True):
            assert numbers(cell) == pytest.approx(made, abs=0.0051)
            assert cell.endswith(f": {answer}")
            compared += 3
    for pair, *cells in lines_of(text, f"{heading}: the median table, and the next one"):
        for labels, cell in zip(budgets, cells, strict=True):
            assert numbers(cell) == pytest.approx(names["median"](gains(names, means, pair, labels)[0]), abs=0.0051)
            compared += 5
    for pair, *cells in lines_of(text, f"{heading}: how many labels is it worth?"):
        for labels, cell in zip(budgets, cells, strict=True):
            found = names["worth"](means, *pair.split(", over "), labels)
            shown = re.fullmatch(r"×(\S+) \((\S+) to (\S+)\)", cell)
            assert shown is not None
            np.testing.assert_allclose([float(each) for each in shown.groups()], found, atol=0.0051)
            compared += 3
    for pair, metric, labels, answer, mean, median, n in lines_of(text, f"{heading}: by every metric"):
        place = budgets.index(int(labels))
        *made, expected = answers_of(names, by_metric[metric], pair)[place]
        of_tables, _ = gains(names, by_metric[metric], pair, int(labels))
        assert (answer, int(n)) == (expected, len(of_tables))
        assert numbers(mean) == pytest.approx(made, abs=0.0051)
        assert numbers(median) == pytest.approx(names["median"](of_tables)[:3], abs=0.0051)
        compared += 7
    assert compared > 150


def answers_of(names: dict[str, Any], means: pd.DataFrame, pair: str) -> list[tuple[float, float, float, str]]:
    found: list[tuple[float, float, float, str]] = names["answers"](
        [gains(names, means, pair, labels) for labels in names["BUDGETS"]]
    )
    return found


def test_rows_and_trials_that_have_not_learnt_are_made_again(text: str, names: dict[str, Any]) -> None:
    means = names["means"]("auroc", "classes")
    lines = lines_of(text, "Classes: what are rows without a label worth?")
    whole = means[[(20, name) for name in ("no pre-training", *ROWS.values())]].dropna()
    made = names["answers"]([gains(names, whole, f"{ROWS[n]}, over no pre-training", 20) for n, *_ in lines])
    for (_, mean, answer, _), (*numbers_made, answer_made) in zip(lines, made, strict=True):
        assert numbers(mean) == pytest.approx(numbers_made, abs=0.0051)
        assert answer == answer_made

    for competitor, *cells in lines_of(text, "Trials that have not learnt"):
        for labels, cell in zip(names["BUDGETS"], cells, strict=True):
            if cell != "none":
                one, worse, n = names["counts"].loc[(competitor, labels), :].astype(int)
                assert cell == f"{one} and {worse} of {n}"


def test_the_lines_are_few_and_need_no_more_than_numpy_pandas_and_scipy() -> None:
    lines = (ROOT / "study/third_edition/recompute.py").read_text(encoding="utf-8").splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert [line.split()[1].partition(".")[0] for line in imports] == ["numpy", "pandas", "scipy"]
    assert len([line for line in lines if line and line not in imports]) < 50
