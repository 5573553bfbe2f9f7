"""A user's job from the file to the end: an answer with its model, by commands and in Python."""

import html
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.estimators import RivalModel, load_model
from tests.composing import ROOT
from tests.processes import TINY

pytestmark = pytest.mark.slow

N, N_LABELLED = 300, 120


def customers() -> pd.DataFrame:
    """A dirty file: an id, prices as text, gaps, categories; 120 of 300 rows have a label, which two columns tell."""
    random = np.random.default_rng(3)
    score = random.normal(size=N)
    group = random.choice(["Basic", "basic ", "plus", "family"], N)
    churns = score + (group == "plus") + 0.5 * random.normal(size=N) > 0.3
    frame = pd.DataFrame(
        {
            "id": [f"C-{i * 7919 % 9973:05d}" for i in range(N)],
            "income": [f"€ {value:,.2f}" for value in np.exp(9 + 0.3 * score)],
            "plan": group,
            "visits": np.where(random.random(N) < 0.1, np.nan, random.poisson(3, N)),
            "churned": np.where(churns, "yes", "no"),
        }
    )
    frame.loc[random.permutation(N)[N_LABELLED:], "churned"] = None
    frame.loc[random.random(N) < 0.1, "plan"] = None
    return frame


def scarf(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "scarf_lightning.cli.scarf", *arguments],
        cwd=cwd, env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def test_from_a_dirty_file_to_predictions_by_two_commands(tmp_path: Path) -> None:
    customers().to_csv(tmp_path / "customers.csv", index=False)
    new = customers().drop(columns="churned").head(20)
    new.to_csv(tmp_path / "new.csv", index=False)

    ran = scarf("answer", "customers.csv", "churned", "trials=3", *TINY, "--json", cwd=tmp_path)

    assert ran.returncode in (0, 3), ran.stderr
    found = json.loads(ran.stdout)
    assert ran.returncode == (3 if found["state"] == "open" else 0)
    assert "120 rows have a label, and each trial tests 24 of them" in ran.stderr
    recommendation = found["recommendation"]
    # Networks of two epochs learn nothing.
    assert recommendation["use"] in ("logistic regression", "XGBoost", "random forest")
    assert recommendation["expected"]["metric"] == "accuracy"
    assert recommendation["expected"]["value"] > 0.75
    # The answer that needs no model is a line of the table, and of no sentence.
    baseline = "always the commonest answer"
    assert f"{baseline} (all labels)" in [each["competitor"] for each in found["competitors"]]
    assert baseline not in " ".join([*recommendation["sentences"], *found["answer"]]).lower()
    model = load_model(tmp_path / recommendation["model"])
    assert isinstance(model, RivalModel)
    assert model.description.expected == recommendation["expected"]

    predicted = scarf("predict", recommendation["model"], "new.csv", cwd=tmp_path)

    assert predicted.returncode == 0, predicted.stderr
    lines = predicted.stdout.splitlines()
    assert lines[0] == "class,probability_no,probability_yes"
    assert [line.partition(",")[0] for line in lines[1:]] == model.predict(new).tolist()


def test_an_answer_from_python_leaves_the_model_of_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(150, 3)), columns=list("abc"))
    frame["price"] = 50_000 + 4_000 * frame["a"] + 300 * random.normal(size=150)

    answer = scarf_lightning.answer(frame, "price", "trials=3", *TINY, verbose=False)

    assert answer.recommendation is not None
    assert answer.recommendation.name == "ridge regression"
    assert answer.model is not None
    model = load_model(answer.model)
    errors = model.predict(frame.drop(columns="price")) - frame["price"]
    assert np.sqrt(np.mean(errors**2)) < 400
    # The noise is what no model predicts.
    expected: dict[str, Any] = model.description.expected
    assert 200 < expected["low"] < 300 < expected["high"] < 450


def test_a_network_is_kept_where_it_is_recommended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrowed answer has networks alone."""
    monkeypatch.chdir(tmp_path)
    customers().to_csv("customers.csv", index=False)

    answer = scarf_lightning.answer("customers.csv", "churned", "trials=3", "method=control", *TINY, verbose=False)

    assert answer.model is not None
    model = load_model(answer.model)
    assert not isinstance(model, RivalModel)
    assert len(model.trials) == 3
    assert set(model.predict(customers().head(10))) <= {"yes", "no"}
    assert model.description.expected["metric"] == "accuracy"


@pytest.mark.parametrize("name", ["left", None])
def test_screen_page_and_json_say_alike_which_column_carries_the_model(
    name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(300, 4)), columns=list("abcd"))
    churns = frame.sum(axis=1) + random.normal(size=300) > 0
    if name is not None:
        frame[name] = np.where(churns & (random.random(300) < 0.9), "moved", None)
    frame["churned"] = np.where(churns, "yes", "no")
    frame.to_csv("customers.csv", index=False)

    ran = scarf("answer", "customers.csv", "churned", "trials=3", *TINY, "--json", cwd=tmp_path)

    found = json.loads(ran.stdout)
    said = [each for each in found["recommendation"]["sentences"] if "carries that figure" in each]
    page = html.unescape(Path(found["page"]).read_text(encoding="utf-8"))
    if name is None:
        assert said == []
        assert "carries that figure" not in page + ran.stderr
    else:
        (sentence,) = said
        assert sentence.startswith("Column 'left' carries that figure: alone it gives accuracy 0.9")
        assert sentence in " ".join(found["answer"])
        assert sentence in page
        assert sentence in " ".join(ran.stderr.split())
