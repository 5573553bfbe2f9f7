"""STUNT: its tasks by scikit-learn's k-means, its loss by hand, and what f may see of the columns of a task."""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from scipy.stats import chisquare, kstest
from sklearn.cluster import KMeans
from torch import Tensor

from scarf_lightning.corruption.strategies import Exact
from scarf_lightning.data.table import Table
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.options import build_parts
from scarf_lightning.options.settings import PretrainSettings
from scarf_lightning.pretexts import stunt
from scarf_lightning.pretexts.pretext import Views
from scarf_lightning.pretexts.stunt import ITERATIONS, Stunt, These, k_means, places_within
from scarf_lightning.randomness import StackedGenerator
from tests.composing import config_of
from tests.pretexts.test_more_pretexts import rows_of
from tests.promises import assert_same_trials
from tests.stacks import MakeStack, normal


def classes_of_scikit_learn(x: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The classes of rows ``(n, d)`` after as many steps from the same first centres."""
    model = KMeans(len(first), init=x[first], n_init=1, max_iter=ITERATIONS, tol=0, algorithm="lloyd")
    return model.fit(x).labels_


def loss_and_error(
    outputs: list[np.ndarray], classes: np.ndarray, places: np.ndarray, n_shots: int, n_queries: int
) -> tuple[float, float]:
    """Those of the queries of all tasks, one by one: of softmax(-||z - p||^2), as in the paper."""
    losses, errors = [], []
    for task, z in enumerate(outputs):
        of_task, place = classes[:, task], places[:, task]
        names = np.unique(of_task)
        prototypes = np.stack([z[(of_task == name) & (place < n_shots)].mean(axis=0) for name in names])
        for row in np.flatnonzero((place >= n_shots) & (place < n_shots + n_queries)):
            logits = -cdist(z[row : row + 1], prototypes, "sqeuclidean")[0]
            own = names.tolist().index(of_task[row])
            losses.append(logsumexp(logits) - logits[own])
            errors.append(logits.argmax() != own)
    return float(np.mean(losses)), float(np.mean(errors))


class TestLoss:
    @pytest.mark.parametrize(("dtype", "offset", "rounding"), [(torch.float64, 0, 1e-9), (torch.float32, 1000, 1e-3)])
    @pytest.mark.parametrize(("n_shots", "n_queries"), [(1, 15), (2, 3), (3, 1)])
    def test_it_is_the_cross_entropy_of_queries_by_distances_to_mean_shots(
        self, n_shots: int, n_queries: int, dtype: torch.dtype, offset: float, rounding: float
    ) -> None:
        """Classes 2 and 5 have no row, and class 4 has too few for a query. Squared lengths of 4e6 have a spacing of
        0.25 in float32, and distances must not."""
        n, n_tasks = 30, 3
        random = np.random.default_rng(n_shots)
        classes = random.choice([0, 1, 3], size=(n, n_tasks))
        classes[:n_shots] = 4
        tensor = torch.from_numpy(classes)
        places = places_within(tensor.T, torch.rand(n_tasks, n, generator=torch.Generator().manual_seed(1))).T
        outputs = tuple((0.5 * normal(n, 4, seed=seed) + offset).to(dtype) for seed in range(n_tasks))
        task = Stunt(n_clusters=6, n_shots=n_shots, n_queries=n_queries, n_tasks=n_tasks)

        exact = [z.double().numpy() for z in outputs]
        loss, error = loss_and_error(exact, classes, places.numpy(), n_shots, n_queries)

        assert task.compute_loss(outputs, (tensor, places)).item() == pytest.approx(loss, rel=rounding)
        assert task.compute_error(outputs, (tensor, places)).item() == pytest.approx(error)
        assert 0 < error < 1

    def test_a_task_without_queries_has_no_loss_and_no_gradient(self) -> None:
        output = normal(3, 4).requires_grad_()
        classes = torch.tensor([[0], [1], [2]])
        task, targets = Stunt(n_tasks=1), (classes, torch.zeros_like(classes))

        loss = task.compute_loss((output,), targets)
        loss.backward()

        assert (loss.item(), task.compute_error((output,), targets).item()) == (0, 0)
        assert output.grad is not None
        assert not output.grad.any()

    def test_its_options_are_those_of_the_authors(self) -> None:
        task = Stunt()
        assert (task.n_clusters, task.n_shots, task.n_queries, task.n_tasks) == (10, 1, 15, 4)
        assert (task.least_share, task.most_share, ITERATIONS) == (0.2, 0.5, 20)
        assert build_parts(config_of("pretrain=stunt")).pretext == task

    def test_shares_in_the_wrong_order_are_refused_by_name(self) -> None:
        for axis, asked in (("pretrain", ["pretrain=stunt"]), ("cotrain", ["method=cotrain", "cotrain=stunt"])):
            with pytest.raises(UsageError) as caught:
                build_parts(config_of(*asked, f"{axis}.least_share=0.6"))
            assert str(caught.value) == f"{axis}.least_share must be at most most_share=0.5, not 0.6."


class TestClasses:
    @pytest.mark.parametrize(("n_rows", "width", "n_classes"), [(128, 7, 10), (40, 1, 3), (12, 3, 12), (5, 2, 1)])
    def test_they_are_those_of_scikit_learn_from_the_same_centres(
        self, n_rows: int, width: int, n_classes: int
    ) -> None:
        x = normal(2, 3, n_rows, width)
        first = normal(2, 3, n_rows, seed=1).argsort()[..., :n_classes]
        found = k_means(x, first)
        for place in product(range(2), range(3)):
            expected = classes_of_scikit_learn(x[place].numpy(), first[place].numpy())
            np.testing.assert_array_equal(found[place].numpy(), expected)

    def test_a_centre_without_rows_stays_and_equal_rows_are_one_class(self) -> None:
        """Of two equal first centres one takes the rows. The other may not move to the mean of none, which would be
        that of all rows, 6, and nearer to 7 than 10 is."""
        x = torch.tensor([[0.0], [0.0], [7.0], [10.0], [13.0]])
        assert k_means(x, torch.tensor([0, 1, 3])).tolist() == [0, 0, 2, 2, 2]
        assert k_means(torch.full((6, 2), 0.1), torch.tensor([0, 1, 4])).tolist() == [0] * 6

    def test_columns_far_from_zero_are_told_apart(self) -> None:
        """In float32 the square of 300,000 has a spacing of 8,192."""
        x = torch.cat([normal(20, 1), normal(20, 1) + 9]).float()
        first = torch.tensor([0, 20])
        assert k_means(x + 300_000, first).tolist() == k_means(x, first).tolist() == [0] * 20 + [1] * 20

    def test_places_number_the_rows_of_each_class_in_their_order(self) -> None:
        classes, order = torch.randint(5, (4, 50)), torch.rand(4, 50)
        found = places_within(classes, order)
        for task in range(4):
            for name in range(5):
                rows = classes[task] == name
                in_order = found[task][rows][order[task][rows].argsort()]
                assert in_order.tolist() == list(range(len(in_order)))


@pytest.fixture
def clustered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Tensor, ...]]]:
    """The rows, the first centres and the classes of each k-means."""
    seen: list[tuple[Tensor, ...]] = []

    def spied(x: Tensor, first: Tensor) -> Tensor:
        classes = k_means(x, first)
        seen.append((x, first, classes))
        return classes

    monkeypatch.setattr(stunt, "k_means", spied)
    return seen


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The features of each task, as they are drawn."""
    seen: list[Tensor] = []
    draw = Stunt._chosen

    def spied(*given: Any) -> Tensor:
        seen.append(draw(*given))
        return seen[-1]

    monkeypatch.setattr(Stunt, "_chosen", spied)
    return seen


class TestTasks:
    def test_the_number_of_columns_lies_between_both_shares(self) -> None:
        def counts(n_features: int, **options: float) -> list[int]:
            task = Stunt(n_tasks=100, **options)
            return sorted(set(task._chosen(n_features, StackedGenerator([0, 1])).sum(dim=-1).flatten().tolist()))

        assert counts(10) == [2, 3, 4, 5]
        assert [counts(n) for n in (1, 2, 3, 4)] == [[1], [1], [1], [1, 2]]
        assert counts(180, least_share=0.7, most_share=0.7) == [126], "0.7 * 180 is 125.99... in floats"
        assert counts(3, least_share=1.0, most_share=1.0) == [3]
        share = Stunt(n_tasks=100)._chosen(10, StackedGenerator(list(range(20)))).double().mean(dim=(0, 1))
        np.testing.assert_allclose(share.numpy(), 0.35, atol=0.05, err_msg="each column alike")

    def test_the_same_features_of_all_rows_are_exchanged_and_no_others(
        self, patients: Table, make_stack: MakeStack, chosen: list[Tensor]
    ) -> None:
        stack = make_stack(patients, [0, 1])
        rows = rows_of(stack, stack.data.train)

        views = Stunt(n_tasks=20).make_views(rows)

        train = torch.from_numpy(stack.encoded(stack.data.train)).float()
        columns = rows.columns
        for (task, view), t in product(enumerate(views.inputs), range(2)):
            for feature in range(columns.n_features):
                part = view[t][:, list(columns.encoded_columns(feature))]
                clean = rows.encoded[t][:, list(columns.encoded_columns(feature))]
                if not chosen[0][t, task, feature]:
                    assert torch.equal(part, clean)
                    continue
                values = {tuple(each) for each in train[t][:, list(columns.encoded_columns(feature))].tolist()}
                assert {tuple(each) for each in part.tolist()} <= values, "whole categories, too"
                is_constant = len(values) == 1
                assert torch.equal(part, clean) == is_constant

    def test_exchanged_columns_keep_their_distribution_and_say_nothing_of_each_other(
        self, patients: Table, make_stack: MakeStack
    ) -> None:
        stack = make_stack(patients, [0])
        rows = rows_of(stack, stack.data.train)
        views = Stunt(n_tasks=40, least_share=1.0, most_share=1.0).make_views(rows)

        drawn, train = torch.cat(views.inputs, dim=1)[0].numpy(), stack.encoded(stack.data.train)[0]

        for column in (0, 1):
            assert kstest(drawn[:, column], train[:, column].astype(np.float32)).pvalue > 1e-3
        for part in rows.columns.categorical:
            assert chisquare(drawn[:, part].sum(axis=0), train[:, part].mean(axis=0) * len(drawn)).pvalue > 1e-3
        of_row, of_view = (np.corrcoef(each[:, :5].T)[np.triu_indices(5, 1)] for each in (train, drawn))
        assert np.abs(of_row).max() > 0.3
        assert np.abs(of_view).max() < 0.06

    @pytest.mark.parametrize("n_classes", [2, 10])
    def test_classes_are_clusters_of_the_clean_rows_by_the_exchanged_columns(
        self,
        n_classes: int,
        patients: Table,
        make_stack: MakeStack,
        chosen: list[Tensor],
        clustered: list[tuple[Tensor, ...]],
    ) -> None:
        stack = make_stack(patients, [0, 1], precision="64-true")
        rows = rows_of(stack, stack.data.train)
        _, (classes, places) = Stunt(n_clusters=n_classes).make_views(rows)

        ((_, first, _),) = clustered
        assert first.shape == (2, 4, n_classes)
        assert classes.shape == places.shape == (2, 139, 4)
        for t, task in product(range(2), range(4)):
            of_task = [column for column, owner in enumerate(rows.columns.owners) if chosen[0][t, task, owner]]
            x = rows.encoded[t][:, of_task].numpy()
            if len(np.unique(x[first[t, task]], axis=0)) < n_classes:
                continue  # scikit-learn would move one of two equal centres
            np.testing.assert_array_equal(
                classes[t, :, task].numpy(), classes_of_scikit_learn(x, first[t, task].numpy())
            )
            for name in range(n_classes):
                of_class = places[t, :, task][classes[t, :, task] == name]
                assert sorted(of_class.tolist()) == list(range(len(of_class)))

    @pytest.mark.parametrize(
        ("n_rows", "n_shots", "n_classes"), [(1, 1, 1), (2, 1, 2), (3, 1, 2), (7, 1, 3), (139, 1, 10), (20, 5, 3)]
    )
    def test_a_small_mini_batch_has_fewer_classes(
        self,
        n_rows: int,
        n_shots: int,
        n_classes: int,
        patients: Table,
        make_stack: MakeStack,
        clustered: list[tuple[Tensor, ...]],
    ) -> None:
        stack = make_stack(patients, [0])
        task = Stunt(n_shots=n_shots)
        views: Views = task.make_views(rows_of(stack, stack.data.train[:, :n_rows]))
        ((_, first, _),) = clustered
        assert first.shape[-1] == n_classes
        outputs = tuple(normal(1, n_rows, 4, seed=seed) for seed in range(4))
        assert torch.isfinite(task.compute_loss(outputs, views.targets)).all()

    def test_the_selection_of_a_task_is_no_choice_on_the_command_line(self) -> None:
        features = torch.tensor([[True, False, True], [False, False, True]])
        mask = These(features).mask(0.1, 4, 3, StackedGenerator([0, 1]))
        assert torch.equal(mask, features.unsqueeze(1).expand(2, 4, 3))
        assert not hasattr(These, "name")
        assert hasattr(Exact, "name")


def grouped(n_groups: int, noise: float, n: int = 300) -> Table:
    """Rows of eight columns, each of which tells the group of a row but for noise."""
    random = np.random.default_rng(0)
    groups = random.integers(n_groups, size=n)
    centres = np.stack([random.permutation(n_groups) for _ in range(8)]) * 4.0
    values = centres[:, groups].T + noise * random.normal(size=(n, 8))
    frame = pd.DataFrame(values, columns=[f"x{m}" for m in range(8)])
    target = pd.Series(np.where(np.arange(n) % 2, "odd", "even"), name="class")
    return Table.from_frame(frame, target, categorical=[False] * 8, name="grouped", source="made up")


def last_record(stack: Stack, task: Stunt) -> dict[str, float]:
    """Losses and error of the only trial after its last epoch."""
    settings = PretrainSettings(max_epochs=20, batch_size=35, patience=None, learning_rate=0.01, monitor="error")
    return stack.pretrain(settings, task).curves[-1]


@pytest.mark.slow
def test_groups_of_rows_are_learnt_from_the_other_columns(make_stack: MakeStack) -> None:
    """A guess among four classes has the loss log 4, which is 1.39, and an error of 0.75."""
    record = last_record(make_stack(grouped(4, noise=0.3), [0]), Stunt(n_clusters=4))
    assert record["train_loss"] < 1
    assert record["validation_loss"] < 1
    assert record["validation_error"] < 0.45


@pytest.mark.slow
def test_columns_that_say_nothing_of_each_other_give_no_class_away(make_stack: MakeStack) -> None:
    """f cannot read off the class of a row: a guess between two classes has the loss log 2, and an error of a half."""
    record = last_record(make_stack(grouped(1, noise=1.0), [0]), Stunt(n_clusters=2))
    assert record["train_loss"] == pytest.approx(math.log(2), abs=0.03)
    assert record["validation_error"] == pytest.approx(0.5, abs=0.1)


SMALL = {"n_clusters": 2, "n_shots": 3, "n_tasks": 1, "most_share": 0.2}


@pytest.mark.parametrize(
    ("options", "precision"),
    [
        ({}, "32-true"),
        (SMALL, "64-true"),
        pytest.param({}, "64-true", marks=pytest.mark.slow),
        pytest.param(SMALL, "32-true", marks=pytest.mark.slow),
    ],
)
def test_a_trial_comes_out_alike_in_any_company(
    patients: Table, make_stack: MakeStack, options: dict[str, Any], precision: str
) -> None:
    """Trials of the stack leave at different times; with these options k-means sees one column, and g has one unit."""
    settings = PretrainSettings(max_epochs=6, batch_size=46, patience=0, learning_rate=0.01)
    given: dict[str, Any] = {"precision": precision, "width": 1 if options else 16, "network": MLP(width=16)}
    among, alone = (make_stack(patients, of, **given).pretrain(settings, Stunt(**options)) for of in (range(4), [2]))
    assert_same_trials(alone, among, [2], precision=precision)
    assert len(set(among.epochs)) > 1


@pytest.mark.parametrize(("noise", "batch_size"), [(0.0, 14), (1.0, 2)])
def test_mini_batches_without_a_query_train_to_the_end(make_stack: MakeStack, noise: float, batch_size: int) -> None:
    """Equal rows are one class, and of two rows each is one."""
    settings = PretrainSettings(max_epochs=1, batch_size=batch_size, patience=None)
    fit = make_stack(grouped(1, noise, n=40), [0, 1]).pretrain(settings, Stunt())
    assert not fit.diverged.any()
    assert {record["train_loss"] for record in fit.curves} == {0}
