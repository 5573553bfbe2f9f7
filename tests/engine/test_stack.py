"""What a stack computes for rows once its networks stand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_sample_weight

from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Semi25
from scarf_lightning.engine import stack as module
from scarf_lightning.engine.encoder import Classifier
from scarf_lightning.engine.stack import Stack
from scarf_lightning.options.settings import PretrainSettings
from tests.stacks import MakeStack, made_pretext


@pytest.fixture
def stack(patients: Table, make_stack: MakeStack) -> Stack:
    return make_stack(patients, [0, 3])


def test_rows_are_the_same_however_many_are_computed_at_once(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """39 rows in pieces of 16, of which the last one is shorter."""
    networks, rows = stack.networks, stack.data.test[:, :39]
    classifier = Classifier(networks.encoder(stack.trials), networks.head(stack.trials))
    at_once, embedded = stack.predict(classifier, rows), stack.embed(rows)

    monkeypatch.setattr(module, "EVALUATION_ROWS", 16)

    assert at_once.shape == (2, 39, 3)
    np.testing.assert_allclose(stack.predict(classifier, rows), at_once, rtol=1e-5)
    np.testing.assert_allclose(stack.embed(rows), embedded, rtol=1e-4, atol=1e-6)


def test_building_networks_changes_no_random_stream_of_the_users(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither torch's own of the CPU nor those of GPUs, which `torch.manual_seed` seeds too."""
    seeded: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: False)
    before = torch.get_rng_state()

    stack.networks.encoder(stack.trials)
    stack.networks.head(stack.trials)

    assert torch.equal(torch.get_rng_state(), before)
    assert seeded == []


def test_rows_weigh_what_the_table_says_times_what_their_class_says(patients: Table, make_stack: MakeStack) -> None:
    weights = np.linspace(1, 2, patients.n_rows)
    plain, weighted = make_stack(patients, [0, 3]), make_stack(replace(patients, weights=weights), [0, 3])
    labelled = weighted.data.labelled
    balanced, of_plain = (
        np.stack([compute_sample_weight("balanced", labels) for labels in stack.data.labels])
        for stack in (weighted, plain)
    )

    assert plain.row_weights() is None
    np.testing.assert_array_equal(weighted.row_weights(), weights[labelled])
    np.testing.assert_allclose(weighted.row_weights("balanced"), balanced * weights[labelled])
    np.testing.assert_allclose(plain.row_weights("balanced"), of_plain)


def test_a_row_without_a_label_weighs_nothing_beside_those_with_one(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 3], regime=Semi25())
    data = stack.data
    expected = [np.isin(rows, labelled) for rows, labelled in zip(data.pretrain, data.labelled, strict=True)]
    np.testing.assert_array_equal(stack.partly_labelled().weights, expected)


@pytest.mark.parametrize("pretext", ["scarf", "target_aware"])
def test_pretraining_uses_no_other_row_than_those_that_it_learns_from(
    pretext: str, patients: Table, make_stack: MakeStack
) -> None:
    """Neither in its steps nor as values of its corruption: it is that of a split with these training rows alone."""
    stack = make_stack(patients, [0, 1])
    chosen = stack.data.train[:, 5:45]
    settings = PretrainSettings(max_epochs=3, batch_size=16)
    narrowed = replace(stack, data=replace(stack.data, pretrain=chosen))
    alone = replace(stack, data=replace(stack.data, pretrain=chosen, train=chosen))
    assert narrowed.steps_per_epoch(settings) == 3 < stack.steps_per_epoch(settings)
    whole, found, expected = (
        each.pretrain(settings, made_pretext(pretext)).part("encoder") for each in (stack, narrowed, alone)
    )
    for name, tensor in expected.items():
        assert torch.equal(torch.as_tensor(found[name]), torch.as_tensor(tensor)), name
    assert any(not torch.equal(torch.as_tensor(whole[name]), torch.as_tensor(found[name])) for name in expected)
