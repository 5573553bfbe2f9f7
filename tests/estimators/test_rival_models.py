"""Models of other libraries as arrays: they predict what the libraries predict; a folder from elsewhere is hostile."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save

from scarf_lightning.data.sources import open_source
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import RivalModel, load_model, refitting
from scarf_lightning.estimators.refitting import FORMS, refitted
from scarf_lightning.results import DamagedRecordError
from tests.composing import config_of
from tests.results.sealing import replace_file
from tests.storing import write_csv

N = 90
EXPECTED = {"metric": "accuracy", "value": 0.75, "low": 0.6, "high": 0.9}
SMALL = {"random_forest": ("method.n_estimators=10",), "xgboost": ("method.n_estimators=10",)}
"""Options of methods by which they take little time."""


def dirty(n: int, seed: int = 0) -> pd.DataFrame:
    """Numbers as text, gaps of both kinds of column, and categories."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "price": [f"€ {value:,.2f}" for value in random.lognormal(7, 1, n)],
            "height": random.normal(170, 10, n),
            "colour": random.choice(["red", "green", "blue"], n),
            "since": pd.Timestamp("2021-01-01") + pd.to_timedelta(random.integers(900, size=n), unit="D"),
        }
    )
    frame.loc[random.random(n) < 0.2, "height"] = np.nan
    frame.loc[random.random(n) < 0.2, "colour"] = None
    return frame


@cache
def read(n_classes: int) -> tuple[tuple[str, ...], Table]:
    """The overrides of a dirty table, and the table; the target is a number if it has no classes."""
    number = dirty(N)["height"].fillna(170) * 1000 + np.random.default_rng(1).normal(size=N)
    with TemporaryDirectory() as folder:
        asked = write_csv(Path(folder), dirty(N), classes(n_classes) if n_classes else number)
        config = config_of(*asked)
        return tuple(asked), open_source(**vars(config.dataset), openml_cache=None, split=config.split).read().table


