"""Devices, precisions, stacks of trials, memory, and the rounding that MKL promises."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from scarf_lightning import machine
from scarf_lightning.data.table import Table
from scarf_lightning.engine.hardware import (
    START,
    VIEWS_BYTES,
    Demand,
    Hardware,
    Promise,
    choose_device,
    choose_hardware,
    free_memory,
    kept_numbers,
    own_torch,
    promise,
    trials_that_fit,
    usable_gpus,
)
from scarf_lightning.engine.stack_modules import Pretraining
from scarf_lightning.errors import UsageError
from scarf_lightning.networks import Columns, Network
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.options.axes import parts
from scarf_lightning.options.settings import NetworkSettings, PretrainSettings, TrainerSettings
from tests.composing import ROOT
from tests.stacks import MakeStack, task

EXACT, FIXED = Promise.EXACT, Promise.FIXED


def hardware(monkeypatch: pytest.MonkeyPatch, promised: Promise, device: str = "cpu") -> Hardware:
    """Of a machine that promises this."""
    monkeypatch.setattr("scarf_lightning.engine.hardware.promise", lambda *_: promised)
    return Hardware(torch.device(device))


@pytest.mark.parametrize(
    ("promised", "device", "trials_per_stack", "size"),
    [
        (EXACT, "cpu", "auto", 10),
        (FIXED, "cpu", "auto", 1),
        (FIXED, "cuda", "auto", 30),
        (EXACT, "cpu", 7, 7),
        (FIXED, "cpu", 7, 7),
        (FIXED, "cuda", 1, 1),
    ],
)
def test_stack_size(
    monkeypatch: pytest.MonkeyPatch, promised: Promise, device: str, trials_per_stack: int | str, size: int
) -> None:
    assert hardware(monkeypatch, promised, device).stack_size(trials_per_stack) == size


def test_where_kernels_are_exact_missing_trials_are_stacked_as_they_come_and_elsewhere_whole_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert hardware(monkeypatch, EXACT).stacks([1, 2, 5, 6, 9], 2) == [[1, 2], [5, 6], [9]]
    fixed = hardware(monkeypatch, FIXED)
    assert fixed.stacks([1, 2, 5, 6, 13], 4) == [[0, 1, 2, 3], [4, 5, 6, 7], [12, 13, 14, 15]]
    assert fixed.stacks([3, 0], "auto") == [[0], [3]]


@pytest.mark.parametrize("promised", [EXACT, FIXED])
def test_a_processor_promises_what_its_products_keep(promised: Promise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scarf_lightning.engine.hardware._products_are_exact", lambda *_: promised is EXACT)
    assert promise(torch.device("cpu"), "32-true") is promised


def test_a_precision_has_its_dtype() -> None:
    cpu = torch.device("cpu")
    assert {Hardware(cpu, name).dtype for name in ("32-true", "bf16-mixed", "tf32")} == {torch.float32}
    assert Hardware(cpu, "64-true").dtype == torch.float64
    assert choose_hardware(TrainerSettings("cpu", precision="bf16-mixed")) == Hardware(cpu, "bf16-mixed")


@pytest.mark.parametrize("capability", [None, (7, 5), (8, 0)])
def test_tf32_is_refused_on_a_device_that_has_none(
    capability: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = TrainerSettings(accelerator="auto", precision="tf32")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: capability is not None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    if capability == (8, 0):
        assert choose_hardware(settings) == Hardware(torch.device("cuda"), "tf32")
        return
    with pytest.raises(UsageError, match=r"trainer\.precision=tf32: .*32-true"):
        choose_hardware(settings)


@pytest.mark.parametrize(("precision", "within"), [("32-true", "highest"), ("tf32", "high")])
def test_a_fit_multiplies_in_its_precision(
    precision: str, within: str, patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, losses = set(), Pretraining.losses

    def watched(module: Pretraining, batch: Any) -> torch.Tensor:
        seen.add(torch.get_float32_matmul_precision())
        return losses(module, batch)

    monkeypatch.setattr(Pretraining, "losses", watched)
    make_stack(patients, range(2), precision=precision).pretrain(PretrainSettings(max_epochs=1), task())
    assert seen == {within}


def test_torch_of_ours_multiplies_exactly_whatever_the_program_around_has_set() -> None:
    torch.set_float32_matmul_precision("medium")
    try:
        with own_torch():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    ("wanted", "n_gpus", "chosen"),
    [
        (("cpu", None), 2, "cpu"),
        (("auto", None), 0, "cpu"),
        (("auto", None), 2, "cuda"),
        (("cuda", None), 2, "cuda"),
        (("auto", 1), 2, "cuda:1"),
        (("cuda", 1), 2, "cuda:1"),
        (("cuda", None), 0, "torch finds no CUDA device here; choose auto or cpu"),
        (("cuda", 2), 2, "trainer.device=2: torch finds 2 GPUs here, numbered from 0."),
        (("cpu", 0), 2, "trainer.device=0 is the number of a GPU, and this trains on the processor"),
    ],
)
def test_a_device_is_chosen_by_kind_and_number_or_refused_in_a_sentence(
    wanted: tuple[Any, int | None], n_gpus: int, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: n_gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    settings = TrainerSettings(accelerator=wanted[0], device=wanted[1])
    if chosen.startswith(("cpu", "cuda")):
        assert choose_device(*wanted) == choose_hardware(settings).device == torch.device(chosen)
    else:
        with pytest.raises(UsageError, match=f"^{re.escape(chosen)}"):
            choose_hardware(settings)


ASKED = "import os, scarf_lightning; print(os.environ['MKL_CBWR'], os.environ['OPENBLAS_THREAD_TIMEOUT'])"


def said_by(code: str, **variables: str) -> str:
    """The output of a process that starts without our settings of MKL and OpenBLAS."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("MKL_", "OPENBLAS_"))}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=others | variables, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ({}, "AUTO 16"),
        ({"MKL_CBWR": "AVX2"}, "AVX2 16"),
        ({"MKL_CBWR": ""}, "16"),
        ({"OPENBLAS_THREAD_TIMEOUT": "26"}, "AUTO 26"),
    ],
)
def test_importing_the_package_asks_for_one_rounding_and_idle_threads_and_leaves_settings_of_ones_own(
    own: dict[str, str], found: str
) -> None:
    assert said_by(ASKED, **own) == found


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["on", "off"])
def test_the_stacks_contract_holds_as_promised_with_the_guard_and_without(guard: str) -> None:
    """An empty setting is one of one's own, which MKL takes for none: equal bits may then not be promised."""
    contract = [
        "tests/engine/test_lifting.py",
        "tests/engine/test_stack_contract.py::test_narrow_and_odd_networks_on_one_column",
    ]
    code = f"import pytest, sys; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', *{contract}]))"

    said = said_by(code, **({} if guard == "on" else {"MKL_CBWR": ""}))

    assert " passed" in said
    assert " skipped" not in said


