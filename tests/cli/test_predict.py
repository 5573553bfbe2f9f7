import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning import ScarfClassifier
from scarf_lightning.cli.scarf import run
from scarf_lightning.cli.scarf import scarf as command
from tests.estimators.conftest import OfACell, rows, scarf, train_on
from tests.processes import here

Shown = pytest.CaptureFixture[str]

__all__ = ["rows", "scarf", "train_on"]


@pytest.fixture
def file(scarf: OfACell, tmp_path: Path) -> Path:
    scarf.rows.head(7).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path / "new.csv"


@pytest.mark.slow
def test_classes_and_probabilities_are_written_where_it_is_asked_for(scarf: OfACell, file: Path, capsys: Shown) -> None:
    model, to = str(scarf.folder / "model"), file.with_name("out.csv")
    assert run(["predict", model, str(file)]) == 0
    out, err = capsys.readouterr()
    assert run(["predict", model, str(file), "--output", str(to)]) == 0

    written = pd.read_csv(io.StringIO(out))
    assert err == ""
    assert list(written.columns) == ["class", "probability_no", "probability_yes"]
    assert written["class"].tolist() == scarf.model.predict(scarf.rows.head(7)).tolist()
    np.testing.assert_allclose(written.iloc[:, 1:], scarf.model.predict_proba(scarf.rows.head(7)), atol=1e-12)
    assert capsys.readouterr().out == ""
    pd.testing.assert_frame_equal(pd.read_csv(to), written)
    # Another separator is found, and a decimal sign is asked for.
    scarf.rows.head(7).to_csv(file, index=False, sep=";", decimal=",")
    assert run(["predict", str(scarf.folder), str(file), "--decimal", ","]) == 0
    assert capsys.readouterr().out == out
    # A sentence names an unseen category.
    scarf.rows.head(2).assign(colour="mauve").to_csv(file, index=False)
    assert run(["predict", model, str(file)]) == 0
    said = "Column 'colour' has 'mauve', which the training table did not: taken as missing.\n"
    assert capsys.readouterr().err == said


def test_a_file_is_predicted_as_its_frame_where_a_category_is_a_word_for_a_gap(tmp_path: Path) -> None:
    rows = pd.DataFrame({"country": ["NA", "DE", "FR", "None"] * 10, "n": np.arange(40) % 7 + 0.5})
    settings: dict[str, Any] = {"pretrain": "none", "n_trials": 1, "options": {"max_epochs": 20}}
    model = ScarfClassifier(**settings).fit(rows, rows["country"].isin(["NA", "None"]))
    model.save(tmp_path / "model")
    rows.to_csv(tmp_path / "new.csv", index=False)
    assert (
        run(["predict", str(tmp_path / "model"), str(tmp_path / "new.csv"), "--output", str(tmp_path / "o.csv")]) == 0
    )
    written = pd.read_csv(tmp_path / "o.csv")
    np.testing.assert_allclose(written.iloc[:, 1:], model.predict_proba(rows), atol=1e-12)


@pytest.mark.parametrize(
    ("model", "new", "output", "sentence"),
    [
        ("nowhere", "new.csv", None, "nowhere is no model: there is no such folder"),
        ("", "no.csv", None, "there is no file"),
        ("", "lacking.csv", None, "The rows lack 'colour', which the model was trained on."),
        ("", "new.csv", "no/such/folder.csv", "cannot be written"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(
    model: str, new: str, output: str | None, sentence: str, scarf: OfACell, file: Path
) -> None:
    scarf.rows.drop(columns="colour").to_csv(file.with_name("lacking.csv"), index=False)
    where = scarf.folder / "model" if model == "" else file.with_name(model)
    to = ["--output", str(file.parent / output)] if output else []

    ran = here(command, "predict", str(where), str(file.with_name(new)), *to, cwd=file.parent)

    assert ran.returncode == 2
    assert sentence in ran.stderr
    assert ran.stderr.count("\n") == 1
