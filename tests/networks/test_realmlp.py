"""RealMLP against its authors' package `pytabkit`, or what the package gave for a small network."""

import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scarf_lightning.data.preprocessing import Preprocessing, Robust
from scarf_lightning.data.table import Table
from scarf_lightning.networks import Columns, Dropout, Network, OneHot, Rates, rates_of
from scarf_lightning.networks.realmlp import (
    PBLD,
    CategoryTable,
    Clamp,
    NTKLinear,
    ParametricActivation,
    RealMLP,
    Scale,
    mish,
    selu,
)
from tests.networks.in_a_stack import KINDS_OF_TABLES, assert_alone_is_among, assert_lifted_is_a_loop, make_table

SMALL = {"width": 12, "depth": 2, "frequencies": 5, "largest_one_hot": 5, "category_embedding": 3}
STORED = Path(__file__).with_name("realmlp_of_pytabkit.json")
"""Rows, weights and outputs of a small network of pytabkit 1.7.3; `store` makes it again."""
OURS = {
    "plr/weight_1": "0.numbers.frequency",
    "plr/bias_1": "0.numbers.phase",
    "plr/weight_2": "0.numbers.weight",
    "plr/bias_2": "0.numbers.shift",
    "net/first_layer/layer-0/scale": "1.scale",
    "net/first_layer/layer-0/weight": "2.weight",
    "net/first_layer/layer-0/bias": "2.bias",
    "net/first_layer/layer-0/act": "3.strength",
    "net/middle_layer/layer-1/weight": "5.weight",
    "net/middle_layer/layer-1/bias": "5.bias",
    "net/middle_layer/layer-1/act": "6.strength",
}
"""Our parameter for each scope of pytabkit's."""
OF_HEAD = {"net/last_layer/layer-2/weight": "layers.0.weight", "net/last_layer/layer-2/bias": "layers.0.bias"}
AUTHORS = {
    "hidden_sizes": [12, 12], "plr_hidden_1": 5, "plr_hidden_2": 4, "max_one_hot_cat_size": 6, "embedding_size": 3,
}  # fmt: skip


def frame() -> pd.DataFrame:
    """60 rows with every kind of column: numbers, an outlier, a binary, a small and a large category."""
    random = np.random.default_rng(5)
    numbers = {"a": random.normal(size=60), "b": random.exponential(size=60) * 30}
    numbers["b"][7] = 4000
    categories = {"c": "xy", "d": "pqrs", "e": "abcdefghijkl"}
    drawn = {name: pd.Categorical(random.permutation(list(of) * 30)[:60]) for name, of in categories.items()}
    return pd.DataFrame(numbers | drawn)


def labels(kind: str) -> np.ndarray:
    random = np.random.default_rng(6)
    return random.integers(3, size=60) if kind == "classes" else random.normal(size=60) * 5 + 2