def trained(method: str, n_classes: int) -> tuple[RivalModel, Any]:
    """The model of a method on a dirty table, and the library's own that it was made of."""
    fitted: list[Any] = []
    form = FORMS[method]

    def kept(model: Any) -> refitting.Learnt:
        fitted.append(model)
        return form(model)

    asked, table = read(n_classes)
    of_method = (f"method={method}", *SMALL.get(method, ()))
    config = config_of(*asked, *of_method, "recipe=practical", "pretrain=none", "trainer.accelerator=cpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FORMS, method, kept)
        model = refitted(config, table, EXPECTED)
    assert isinstance(model, RivalModel)
    return model, fitted[0]


def classes(n_classes: int) -> "pd.Series[str]":
    """Labels that depend on the height; every third row has none."""
    height = dirty(N)["height"].fillna(170) + np.random.default_rng(1).normal(size=N)
    named = pd.Series(pd.qcut(height, n_classes, labels=["low", "middle", "high"][:n_classes]).astype(str))
    named[::3] = None
    return named


@pytest.mark.parametrize(
    ("method", "n_classes"),
    [("logistic", 2), ("logistic", 3), ("random_forest", 3), ("xgboost", 2), ("xgboost", 3)],
)
@pytest.mark.slow
def test_a_saved_classifier_predicts_new_rows_as_its_library_does(method: str, n_classes: int, tmp_path: Path) -> None:
    labels, new = classes(n_classes), dirty(50, seed=2)
    made, library = trained(method, n_classes)
    made.save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert isinstance(model, RivalModel)
    expected = library.predict_proba(model.features(model.values(new)))
    assert sorted(model.classes_) == sorted(labels.dropna().unique())
    np.testing.assert_allclose(model.predicted(new), expected, atol=1e-5)
    assert model.predict(new).tolist() == [model.description.classes[place] for place in expected.argmax(axis=1)]
    assert model.description.expected == EXPECTED
    assert [*model.answered(new)] == ["class", *(f"probability_{name}" for name in model.description.classes)]
    if method == "random_forest":
        assert library.estimators_[0].tree_.weighted_n_node_samples[0] == labels.notna().sum(), "every label trains"


@pytest.mark.parametrize("method", ["ridge", "random_forest", "xgboost"])
@pytest.mark.slow
def test_a_saved_regressor_predicts_new_rows_as_its_library_does(method: str, tmp_path: Path) -> None:
    made, library = trained(method, 0)
    made.save(tmp_path / "model")
    model, new = load_model(tmp_path / "model"), dirty(50, seed=2)
    expected = library.predict(model.features(model.values(new)))  # type: ignore[union-attr]
    np.testing.assert_allclose(model.predicted(new), expected, rtol=1e-5)


def test_a_model_is_refused_if_its_arrays_say_something_else_or_its_method_has_no_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    form = FORMS["logistic"]

    def wrong(model: Any) -> refitting.Learnt:
        found = form(model)
        return refitting.Learnt(found.learner, found.link, {**found.arrays, "offset": found.arrays["offset"] + 1})

    monkeypatch.setitem(FORMS, "logistic", wrong)
    with pytest.raises(RuntimeError, match="do not predict what its library predicts"):
        trained("logistic", 2)
    config = config_of("method=hist_gradient_boosting", "pretrain=none")
    with pytest.raises(UsageError, match="No model is kept: method=hist_gradient_boosting trains no network of ours"):
        refitted(config, None, {})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def forest() -> RivalModel:
    return trained("random_forest", 3)[0]


def test_a_notebook_shows_what_a_model_is_and_what_to_expect_of_it(forest: RivalModel) -> None:
    shown = forest._repr_html_()
    assert shown.startswith("<p><strong>random forest</strong></p>")
    for text in (forest.description.name, "one of 3 classes: ", "accuracy 0.7500"):
        assert text in shown


def moved(array: Any, place: int, value: Any) -> Any:
    changed = array.copy()
    changed[place] = value
    return changed


CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a circle": lambda a: a | {"left": moved(a["left"], 0, 0)},
    "a way out of the trees": lambda a: a | {"right": moved(a["right"], 0, len(a["right"]))},
    "one child": lambda a: a | {"left": moved(a["left"], 0, -1)},
    "a feature that is not there": lambda a: a | {"feature": moved(a["feature"], 0, 10**6)},
    "a root that is not there": lambda a: a | {"roots": moved(a["roots"], 0, -5)},
    "infinite leaves": lambda a: a | {"value": moved(a["value"], 1, np.inf)},
    "nodes of floats": lambda a: a | {"left": a["left"].astype(float)},
    "fewer values": lambda a: a | {"value": a["value"][:-1]},
    "another number of classes": lambda a: a | {"value": a["value"][:, :2], "offset": a["offset"][:2]},
    "roots of two axes": lambda a: a | {"roots": a["roots"][None]},
    "no thresholds": lambda a: {name: array for name, array in a.items() if name != "threshold"},
    "one array too many": lambda a: a | {"more": a["left"]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_arrays_that_cannot_be_are_refused(change: str, forest: RivalModel) -> None:
    learnt = CHANGES[change](dict(forest.learnt))
    with pytest.raises(DamagedRecordError):
        RivalModel(forest.description, forest.preprocessing, learnt).check()


def test_a_changed_folder_is_refused_or_predicts_numbers(forest: RivalModel, tmp_path: Path) -> None:
    random, rows, n_refused = np.random.default_rng(0), dirty(3), 0
    for number in range(15):
        folder = tmp_path / f"model-{number}"
        forest.save(folder)
        arrays = load_file(folder / "weights.safetensors")
        name = random.choice(sorted(arrays))
        flat = arrays[name].reshape(-1).copy()
        place = random.integers(len(flat))
        flat[place] = random.choice([-1, 0, 1, 7, 10**9]) if flat.dtype.kind != "u" else 255
        arrays[name] = flat.reshape(arrays[name].shape)
        replace_file(folder, "model.json", "weights.safetensors", save(arrays))
        try:
            assert np.isfinite(load_model(folder).predicted(rows)).all()
        except UsageError:
            n_refused += 1
    assert 0 < n_refused < 15


def test_a_rival_has_no_trials_and_the_model_of_another_kind_is_replaced_in_its_folder(
    forest: RivalModel, tmp_path: Path
) -> None:
    forest.save(tmp_path / "model")
    with pytest.raises(UsageError, match="is a random forest, which has no trials; leave trial out"):
        load_model(tmp_path / "model", trial=0)
    trained("logistic", 2)[0].save(tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert isinstance(found, RivalModel)
    assert found.description.label == "logistic regression"
