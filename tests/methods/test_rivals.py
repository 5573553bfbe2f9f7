"""Other libraries' classifiers: on what they are trained, and with what."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from catboost import CatBoostClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as LinearRidge
from sklearn.metrics import root_mean_squared_error
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from xgboost import XGBClassifier, XGBRegressor

from scarf_lightning.data.sources import DiabetesSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Semi25
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.methods import Method, SupervisedPhase
from scarf_lightning.methods.rivals import CatBoost, Lesson, Logistic, Probe, RandomForest, Ridge, Rival, XGBoost
from scarf_lightning.methods.tabm import TabM
from scarf_lightning.metrics import rmse
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.stacks import MakeStack, task

PLAIN = SupervisedPhase(FinetuneSettings())
BALANCED = SupervisedPhase(FinetuneSettings(class_weight="balanced"))
SMALL_TABM = TabM(k=3, n_blocks=1, d_block=8, max_epochs=5, batch_size=46)


def unbalanced(stack: Stack) -> Stack:
    """Half of the labels of the first class are the second one's."""
    labels = stack.data.labels.copy()
    labels[:, : labels.shape[1] // 2] = np.maximum(labels[:, : labels.shape[1] // 2], 1)
    return replace(stack, data=replace(stack.data, labels=labels))


def seed_of(stack: Stack, trial: int) -> int:
    return stack.streams.seed_of(trial, "another library's classifier") % 2**31


def weights_of(stack: Stack, phase: SupervisedPhase, t: int) -> Any:
    is_balanced = phase.settings.class_weight == "balanced"  # type: ignore[attr-defined]
    return compute_sample_weight("balanced", stack.data.labels[t]) if is_balanced else None


@pytest.mark.parametrize("phase", [PLAIN, BALANCED], ids=["none", "balanced"])
@pytest.mark.parametrize(
    ("method", "library"),
    [
        (Logistic(C=0.3), lambda seed: LogisticRegression(C=0.3, max_iter=10_000)),
        (
            RandomForest(n_estimators=20, max_features="half", max_depth=4),
            lambda seed: RandomForestClassifier(20, max_features=0.5, max_depth=4, random_state=seed),
        ),
    ],
    ids=["logistic", "random_forest"],
)
def test_scikit_learns_on_encoded_labelled_rows(
    patients: Table,
    make_stack: MakeStack,
    method: Method,
    library: Callable[[int], Any],
    phase: SupervisedPhase,
) -> None:
    stack = unbalanced(make_stack(patients, [0, 3]))
    outcome = method.run(stack, phase)
    for t, trial in enumerate((0, 3)):
        direct = library(seed_of(stack, trial))
        x, weights = stack.encoded(stack.data.labelled)[t], weights_of(stack, phase, t)
        direct.fit(x, stack.data.labels[t], sample_weight=weights)
        expected = direct.predict_proba(stack.encoded(stack.data.test)[t])
        np.testing.assert_allclose(outcome.predictions[t], expected, atol=1e-9)


@pytest.mark.parametrize("phase", [PLAIN, BALANCED], ids=["none", "balanced"])
def test_catboost_knows_which_columns_are_categories(
    patients: Table, make_stack: MakeStack, phase: SupervisedPhase
) -> None:
    stack = unbalanced(make_stack(patients, [2]))
    outcome = CatBoost(iterations=15, depth=3).run(stack, phase)

    frames = []
    for rows in (stack.data.labelled[0], stack.data.test[0]):
        values = pd.DataFrame(stack.data.preprocessing.apply(patients.values[rows], 0).astype("float32"))
        frames.append(values.astype({6: int, 7: int}))
    direct = CatBoostClassifier(
        iterations=15, depth=3, cat_features=[6, 7], random_seed=seed_of(stack, 2), thread_count=1, verbose=False,
        allow_writing_files=False,
    )  # fmt: skip
    direct.fit(frames[0], stack.data.labels[0], sample_weight=weights_of(stack, phase, 0))
    np.testing.assert_allclose(outcome.predictions[0], direct.predict_proba(frames[1]), atol=1e-6)


def test_catboost_guesses_the_classes_shares_where_all_columns_are_constant(make_stack: MakeStack) -> None:
    frame = pd.DataFrame({"same": np.ones(60)})
    target = pd.Series(["a", "b", "b"] * 20, name="class")
    table = Table.from_frame(frame, target, categorical=[False], name="flat", source="made up")
    stack = make_stack(table, [0])

    probabilities = CatBoost(iterations=5).run(stack, PLAIN).predictions[0]

    shares = np.bincount(stack.data.labels[0]) / len(stack.data.labels[0])
    np.testing.assert_allclose(probabilities, np.tile(shares, (len(probabilities), 1)))


@pytest.mark.parametrize("phase", [PLAIN, BALANCED], ids=["none", "balanced"])
def test_tabm_is_the_authors_network_trained_as_they_train_it(
    patients: Table, make_stack: MakeStack, phase: SupervisedPhase
) -> None:
    """Their README's loop, in a few plain lines, on the rows of one trial."""
    import tabm

    stack = unbalanced(make_stack(patients, [1]))
    outcome = SMALL_TABM.run(stack, phase)

    def inputs(rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        values = torch.from_numpy(stack.data.preprocessing.apply(patients.values[rows], 0)).float()
        return values[:, :6], values[:, 6:].long()

    numbers, codes = inputs(stack.data.labelled[0])
    labels = torch.from_numpy(stack.data.labels[0])
    weights = weights_of(stack, phase, 0)
    validation, truth = inputs(stack.data.validation[0]), patients.labels[stack.data.validation[0]]
    torch.manual_seed(seed_of(stack, 1))
    network = tabm.TabM.make(
        n_num_features=6, cat_cardinalities=[4, 2], d_out=3, k=3, n_blocks=1, d_block=8, dropout=0.1
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=3e-4)
    best, kept = -1.0, {}
    for _ in range(5):
        network.train()
        order = torch.randperm(139)
        for batch in (order[:46], order[46:92], order[92:]):  # a last batch of one row joins the one before it
            logits = network(numbers[batch], codes[batch])
            losses = torch.stack(
                [torch.nn.functional.cross_entropy(logits[:, i], labels[batch], reduction="none") for i in range(3)], 1
            ).mean(1)
            of_batch = torch.ones(len(batch)) if weights is None else torch.from_numpy(weights)[batch].float()
            optimizer.zero_grad()
            ((losses * of_batch).sum() / of_batch.sum()).backward()
            optimizer.step()
        network.eval()
        accuracy = float(np.mean(network(*validation).softmax(-1).mean(1).argmax(1).numpy() == truth))
        if accuracy > best:
            best, kept = accuracy, {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(kept)
    with torch.no_grad():
        expected = network(*inputs(stack.data.test[0])).softmax(-1).mean(1)
    np.testing.assert_allclose(outcome.predictions[0], expected, atol=1e-5)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_tabm_of_numbers_is_the_authors_network_trained_on_squared_error(
    make_stack: MakeStack, is_weighted: bool
) -> None:
    import tabm

    table = DiabetesSource().load()
    if is_weighted:
        table = replace(table, weights=np.random.default_rng(0).exponential(size=442))
    stack = make_stack(table, [1])
    outcome = SMALL_TABM.run(stack, PLAIN)

    def inputs(rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        values = torch.from_numpy(stack.data.preprocessing.apply(table.values[rows], 0)).float()
        return values[:, ~table.is_categorical], values[:, table.is_categorical].long()

    rows = stack.data.labelled[0]
    numbers, codes = inputs(rows)
    mean, deviation = table.labels[rows].mean(), table.labels[rows].std()
    y = torch.from_numpy((table.labels[rows] - mean) / deviation).float()
    w = torch.ones(len(rows)) if table.weights is None else torch.from_numpy(table.weights[rows]).float()
    validation, truth = inputs(stack.data.validation[0]), table.labels[stack.data.validation[0]]
    torch.manual_seed(seed_of(stack, 1))
    network = tabm.TabM.make(n_num_features=9, cat_cardinalities=[2], d_out=1, k=3, n_blocks=1, d_block=8, dropout=0.1)
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=3e-4)

    def predicted(*inputs: torch.Tensor) -> np.ndarray:
        network.eval()
        with torch.no_grad():
            return network(*inputs)[..., 0].double().mean(1).numpy() * deviation + mean

    best, kept = np.inf, {}
    for _ in range(5):
        network.train()
        for batch in torch.randperm(len(rows)).split(46):
            errors = (network(numbers[batch], codes[batch])[..., 0] - y[batch, None]) ** 2
            optimizer.zero_grad()
            ((errors.mean(1) * w[batch]).sum() / w[batch].sum()).backward()
            optimizer.step()
        error = np.sqrt(np.mean((predicted(*validation) - truth) ** 2))
        if error < best:
            best, kept = error, {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(kept)
    np.testing.assert_allclose(outcome.predictions[0], predicted(*inputs(stack.data.test[0])), rtol=1e-4)


@pytest.mark.parametrize("patience", [0, 3])
def test_tabm_stops_when_no_epoch_of_its_patience_and_one_more_was_better(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    """A network that stands still is best in its first epoch; 139 rows in batches of 46 are three steps an epoch."""
    steps: list[None] = []
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *_: steps.append(None))
    replace(SMALL_TABM, max_epochs=20, patience=patience).run(make_stack(patients, [0]), PLAIN)
    assert len(steps) == 3 * (1 + patience + 1)


def test_what_a_user_leaves_alone_is_as_the_packages_have_it() -> None:
    """But for the number of a forest's trees. TabM's training is as in the authors' README."""
    import tabm

    boosted = CatBoostClassifier(verbose=False, allow_writing_files=False).fit([[0], [1]], [0, 1]).get_all_params()
    assert (CatBoost().iterations, CatBoost().depth) == (boosted["iterations"], boosted["depth"])

    forest, ours = RandomForestClassifier().get_params(), vars(RandomForest())
    assert {option: forest[option] for option in ours} == ours | {"n_estimators": 100}

    named = {option: getattr(TabM(), option) for option in ("k", "n_blocks", "d_block", "dropout")}
    own, theirs = (tabm.TabM.make(n_num_features=2, d_out=2, **options) for options in (named, {}))
    assert str(own) == str(theirs)
    assert [weight.shape for weight in own.parameters()] == [weight.shape for weight in theirs.parameters()]
    assert (TabM().learning_rate, TabM().weight_decay, TabM().batch_size, TabM().patience) == (2e-3, 3e-4, 256, 16)


def test_tabm_leaves_torchs_own_stream_alone(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    torch.manual_seed(5)
    before = torch.get_rng_state()
    SMALL_TABM.run(stack, PLAIN)
    assert torch.equal(torch.get_rng_state(), before)


def test_xgboost_weighs_classes_too(patients: Table, make_stack: MakeStack) -> None:
    from xgboost import XGBClassifier

    stack = unbalanced(make_stack(patients, [0]))
    seed = stack.streams.seed_of(0, "boosted trees") % 2**31
    options = {"max_depth": 3, "n_estimators": 10, "learning_rate": 0.1, "tree_method": "exact", "base_score": 0.5}
    direct = XGBClassifier(**options, n_jobs=1, random_state=seed)
    direct.fit(
        stack.encoded(stack.data.labelled)[0], stack.data.labels[0], sample_weight=weights_of(stack, BALANCED, 0)
    )
    expected = direct.predict_proba(stack.encoded(stack.data.test)[0])
    found = XGBoost(n_estimators=10, encoding="onehot").run(stack, BALANCED).predictions[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "method", [Logistic(), RandomForest(n_estimators=5), CatBoost(iterations=5), SMALL_TABM], ids=lambda m: m.name
)
def test_a_class_that_no_label_shows_gets_no_probability_and_one_class_gets_all(
    patients: Table, make_stack: MakeStack, method: Method
) -> None:
    stack = make_stack(patients, [0])
    two, one = np.where(stack.data.labels == 1, 2, stack.data.labels), np.full_like(stack.data.labels, 2)

    of_two, of_one = (
        method.run(replace(stack, data=replace(stack.data, labels=labels)), PLAIN).predictions[0]
        for labels in (two, one)
    )

    assert (of_two[:, 1] == 0).all()
    assert (of_two[:, [0, 2]] > 0).any(axis=0).all()
    np.testing.assert_allclose(of_two.sum(axis=1), 1, atol=1e-6)
    assert (of_one == [0, 0, 1]).all()


@pytest.mark.parametrize(("kind", "package"), [(CatBoost, "catboost"), (TabM, "tabm")])
def test_without_the_package_a_sentence_names_the_extra(
    kind: type[Method], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"method={package} needs the package {package}: pip install 'scarf-lightning\[{package}\]'"
    with pytest.raises(UsageError, match=message):
        kind()


SUPERVISION = SupervisedPhase(FinetuneSettings())


def relabelled(stack: Stack, labels: np.ndarray) -> Stack:
    return replace(stack, data=replace(stack.data, labels=labels))


PAPERS: dict[str, Any] = {
    "max_depth": 3,
    "n_estimators": 100,
    "learning_rate": 0.1,
    "tree_method": "exact",
    "base_score": 0.5,
}


def declaring(table: Table, name: str, declared: tuple[str, ...]) -> Table:
    columns = tuple(replace(c, declared=declared) if c.name == name else c for c in table.columns)
    return replace(table, columns=columns)


def test_it_is_the_papers_classifier_on_codes_in_the_order_of_the_header(
    patients: Table, make_stack: MakeStack
) -> None:
    (m,) = (m for m, column in enumerate(patients.columns) if column.name == "colour")
    categories = patients.columns[m].categories
    assert categories is not None
    declared = tuple(categories[c] for c in (2, 0, 3, 1))
    table = declaring(patients, "colour", declared)
    rank = np.array([1, 3, 0, 2])
    stack = make_stack(table, [0, 3])
    outcome, of_sorted = XGBoost().run(stack, SUPERVISION), XGBoost(order="sorted").run(stack, SUPERVISION)
    for t, trial in enumerate((0, 3)):
        train, test = (stack.raw(rows)[t].double().numpy() for rows in (stack.data.labelled, stack.data.test))
        seed = stack.streams.seed_of(trial, "boosted trees") % 2**31
        for found, order in ((of_sorted, np.arange(4)), (outcome, rank)):
            codes = [
                np.column_stack([*x[:, :m].T, order[x[:, m].astype(int)], *x[:, m + 1 :].T]) for x in (train, test)
            ]
            direct = XGBClassifier(**PAPERS, n_jobs=1, random_state=seed).fit(codes[0], stack.data.labels[t])
            np.testing.assert_allclose(found.predictions[t], direct.predict_proba(codes[1]), atol=1e-6)
    assert not np.allclose(outcome.predictions, of_sorted.predictions)


def test_one_hot_columns_can_be_had_instead(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 3])
    outcome = XGBoost(encoding="onehot").run(stack, SUPERVISION)
    as_it_comes = XGBoost(encoding="onehot", tree_method="hist", base_score=None).run(stack, SUPERVISION)
    one_hot = stack.encoded(stack.data.labelled)
    assert one_hot.shape == (2, 139, 12), "six numbers, four colours, smoker or not"
    for t, trial in enumerate((0, 3)):
        seed = stack.streams.seed_of(trial, "boosted trees") % 2**31
        usual = {name: value for name, value in PAPERS.items() if name not in ("tree_method", "base_score")}
        for found, options in ((outcome, PAPERS), (as_it_comes, usual)):
            direct = XGBClassifier(**options, n_jobs=1, random_state=seed)
            direct.fit(one_hot[t], stack.data.labels[t])
            expected = direct.predict_proba(stack.encoded(stack.data.test)[t])
            np.testing.assert_allclose(found.predictions[t], expected, atol=1e-6)
    assert outcome.fit is None
    assert outcome.fits.tolist() == [1, 1]
    assert (outcome.seconds > 0).all()


def test_under_semi25_it_sees_the_labelled_rows_alone(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [2], regime=Semi25())
    rows = stack.data.labelled[0]
    assert len(rows) == 35
    assert not np.isin(rows, stack.data.train[0, :35]).all(), "they are not the first of the training rows"

    seed = stack.streams.seed_of(2, "boosted trees") % 2**31
    direct = XGBClassifier(**PAPERS, n_jobs=1, random_state=seed)
    direct.fit(stack.encoded(rows[None])[0], patients.labels[rows])
    expected = direct.predict_proba(stack.encoded(stack.data.test)[0])
    found = XGBoost(encoding="onehot").run(stack, SUPERVISION).predictions[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_it_comes_out_alike_twice(patients: Table, make_stack: MakeStack) -> None:
    one, two = (XGBoost().run(make_stack(patients, [1]), SUPERVISION).predictions for _ in range(2))
    assert np.array_equal(one, two)


def test_the_papers_options_are_the_defaults() -> None:
    assert XGBoost() == XGBoost(**PAPERS, encoding="ordinal", order="declared")


def test_a_class_that_no_label_shows_gets_no_probability(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    labels = np.where(stack.data.labels == 1, 2, stack.data.labels)
    probabilities = XGBoost(n_estimators=5).run(relabelled(stack, labels), SUPERVISION).predictions[0]
    assert probabilities.shape == (40, 3)
    assert (probabilities[:, 1] == 0).all()
    assert (probabilities[:, [0, 2]] > 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_one_class_only(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    probabilities = XGBoost().run(relabelled(stack, np.full_like(stack.data.labels, 2)), SUPERVISION).predictions
    assert (probabilities[0] == [0, 0, 1]).all()


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(
        UsageError, match=r"method=xgboost needs the package xgboost: pip install 'scarf-lightning\[xgboost\]'"
    ):
        XGBoost()


@pytest.mark.parametrize(
    ("method", "direct"),
    [
        (Ridge(alpha=2.0), lambda seed: LinearRidge(alpha=2.0)),
        (RandomForest(n_estimators=10), lambda seed: RandomForestRegressor(10, max_features="sqrt", random_state=seed)),
        (XGBoost(n_estimators=10, encoding="onehot"), lambda seed: XGBRegressor(
            n_estimators=10, max_depth=3, learning_rate=0.1, tree_method="exact", n_jobs=1, random_state=seed)),
    ],
    ids=["ridge", "random_forest", "xgboost"],
)  # fmt: skip
def test_rivals_of_numbers_have_the_errors_of_their_own_libraries(
    method: Rival, direct: Any, make_stack: MakeStack
) -> None:
    table = DiabetesSource().load()
    stack = make_stack(table, [0, 3])
    outcome = method.run(stack, PLAIN)
    train, test = (stack.encoded(rows) for rows in (stack.data.labelled, stack.data.test))

    for t, trial in enumerate(stack.trials):
        own = direct(stack.streams.seed_of(trial, type(method).stream) % 2**31).fit(train[t], stack.data.labels[t])
        truth = table.labels[stack.data.test[t]]
        expected = root_mean_squared_error(truth, own.predict(test[t]))
        assert rmse(outcome.predictions[t], truth) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("classifier", ["logistic", "knn"])
@pytest.mark.parametrize("is_pretrained", [True, False])
def test_probing_is_scikit_learns_classifier_on_the_embeddings(
    patients: Table, make_stack: MakeStack, classifier: str, is_pretrained: bool
) -> None:
    stack = make_stack(patients, [0, 1])
    weights = stack.pretrain(PretrainSettings(max_epochs=3), task()).part("encoder") if is_pretrained else None
    outcome = Probe(classifier, C=0.5, k=4).run(stack, SupervisedPhase(FinetuneSettings(), weights))
    encoder = stack.networks.encoder([0, 1], weights)
    for t in range(2):
        with torch.no_grad():
            train, test = (encoder(stack.raw(rows))[t].double() for rows in (stack.data.train, stack.data.test))
        scaler = StandardScaler().fit(train)
        own = LogisticRegression(C=0.5, max_iter=10_000) if classifier == "logistic" else KNeighborsClassifier(4)
        own.fit(scaler.transform(train), patients.labels[stack.data.train[t]])
        np.testing.assert_allclose(outcome.predictions[t], own.predict_proba(scaler.transform(test)), atol=1e-5)


def test_more_neighbours_than_rows_are_all_of_them(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    few = replace(stack, data=replace(stack.data, labelled=stack.data.labelled[:, :3], labels=np.array([[0, 1, 1]])))
    outcome = Probe("knn", k=50).run(few, PLAIN)
    np.testing.assert_allclose(outcome.predictions[0, :, 1], 2 / 3)


def test_a_single_class_is_certain_to_the_probe(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    alike = replace(stack, data=replace(stack.data, labels=np.full_like(stack.data.labels, 2)))
    outcome = Probe().run(alike, PLAIN)
    assert (outcome.predictions == [0, 0, 1]).all()


@pytest.mark.parametrize(
    ("method", "option"),
    [
        (RandomForest(n_estimators=2), "n_jobs"),
        (XGBoost(n_estimators=2), "n_jobs"),
        (CatBoost(iterations=2), "thread_count"),
    ],
    ids=["random_forest", "xgboost", "catboost"],
)
def test_a_rival_takes_one_thread(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch, method: Rival, option: str
) -> None:
    """Many processes share the machine."""
    threads, predicted_by = [], Lesson.predicted_by

    def spied(lesson: Lesson, model: Any, *rows: Any) -> Any:
        threads.append(model.get_params()[option])
        return predicted_by(lesson, model, *rows)

    monkeypatch.setattr(Lesson, "predicted_by", spied)
    method.run(make_stack(patients, [0]), PLAIN)

    assert threads == [1]


def test_a_rival_checks_its_options() -> None:
    with pytest.raises(ValueError, match="C must be greater than 0"):
        Logistic(C=-1.0)


@pytest.mark.parametrize("kind", ["number", "category"])
def test_tabm_learns_from_columns_of_one_kind(kind: str, make_stack: MakeStack) -> None:
    """With nothing of the other kind; the column tells the class."""
    classes = np.arange(200) % 2
    column = 10.0 * classes + 0.01 * np.arange(200) if kind == "number" else np.array(["a", "b"])[classes]
    frame, target = pd.DataFrame({"x": column}), pd.Series(classes, name="class")
    table = Table.from_frame(frame, target, categorical=[kind == "category"], name="one column", source="made up")
    stack = make_stack(table, [0])

    found = replace(SMALL_TABM, max_epochs=3, learning_rate=0.05).run(stack, PLAIN).predictions[0]

    assert found.shape == (40, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found.argmax(axis=1) == table.labels[stack.data.test[0]]).all()