def made_by_pytabkit(kind: str) -> dict[str, Any]:
    """Parameters and outputs after two epochs on the first 45 rows."""
    pytabkit = pytest.importorskip("pytabkit")
    models = {"classes": pytabkit.RealMLP_TD_Classifier, "number": pytabkit.RealMLP_TD_Regressor}
    model = models[kind](n_epochs=2, device="cpu", n_cv=1, random_state=0, **AUTHORS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how the package makes tensors
        model.fit(frame(), labels(kind), val_idxs=np.arange(45, 60))
    network = model.alg_interface_.model.model
    parameters = {str(value.context.scope)[1:]: value.detach()[0] for value in network.parameters()}
    predicted = model.predict_proba(frame()) if kind == "classes" else model.predict(frame())
    return {"parameters": parameters, "outputs": torch.as_tensor(np.asarray(predicted))}


def stored(kind: str) -> dict[str, Any]:
    kept = json.loads(STORED.read_text())[kind]
    parameters = {name: torch.tensor(values) for name, values in kept["parameters"].items()}
    return {"parameters": parameters, "outputs": torch.tensor(kept["outputs"])}


def store() -> None:
    """Write what pytabkit gives: ``python -c "from tests.networks.test_realmlp import store; store()"``."""
    found = {}
    for kind in ("classes", "number"):
        reference = made_by_pytabkit(kind)
        parameters = {name: value.tolist() for name, value in reference["parameters"].items()}
        found[kind] = {"parameters": parameters, "outputs": reference["outputs"].tolist()}
    STORED.write_text(json.dumps(found))


@pytest.mark.parametrize("kind", ["classes", "number"])
@pytest.mark.parametrize("source", [stored, made_by_pytabkit])
def test_with_the_same_weights_it_predicts_what_the_authors_package_predicts(source: Any, kind: str) -> None:
    """From raw columns to probabilities and numbers: scaling, encodings, embeddings, layers, standardised targets."""
    reference = source(kind)
    theirs, y = reference["parameters"], labels(kind)
    table = Table.from_frame(
        frame(), pd.Series(y.astype(str) if kind == "classes" else y), categorical=[False] * 2 + [True] * 3,
        name="t", source="test",
    )  # fmt: skip
    train_rows = np.arange(45)
    rows = Preprocessing.fit(table, [train_rows], Robust()).apply(table.values, 0)
    encoded = OneHot(table.n_categories)(torch.tensor(rows, dtype=torch.float32))
    options = RealMLP(**SMALL, activation="selu" if kind == "classes" else "mish", clamp=kind == "number")
    f = options.build(Columns(tuple(table.n_categories)), None)
    options.prepare(f, encoded[train_rows])
    h = options.head([12, len(set(y)) if kind == "classes" else 1], None)
    shift, scale = (0.0, 1.0) if kind == "classes" else (y[:45].mean(), y[:45].std())
    options.prepare_head(h, f(encoded[train_rows]).detach(), torch.tensor((y[:45, None] - shift) / scale))
    with torch.no_grad():
        for scope, name in OURS.items():
            give(f, name, theirs[scope])
        give(f, "0.tables.0.weight", theirs["tfms/emb"][1:])  # their first row is for missing values
        for scope, name in OF_HEAD.items():
            give(h, ("0." if kind == "number" else "") + name, theirs[scope])
        outputs = h.eval()(f.eval()(encoded))
        ours = outputs.softmax(dim=-1) if kind == "classes" else outputs[:, 0] * scale + shift
    torch.testing.assert_close(ours.double(), reference["outputs"].double(), rtol=1e-5, atol=1e-5)


def give(module: nn.Module, name: str, value: Tensor) -> None:
    parameter = dict(module.named_parameters())[name]
    assert parameter.shape == value.shape, name
    parameter.copy_(value)


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
def test_it_is_a_loop_over_single_networks(kind: str) -> None:
    assert_lifted_is_a_loop(RealMLP(**SMALL, dropout=0.0), Columns(KINDS_OF_TABLES[kind]))


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        (RealMLP(**SMALL), "every kind of column"),
        (RealMLP(**SMALL | {"width": 7}, embedding=2, activation="mish"), "one number"),
        (RealMLP(**SMALL, embeds_numbers=False, learned_strength=False, initial="normal"), "two constants"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_trial_alone_is_that_trial_among_three(network: Network, kind: str) -> None:
    assert_alone_is_among(network, make_table(KINDS_OF_TABLES[kind]))


def test_activations_are_torchs_and_alike_wherever_an_element_stands() -> None:
    x = torch.linspace(-30, 30, 601, dtype=torch.float64)
    for ours, theirs in ((selu, F.selu), (mish, F.mish)):
        torch.testing.assert_close(ours(x), theirs(x))
        single = torch.randn(500)
        whole = ours(single)
        for start, n in product(range(0, 400, 7), (1, 5, 17, 50)):
            assert torch.equal(ours(single[start : start + n].clone()), whole[start : start + n])
    assert mish(torch.tensor([1e30])).isfinite().all()


def test_rates_are_the_authors() -> None:
    f = RealMLP(**SMALL).build(Columns((0, 2, 6)), None)
    found = {
        (type(owner), name): rates_of(owner, name)
        for owner in f.modules()
        for name, _ in owner.named_parameters(recurse=False)
    }
    assert found == {
        (PBLD, "frequency"): Rates(0.1, 0.1),
        (PBLD, "phase"): Rates(0.1, 0.1),
        (PBLD, "weight"): Rates(0.1, 0.1),
        (PBLD, "shift"): Rates(0.1, 0.1),
        (CategoryTable, "weight"): Rates(),
        (Scale, "scale"): Rates(6.0, 6.0),
        (NTKLinear, "weight"): Rates(),
        (NTKLinear, "bias"): Rates(0.1, 0.0),
        (ParametricActivation, "strength"): Rates(0.1, 0.1),
    }


def test_numbers_are_kept_within_the_training_labels_in_evaluation_alone() -> None:
    clamp = Clamp(1)
    x = torch.tensor([[-9.0], [0.5], [9.0]])
    assert torch.equal(clamp.eval()(x), x), "before it has seen labels"
    clamp.fit(torch.tensor([[-1.0], [2.0]], dtype=torch.float64))
    assert clamp(x).flatten().tolist() == [-1.0, 0.5, 2.0]
    assert torch.equal(clamp.train()(x), x)


def test_the_method_dropout_sets_the_rate() -> None:
    def rates(dropout: float | None) -> list[float]:
        module = RealMLP(**SMALL).build(Columns((0,)), dropout)
        return [part.rate for part in module.modules() if isinstance(part, Dropout)]

    assert rates(None) == [0.15, 0.15]
    assert rates(0.4) == [0.4, 0.4]
