"""The memory that training needs, and what there is."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from scarf_lightning import machine
from scarf_lightning.data.table import Table
from scarf_lightning.engine import memory
from scarf_lightning.engine.memory import META, Alive, Demand, trials_that_fit
from scarf_lightning.networks import Network
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.options.axes import parts
from scarf_lightning.options.settings import NetworkSettings
from tests.stacks import task


def demand(table: Table, network: Network, batch_size: int = 128) -> Demand:
    return Demand(table, network, NetworkSettings(), ((task(), batch_size, 10),), batch_size, False, torch.float32)


def test_what_is_alive_is_counted_and_what_was_let_go_is_not() -> None:
    with Alive() as alive:
        one = torch.empty(10, device=META)
        view = one.view(2, 5)
        assert alive.now == alive.most == 40
        other = one + 1
        del one
        assert (alive.now, alive.most) == (80, 80), "its view is still here"
        del view, other

    assert (alive.now, alive.most) == (0, 80)


def test_a_linear_layer_counts_its_rows_weights_and_gradients(patients: Table) -> None:
    """Weights, gradients, moments and the best so far are five times the weights of f, g and h."""
    network = MLP(width=4096, depth=2)
    columns = patients.n_encoded
    f, g, h = columns * 4096 + 4096**2 + 2 * 4096, 4096 * 256 + 256**2 + 2 * 256, 4096 * 256 + 256 + 256 * 3 + 3

    needed = demand(patients, network, batch_size=16).counted(3) - memory.START

    assert needed == pytest.approx(5 * 3 * 4 * (f + g + h), rel=0.1)


@pytest.mark.parametrize("name", sorted(parts("network")))
@pytest.mark.slow
def test_every_network_is_counted_and_needs_less_than_is_said_without_counting(name: str, patients: Table) -> None:
    asked = demand(patients, parts("network")[name]())

    assert asked.rows(3) + memory.START < asked.counted(3) < asked.at_most(3)


def test_embeddings_that_another_model_learns_from_are_counted(patients: Table) -> None:
    asked = demand(patients, MLP(width=64, depth=1))
    more = [replace(asked, embeds=True).counted(n_trials) - asked.counted(n_trials) for n_trials in (1, 5)]

    assert more == pytest.approx([patients.n_rows * 64 * (4 * n_trials + 16) for n_trials in (1, 5)], abs=1)


def test_the_encoded_table_of_a_model_without_a_network_is_counted(patients: Table) -> None:
    without = replace(demand(patients, MLP()), network=None)
    table = len(patients.columns) * 4 + memory.OF_AN_ENCODED_CELL * patients.n_encoded
    trial = memory.OF_A_ROW + memory.TEST_SHARE * 3 * memory.OF_A_PREDICTION

    assert without.rows(1) == pytest.approx(patients.n_rows * (table + trial), abs=1)
    assert without.rows(2) == pytest.approx(patients.n_rows * (table + 2 * trial), abs=1)


def test_as_many_trials_fit_as_the_bytes_allow(patients: Table) -> None:
    asked = replace(demand(patients, MLP(depth=1), batch_size=1024), pretexts=())
    one, two = asked.counted(1), asked.counted(2)

    assert one < two
    assert [trials_that_fit(asked, wanted, two) for wanted in (1, 2, 5)] == [1, 2, 2]
    assert trials_that_fit(asked, 2, one - 1) == 0


def test_a_part_that_cannot_be_counted_is_not_limited(patients: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(MLP, "build", fails)

    assert trials_that_fit(demand(patients, MLP()), 10, 1) == 10


def test_memory_is_given_back_before_it_is_called_too_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemAvailable:    5 kB\n", encoding="utf-8")
    monkeypatch.setattr(machine, "PROC", tmp_path)
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    trimmed = []

    def trim(_: int) -> None:
        trimmed.append(True)
        (tmp_path / "meminfo").write_text("MemAvailable:    7 kB\n", encoding="utf-8")

    monkeypatch.setattr(machine, "c_function", {"malloc_trim": trim}.get)
    cpu = torch.device("cpu")

    assert memory.free_memory(cpu, enough=5 * 1024) == 5 * 1024
    assert not trimmed
    assert memory.free_memory(cpu, enough=6 * 1024) == 7 * 1024
    monkeypatch.setattr(machine, "c_function", {}.get)
    assert memory.free_memory(cpu, enough=8 * 1024) == 7 * 1024, "another C library has nothing to give back"


def test_blocks_that_torch_keeps_on_a_gpu_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a second large cell would be refused for what the first one has left behind."""
    device = torch.device("cuda", 1)
    for name, n_bytes in (("mem_get_info", (3, 24)), ("memory_reserved", 20), ("memory_allocated", 6)):
        monkeypatch.setattr(torch.cuda, name, lambda asked, n_bytes=n_bytes: n_bytes if asked == device else None)
    assert memory.free_memory(device, enough=1) == 3 + 20 - 6
