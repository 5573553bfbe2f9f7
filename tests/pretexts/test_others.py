"""Pre-trainings beside the paper's against their equations, by hand."""

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from scarf_lightning.corruption.strategies import Bernoulli, Exact, Marginal, NoCorruption, Zero
from scarf_lightning.data.datamodule import Batch
from scarf_lightning.data.sources import DiabetesSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Few, Semi25
from scarf_lightning.engine.pretext_task import BatchRows, CorruptionSource
from scarf_lightning.engine.stack import Stack
from scarf_lightning.engine.stack_modules import Pretraining
from scarf_lightning.networks import Columns
from scarf_lightning.options.settings import LayerSettings, PretrainSettings
from scarf_lightning.pretexts import Pretext
from scarf_lightning.pretexts.binning import Binning
from scarf_lightning.pretexts.others import SubTab, Vime, subsets
from scarf_lightning.pretexts.switching import SwitchTab
from scarf_lightning.pretexts.target_aware import TargetAware
from scarf_lightning.randomness import Purpose, Roster
from tests.promises import assert_same_trials
from tests.stacks import MakeStack, normal

COLUMNS = Columns((0, 3, 0))


def loss_of_pairs(
    outputs: list[tuple[np.ndarray, np.ndarray]], row: np.ndarray, tau: float, contrast: float, distance: float
) -> float:
    """The paper's equations 1 to 5, a pair of subsets and a row at a time, weighted as in the authors' code: each term
    is a sum over columns and a mean over the rows of a pair."""
    n, losses = len(row), []
    for (z_i, x_i), (z_j, x_j) in combinations(outputs, 2):
        unit = [z / np.sqrt((z**2).sum()) for z in (*z_i, *z_j)]
        reconstructed = sum(((x - row) ** 2).sum() for x in (x_i, x_j)) / (2 * n)
        contrasted = 0.0
        for a in range(2 * n):
            scores = {b: math.exp(unit[a] @ unit[b] / tau) for b in range(2 * n) if b != a}
            contrasted -= math.log(scores[(a + n) % (2 * n)] / sum(scores.values())) / (2 * n)
        apart = sum(((unit[k] - unit[n + k]) ** 2).sum() for k in range(n)) / n
        losses.append(reconstructed + contrast * contrasted + distance * apart)
    return float(np.mean(losses))


