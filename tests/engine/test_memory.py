"""The memory that training needs, and what there is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from scarf_lightning import machine
from scarf_lightning.data.table import Table
from scarf_lightning.engine import memory
from scarf_lightning.engine.memory import Demand, kept_numbers, trials_that_fit
from scarf_lightning.networks import Columns, Network
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.options.axes import parts
from scarf_lightning.options.settings import NetworkSettings


def demand(table: Table, network: Network | None, **asked: Any) -> Demand:
    asked = {"rows": 1, "views": 0, "embeds": False} | asked
    return Demand.of(table, network, NetworkSettings(), torch.float32, is_shared=True, **asked)


def saved_for_backward(module: nn.Module, n_rows: int, n_columns: int) -> float:
    """The numbers that autograd keeps of so many rows, without weights."""
    own = {tensor.data_ptr() for tensor in [*module.parameters(), *module.buffers()]}
    n_bytes = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            n_bytes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        _ = module(torch.randn(n_rows, n_columns, generator=torch.Generator().manual_seed(0)))
    return sum(n_bytes.values()) / 4


@pytest.mark.parametrize("name", sorted(parts("network")))
@pytest.mark.parametrize("n_columns", [5, 60])
def test_a_network_keeps_no_more_numbers_than_the_formula_says_and_a_third(name: str, n_columns: int) -> None:
    network = parts("network")[name]()
    columns = Columns((0,) * n_columns)
    module = network.build(columns, None)
    few, many = (saved_for_backward(module, n_rows, n_columns) for n_rows in (16, 32))

    assert 1 <= kept_numbers(module, network, columns) / ((many - few) / 16) <= 3


def test_weights_gradients_moments_and_the_best_so_far_are_five_numbers_a_weight(patients: Table) -> None:
    network, columns = MLP(width=4096, depth=2), patients.n_encoded
    f, h = columns * 4096 + 4096**2 + 2 * 4096, 4096 * 256 + 256 + 256 * 3 + 3

    needed = demand(patients, network).needed(3) - memory.START

    assert needed == pytest.approx(5 * 3 * 4 * (f + 2 * h), rel=0.1)


def test_a_tenth_of_the_rows_has_its_validation_views_kept_up_to_a_limit(patients: Table) -> None:
    table = replace(patients, values=patients.values.repeat(200, axis=0), labels=patients.labels.repeat(200))
    none, few, many = (demand(table, MLP(width=2, depth=1), views=views).trial for views in (0, 20, 20_000))

    assert few - none == 20 * 3980 * table.n_encoded * 4
    assert many - none == memory.MOST_BYTES


def test_as_many_trials_fit_as_the_bytes_allow(patients: Table) -> None:
    asked = demand(patients, MLP(depth=1), rows=1024)
    one, two = asked.needed(1), asked.needed(2)

    assert one < two
    assert [trials_that_fit(asked, wanted, two) for wanted in (1, 2, 5)] == [1, 2, 2]
    assert trials_that_fit(asked, 2, one - 1) == 0
    assert trials_that_fit(asked, 2, 0) == 0


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
