"""Competitors with columns changed: beside the cell as it is trained, and beside its kept networks."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch

from scarf_lightning.data.table import Table
from scarf_lightning.engine.hardware import choose_hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.importance import competing
from scarf_lightning.importance.competing import Competitor, Spared, blind_to, outcome_of
from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts.trials import RowsOfTrial
from tests.composing import config_of
from tests.processes import TINY
from tests.storing import stored, write_csv

N = 90
LOG_LOSS = metric_named("log_loss")
"""A metric that every change of a prediction shows in."""


def frame() -> pd.DataFrame:
    random = np.random.default_rng(6)
    size, weight = random.normal(size=N), random.normal(5, 2, size=N)
    colour, level = random.choice(["red", "green", "blue"], N), random.integers(0, 2, N).astype(float)
    its = pd.DataFrame({"size": size, "weight": weight, "colour": colour, "level": level})
    its.loc[::8, "weight"] = np.nan
    return its


def target(features: pd.DataFrame) -> "pd.Series[str]":
    return pd.Series(np.where(features["size"] + (features["colour"] == "red") > 0.2, "yes", "no"))


def competitor(*overrides: str, features: pd.DataFrame | None = None, metric: str = "log_loss") -> Competitor:
    """A tiny competitor of two trials on the table."""
    its = frame() if features is None else features
    config = config_of(*TINY, "trials=2", *overrides)
    is_text = [not pd.api.types.is_numeric_dtype(its[name]) for name in its]
    table = Table.from_frame(its, target(frame()), categorical=is_text, name="mine", source="mine")
    return Competitor("it", config, table, metric_named(metric), choose_hardware(config.trainer))


def values(tested: "dict[int, RowsOfTrial]") -> np.ndarray:
    return np.concatenate([tested[trial].values for trial in sorted(tested)])


@pytest.mark.parametrize(
    "overrides",
    [["pretrain=none"], ["pretrain=none", "method=logistic"], pytest.param(["pretrain=scarf"], marks=pytest.mark.slow)],
)
def test_permuted_rows_change_nothing_of_the_training(overrides: list[str]) -> None:
    """Intact rows are predicted bit for bit as by the cell alone; the permuted ones as by further test rows."""
    its = competitor(*overrides)
    plain = its._tested(its._training())

    intact, (of_size, of_nothing) = its.as_they_are([[0], []], repeats=2, seed=1)

    np.testing.assert_array_equal(values(intact), values(plain))
    # A block without columns is the rows as they are.
    np.testing.assert_allclose(values(of_nothing), values(plain), rtol=1e-5)
    assert not np.allclose(values(of_size), values(plain))


@pytest.mark.slow
def test_a_permuted_column_is_that_of_the_kept_networks(tmp_path: Path) -> None:
    """Beside `importance_of_cell`, which passes permuted rows through the networks that a store has kept."""
    from scarf_lightning.estimators.importance import importance_of_cell
    from scarf_lightning.sweeping.cell import Cell

    data = write_csv(tmp_path, frame(), target(frame()))
    asked = (*TINY, *data, "trials=3", "pretrain=none", "keep_weights=true", f"paths.results={tmp_path / 'results'}")
    store = stored(tmp_path / "results", *data, "trials=3", "pretrain=none", "keep_weights=true")
    cell = Cell(asked, config_of(*asked))
    hardware = choose_hardware(cell.config.trainer)
    its = Competitor("it", cell.config, cell.source.read().table, LOG_LOSS, hardware)
    places = list(range(len(its.table.columns)))

    intact, moved = its.as_they_are([[place] for place in places], repeats=2, seed=5)

    found = importance_of_cell(store.folder, metric="log_loss", n_repeats=2, random_state=5).frame.set_index("columns")
    for place, changed in zip(places, moved, strict=True):
        means = [np.mean([rows.values.mean() for rows in each.values()]) for each in (intact, changed)]
        row = found.loc[its.table.columns[place].name]
        assert means == pytest.approx([row["score"], row["without"]], rel=1e-5)


def test_fewer_permutations_and_trials_at_once_keep_within_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    its = competitor("pretrain=none", metric="accuracy")
    wide = its.as_they_are([[0], [1]], repeats=1, seed=0)
    monkeypatch.setattr(competing, "MOST_VALUES", 2 * 18 * 4)

    narrow = its.as_they_are([[0], [1]], repeats=5, seed=0)

    np.testing.assert_array_equal(values(narrow[0]), values(wide[0]))
    np.testing.assert_array_equal(values(narrow[1][1]), values(wide[1][1]))


def test_a_column_that_is_left_out_leaves_the_rows_of_each_trial() -> None:
    """Without two of its columns most rows of the table are copies, which a split keeps together."""
    features = frame()[["level", "colour", "size"]]
    its = competitor("pretrain=none", "split.copies=together", features=features)

    plain, without = its._tested(its._training()), its.without([2])

    for trial in (0, 1):
        np.testing.assert_array_equal(without[trial].rows, plain[trial].rows)
    alone = competitor("pretrain=none", "split.copies=apart", features=features.drop(columns="size"))
    kept_apart = competitor("pretrain=none", "split.copies=apart", features=features)
    np.testing.assert_array_equal(values(kept_apart.without([2])), values(alone._tested(alone._training())))


def encoders(of: Competitor, hidden: list[int]) -> dict[str, np.ndarray]:
    """The pre-trained weights of f."""
    training = of._training()
    its = training.stack([0, 1])  # noqa: PD013 - trials, not a frame
    fit = training.pretrain(blind_to(its, hidden))
    assert fit is not None
    return {name: weight.numpy() for name, weight in fit.part("encoder").items()}


@pytest.mark.parametrize("pretrain", ["vime", pytest.param("scarf", marks=pytest.mark.slow)])
def test_a_hidden_column_is_nothing_to_pretraining(pretrain: str) -> None:
    """Two tables that differ in the column alone have the same encoders; its mean, which imputes it, becomes zero."""
    other = frame().assign(size=np.random.default_rng(9).normal(3, 4, N))
    first, second = competitor(f"pretrain={pretrain}"), competitor(f"pretrain={pretrain}", features=other)

    hidden = encoders(first, [0]), encoders(second, [0])
    seen = encoders(first, [1]), encoders(second, [1])

    for name, weight in hidden[0].items():
        np.testing.assert_allclose(hidden[1][name], weight, atol=1e-6)
    assert any(not np.allclose(seen[1][name], weight, atol=1e-3) for name, weight in seen[0].items())


def test_the_second_phase_sees_what_pretraining_did_not() -> None:
    its = competitor("pretrain=scarf")
    training = its._training()
    stack = training.stack([0, 1])  # noqa: PD013 - trials, not a frame

    by_hand = outcome_of(training, stack, blind_to(stack, [0]))

    hidden = its.hidden_from_pretraining([0])
    rows = [its._rows(by_hand.predictions[t], stack.data.test[t]) for t in (0, 1)]
    np.testing.assert_array_equal(values(hidden), np.concatenate([each.values for each in rows if each is not None]))
    assert not np.array_equal(values(hidden), values(its._tested(training)))


def test_spared_columns_keep_their_values_and_count_as_not_selected() -> None:
    def nines(x: torch.Tensor, *others: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.full_like(x, 9.0), torch.ones(x.shape[-2:], dtype=torch.bool)

    x = torch.randn(2, 5, 4)

    view, mask = Spared(nines, [1, 3])(x, None, None, None)  # type: ignore[arg-type]

    assert torch.equal(view[..., [1, 3]], x[..., [1, 3]])
    assert (view[..., [0, 2]] == 9).all()
    assert mask.shape == x.shape
    assert mask[..., [0, 2]].all()
    assert not mask[..., [1, 3]].any()


@pytest.mark.parametrize(("corruption", "places"), [("marginal", [0, 2]), ("mean", [0, 2, 3, 4])])
@pytest.mark.slow
def test_the_corruption_of_a_cell_spares_columns_in_either_space(
    corruption: str, places: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A category has an encoded column for each of its values."""
    its = competitor("pretrain=scarf", f"corruption={corruption}")
    made = Mock(wraps=Spared)
    monkeypatch.setattr(competing, "Spared", made)

    spared = its.spared_by_corruption([0, 2])

    assert [call.args[1] for call in made.call_args_list] == [places]
    assert not np.array_equal(values(spared), values(its._tested(its._training())))


def test_a_corruption_that_spares_all_columns_is_none() -> None:
    spared = competitor("pretrain=scarf", "corruption=mean").spared_by_corruption([0, 1, 2, 3])
    none = competitor("pretrain=scarf", "corruption=none")

    np.testing.assert_array_equal(values(spared), values(none._tested(none._training())))


def test_what_there_is_to_change() -> None:
    with pytest.raises(UsageError, match="No column would be left"):
        competitor("pretrain=none").without([0, 1, 2, 3])
    assert not competitor("pretrain=none").is_pretrained
    assert competitor("pretrain=scarf").is_corrupted
    assert competitor("pretrain=binning").is_pretrained