class TestVime:
    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("options", [{}, {"alpha": 0.7}])
    def test_the_loss_is_that_of_the_papers_equations(self, options: dict[str, float], seed: int) -> None:
        """A value at a time: l_m, the mask's cross-entropy, plus alpha l_r, the squared error; means over columns."""
        n, n_masked, n_encoded = 6, 3, 5
        widths = (n_masked, n_encoded, n_encoded)
        logits, features, row = (normal(n, m, seed=10 * seed + k) for k, m in enumerate(widths))
        mask = (normal(n, n_masked, seed=10 * seed + 3) > 0).double()
        task = Vime(Marginal(), Bernoulli(), **options)
        l_m = l_r = 0.0
        for i in range(n):
            for j in range(n_masked):
                p = 1 / (1 + math.exp(-logits[i, j]))
                l_m -= (mask[i, j] * math.log(p) + (1 - mask[i, j]) * math.log(1 - p)).item() / (n * n_masked)
            l_r += sum((row[i, j] - features[i, j]).item() ** 2 for j in range(n_encoded)) / (n * n_encoded)
        found = task.compute_loss(((logits, features),), (mask, row))
        assert found.item() == pytest.approx(l_m + options.get("alpha", 2) * l_r, rel=1e-12)

    def test_the_error_is_the_share_of_wrong_masks(self) -> None:
        logits = torch.tensor([[2.0, -1.0, 3.0, -4.0]])
        error = Vime(Marginal(), Exact()).compute_error(((logits, None),), (torch.tensor([[1.0, 1.0, 0.0, 0.0]]), None))
        assert error.item() == 0.5

    def test_the_targets_are_what_changed_and_the_clean_row(
        self, patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = []

        compute_loss = Vime.compute_loss

        def spied(self: Vime, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
            seen.append(targets)
            return compute_loss(self, outputs, targets)

        monkeypatch.setattr(Vime, "compute_loss", spied)
        stack = make_stack(patients, [0, 1])
        stack.pretrain(
            PretrainSettings(max_epochs=1, batch_size=200, validation_passes=1), Vime(Marginal(0.5), Exact())
        )
        mask, row = seen[0]
        n_features = len(patients.columns)
        assert mask.shape == (2, 139, n_features)
        changed = mask.sum(dim=2)
        assert (changed <= n_features // 2).all(), "no more than were selected"
        assert (changed < n_features // 2).any(), "a category that is replaced by itself has not changed"
        rows = torch.from_numpy(stack.encoded(stack.data.train)).float()
        for t in range(2):
            assert sorted(row[t].tolist()) == sorted(rows[t].tolist())


class TestSubTab:
    def test_runs_of_features_and_what_they_share(self) -> None:
        columns = Columns((0,) * 8)
        assert subsets(columns, 4, 0) == [[0, 1], [2, 3], [4, 5], [6, 7]]
        assert subsets(columns, 2, 0.5) == [[0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 6, 7]]
        assert subsets(columns, 2, 1) == [list(range(8))] * 2
        assert subsets(Columns((0, 3, 0)), 3, 0) == [[0], [1, 2, 3], [4]], "all columns of a feature stay together"

    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("options", [{}, {"temperature": 0.5, "contrast": 0.7, "distance": 0.2}])
    def test_the_loss_is_that_of_the_paper_and_of_its_code(self, options: dict[str, float], seed: int) -> None:
        outputs = tuple((normal(6, 4, seed=s), normal(6, 3, seed=10 + s)) for s in range(4 * seed, 4 * seed + 4))
        row, task = normal(6, 3, seed=50), SubTab(NoCorruption(), Exact(), **options)
        weights = (task.temperature, task.contrast, task.distance)
        expected = loss_of_pairs([(z.numpy(), x.numpy()) for z, x in outputs], row.numpy(), *weights)
        assert task.compute_loss(outputs, (row,)).item() == pytest.approx(expected, rel=1e-12)


LAYERS = LayerSettings(width=8)
NUMERIC = range(6)
"""The numeric columns of the patients; the last two are categorical."""


def rows_of(stack: Stack, rows: np.ndarray) -> BatchRows:
    """Rows of a stack as a pretext sees them."""
    roster = Roster(len(stack.trials))
    source = CorruptionSource(
        stack.networks.encoder(stack.trials), stack.datamodule.table, stack.on_device(stack.data.train), roster
    )
    return BatchRows(stack.raw(rows), source, stack.streams.torch(stack.trials, Purpose.CORRUPTION, roster=roster))


class TestSwitchTab:
    @pytest.mark.parametrize("switched", [1.0, 0.0, 0.3])
    def test_the_loss_is_that_of_a_decoder_on_joined_parts(self, switched: float) -> None:
        """A linear decoder of (mutual, salient) joined, a pair of rows at a time, as the paper has it."""
        n, width, n_encoded = 5, 4, 3
        mutual, salient = normal(n, width), normal(n, width, seed=1)
        weight, bias, row = (
            normal(2 * width, n_encoded, seed=2),
            normal(n_encoded, seed=3),
            normal(n, n_encoded, seed=4),
        )
        expected = 0.0
        for i in range(n):
            other = (i + 1) % n
            own, with_other = (torch.cat([mutual[k], salient[i]]) @ weight + bias for k in (i, other))
            expected += ((own - row[i]) ** 2).sum() / (n * n_encoded)
            expected += switched * ((with_other - row[i]) ** 2).sum() / (n * n_encoded)
        outputs = (mutual @ weight[:width], salient @ weight[width:] + bias)
        found = SwitchTab(Marginal(), Bernoulli(), switched=switched).compute_loss((outputs,), (row,))
        assert found.item() == pytest.approx(expected.item(), rel=1e-12)


class TestBins:
    def test_equal_values_share_a_bin_and_other_rows_fall_into_those_of_training(
        self, patients: Table, make_stack: MakeStack
    ) -> None:
        stack = make_stack(patients, [3])
        train, test = (rows_of(stack, rows).bins(4).numpy()[0] for rows in (stack.data.train, stack.data.test))
        values, new = (stack.raw(rows)[0].numpy() for rows in (stack.data.train, stack.data.test))
        assert train.shape == (139, len(NUMERIC))
        assert len(set(train[:, 5])) == 1, "a constant column"
        for m in range(5):
            edges = np.sort(values[:, m])[[139 * k // 4 for k in (1, 2, 3)]]
            np.testing.assert_array_equal(train[:, m], np.searchsorted(edges, values[:, m], side="right"))
            np.testing.assert_array_equal(test[:, m], np.searchsorted(edges, new[:, m], side="right"))


class TestBinning:
    def test_places_are_scaled_and_learned_by_their_squared_error_and_categories_are_encoded(
        self, patients: Table, make_stack: MakeStack
    ) -> None:
        stack = make_stack(patients, [0])
        rows = rows_of(stack, stack.data.train)
        ((view,), (target,)) = Binning(NoCorruption(), Exact(), n_bins=5).make_views(rows)

        assert torch.equal(view, rows.encoded)
        bins = rows.bins(5)[..., :5].double()
        places = (bins - 2) / math.sqrt(2)  # of 0 to 4: mean 2, variance 2
        torch.testing.assert_close(target[..., :5].double(), places, rtol=1e-6, atol=1e-6)
        assert target[..., 0].std().item() == pytest.approx(1, abs=0.02)
        assert torch.equal(target[..., 6:], rows.encoded[..., 6:])
        assert not torch.equal(rows.encoded[..., :5], target[..., :5]), "the rows themselves stay"
        output = normal(*target.shape)
        found = Binning(Marginal(), Bernoulli()).compute_loss((output,), (target.double(),))
        assert found[0].item() == pytest.approx(F.mse_loss(output[0], target[0].double()).item(), rel=1e-12)

    @pytest.mark.parametrize("n_categories", [(0, 3, 0), (0, 0), (2, 4)])
    def test_the_loss_of_classes_is_the_mean_over_columns_of_their_cross_entropies(
        self, n_categories: tuple[int, ...]
    ) -> None:
        """As in the authors' code, which loops over columns."""
        n, n_bins, columns = 6, 4, Columns(n_categories)
        task = Binning(Marginal(), Bernoulli(), n_bins=n_bins, estimates="class")
        head = task.head(7, columns, LAYERS).double()
        outputs = head(normal(n, 7))
        random = np.random.default_rng(0)
        numbers = torch.from_numpy(random.integers(n_bins, size=(n, len(columns.numeric))))
        codes = [torch.from_numpy(random.integers(count, size=n)) for count in n_categories if count]
        targets = (*([numbers] if columns.numeric else []), *codes)

        expected, remaining = [], list(outputs)
        if columns.numeric:
            logits = remaining.pop(0)
            expected += [
                F.cross_entropy(logits[:, m * n_bins : (m + 1) * n_bins], numbers[:, m])
                for m in range(len(columns.numeric))
            ]
        expected += [F.cross_entropy(logits, code) for logits, code in zip(remaining, codes, strict=True)]
        assert [each.shape[-1] for each in remaining] == [count for count in n_categories if count]
        found = task.compute_loss((outputs,), targets)
        assert found.item() == pytest.approx((sum(expected) / len(n_categories)).item(), rel=1e-12)


SETTINGS = PretrainSettings(max_epochs=3, batch_size=46, patience=None)


@pytest.mark.parametrize(
    "pretext",
    [
        SwitchTab(Marginal(), Bernoulli()),
        Binning(Marginal(), Bernoulli(), estimates="class"),
        Binning(Zero(), Exact(), n_bins=3),
        TargetAware(Marginal(), Bernoulli()),
        TargetAware(Zero(), Exact(), pretext="mask", weight=0.2),
    ],
    ids=lambda pretext: f"{pretext.name} {pretext.corruption.name}",
)
def test_a_trial_comes_out_alike_in_any_company_and_its_loss_falls(
    patients: Table, make_stack: MakeStack, pretext: Pretext
) -> None:
    settings = replace(SETTINGS, max_epochs=6, learning_rate=0.01)
    among, alone = (make_stack(patients, of, regime=Semi25()).pretrain(settings, pretext) for of in (range(3), [2]))
    assert_same_trials(alone, among, [2])
    assert alone.curves[-1]["train_loss"] < 0.9 * alone.curves[0]["train_loss"]


class TestTargetAware:
    @pytest.mark.parametrize("table", ["classes", "numbers"])
    def test_a_step_is_that_of_a_plain_network(self, patients: Table, make_stack: MakeStack, table: str) -> None:
        """The gradient of f on a batch, part of whose rows have a label, by an independent computation."""
        stack = make_stack(patients if table == "classes" else DiabetesSource().load(), [0], regime=Few(30))
        task = TargetAware(NoCorruption(), Exact(), weight=0.3)
        seen: list[Any] = []

        def spied(module: Any, batch: Batch) -> Tensor:
            losses = original(module, batch)
            if not seen:
                f, g, h = module.encoder, module.head, module.classifier.head
                encoded = f.one_hot(batch.x)
                embedded = f.body(encoded)[0]
                known = batch.weights[0] > 0
                outputs = h(embedded[None])[0][known]
                if table == "classes":
                    of_labels = F.cross_entropy(outputs, batch.targets[0][known])
                else:
                    of_labels = F.mse_loss(outputs, batch.targets[0][known])
                expected = 2 * (0.7 * F.mse_loss(g(embedded[None])[0], encoded[0]) + 0.3 * of_labels)
                seen.append((losses[0].item(), expected.item(), int(known.sum())))
            return losses

        original = Pretraining.losses
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pretraining, "losses", spied)
            stack.pretrain(replace(SETTINGS, max_epochs=1, batch_size=1000), task)
        ((found, expected, n_known),) = seen
        assert found == pytest.approx(expected, rel=1e-5)
        assert n_known == 30

    def test_labels_that_the_regime_shows_take_part_and_no_others(self, patients: Table, make_stack: MakeStack) -> None:
        stack = make_stack(patients, [0], regime=Semi25(validation="inside"))
        fits = [stack.pretrain(SETTINGS, TargetAware(Marginal(), Bernoulli()))]
        for shown in (stack.data.labelled[0], np.setdiff1d(np.arange(199), stack.data.labelled[0])):
            planted = patients.labels.copy()
            planted[shown] = (planted[shown] + 1) % 3
            other = replace(stack, table=replace(patients, labels=planted))
            if np.isin(stack.data.labelled[0], shown).all():
                other = replace(other, data=replace(stack.data, labels=planted[stack.data.labelled]))
            fits.append(other.pretrain(SETTINGS, TargetAware(Marginal(), Bernoulli())))
        usual, of_shown, of_hidden = (next(iter(fit.part("encoder").values())) for fit in fits)
        assert not torch.equal(usual, of_shown)
        assert torch.equal(usual, of_hidden)

    def test_without_a_labelled_row_in_a_batch_the_pretext_is_all(self, patients: Table, make_stack: MakeStack) -> None:
        stack = make_stack(patients, [0], regime=Few(1))
        fit = stack.pretrain(replace(SETTINGS, batch_size=5, max_epochs=1), TargetAware(Marginal(), Bernoulli()))
        assert not fit.diverged.any()