@pytest.mark.slow
@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this build of torch has no MKL")
def test_with_the_guard_products_are_exact_although_torch_was_imported_first() -> None:
    imported = "import torch, scarf_lightning; torch.set_num_threads(1); torch.randn(300)"
    promised = "from scarf_lightning.engine.hardware import promise; print(promise(torch.device('cpu'), '32-true'))"
    assert said_by(f"{imported}\n{promised}") == "exact"


@pytest.mark.parametrize(
    ("settings", "n_found", "expected"),
    [
        (TrainerSettings(accelerator="cpu"), 2, []),
        (TrainerSettings(accelerator="auto"), 0, []),
        (TrainerSettings(accelerator="auto"), 2, [0, 1]),
        (TrainerSettings(accelerator="cuda"), 2, [0, 1]),
        (TrainerSettings(accelerator="cuda", device=1), 2, [1]),
        (TrainerSettings(accelerator="cuda"), 0, [0]),  # one process says that there is none
    ],
)
def test_processes_may_train_on_the_gpus_that_torch_finds(
    settings: TrainerSettings, n_found: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin_cuda() -> bool:
        raise AssertionError("forks could not use CUDA any more")

    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_found)
    monkeypatch.setattr(torch.cuda, "is_available", begin_cuda)
    assert usable_gpus(settings) == expected


def demand(table: Table, network: Network | None, **sizes: Any) -> Demand:
    sizes = {"rows": 1, "views": 0, "embeds": False} | sizes
    return Demand.of(table, network, NetworkSettings(), torch.float32, is_shared=True, **sizes)


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

    needed = demand(patients, network).needed(3) - START

    assert needed == pytest.approx(5 * 3 * 4 * (f + 2 * h), rel=0.1)


def test_a_tenth_of_the_rows_has_its_validation_views_kept_up_to_a_limit(patients: Table) -> None:
    table = replace(patients, values=patients.values.repeat(200, axis=0), labels=patients.labels.repeat(200))
    none, few, many = (demand(table, MLP(width=2, depth=1), views=views).trial for views in (0, 20, 20_000))

    assert few - none == 20 * 3980 * table.n_encoded * 4
    assert many - none == VIEWS_BYTES


def test_as_many_trials_fit_as_the_bytes_allow(patients: Table) -> None:
    memory = demand(patients, MLP(depth=1), rows=1024)
    one, two = memory.needed(1), memory.needed(2)

    assert one < two
    assert [trials_that_fit(memory, wanted, two) for wanted in (1, 2, 5)] == [1, 2, 2]
    assert trials_that_fit(memory, 2, one - 1) == 0
    assert trials_that_fit(memory, 2, 0) == 0


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

    assert free_memory(cpu, enough=5 * 1024) == 5 * 1024
    assert not trimmed
    assert free_memory(cpu, enough=6 * 1024) == 7 * 1024
    monkeypatch.setattr(machine, "c_function", {}.get)
    assert free_memory(cpu, enough=8 * 1024) == 7 * 1024, "another C library has nothing to give back"


def test_blocks_that_torch_keeps_on_a_gpu_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a second large cell would be refused for what the first one has left behind."""
    device = torch.device("cuda", 1)
    for name, n_bytes in (("mem_get_info", (3, 24)), ("memory_reserved", 20), ("memory_allocated", 6)):
        monkeypatch.setattr(torch.cuda, name, lambda where, n_bytes=n_bytes: n_bytes if where == device else None)
    assert free_memory(device, enough=1) == 3 + 20 - 6
