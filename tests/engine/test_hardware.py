import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.engine.exactness import Promise
from scarf_lightning.engine.hardware import Hardware, choose_device
from scarf_lightning.errors import UsageError

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


def test_where_kernels_are_exact_the_missing_trials_are_stacked_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hardware(monkeypatch, EXACT).stacks([1, 2, 5, 6, 9], 2) == [[1, 2], [5, 6], [9]]


def test_where_they_are_not_whole_blocks_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = hardware(monkeypatch, FIXED)
    assert fixed.stacks([1, 2, 5, 6, 13], 4) == [[0, 1, 2, 3], [4, 5, 6, 7], [12, 13, 14, 15]]
    assert fixed.stacks([3, 0], "auto") == [[0], [3]]


@given(
    trials=st.sets(st.integers(0, 60), min_size=1), size=st.integers(1, 12), promised=st.sampled_from([EXACT, FIXED])
)
def test_every_trial_is_in_one_stack_and_in_a_fixed_one_always_in_the_same(
    trials: set[int], size: int, promised: Promise
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        stacks = hardware(patched, promised).stacks(sorted(trials), size)
        everything = hardware(patched, promised).stacks(range(72), size)
    trained = [trial for stack in stacks for trial in stack]
    assert trials <= set(trained)
    assert len(set(trained)) == len(trained)
    assert all(len(stack) <= size for stack in stacks)
    if promised is FIXED:
        assert all(stack in everything for stack in stacks)
    else:
        assert trained == sorted(trials)


def test_dtypes() -> None:
    cpu = torch.device("cpu")
    assert Hardware(cpu, "32-true").dtype == Hardware(cpu, "bf16-mixed").dtype == torch.float32
    assert Hardware(cpu, "64-true").dtype == torch.float64


@pytest.mark.parametrize(
    ("machine", "avx512_bf16", "amx", "is_slow"),
    [
        ("x86_64", True, False, False),
        ("x86_64", False, True, False),
        ("x86_64", False, False, True),
        ("AMD64", False, False, True),
        ("aarch64", False, False, False),
    ],
)
def test_a_precision_that_the_processor_is_slow_in_is_said(
    machine: str, avx512_bf16: bool, amx: bool, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    cpu = torch.device("cpu")

    said = Hardware(cpu, "bf16-mixed").drawback

    assert (said is not None) == is_slow
    assert said is None or said.startswith("trainer.precision=bf16-mixed: this processor has no instructions for")
    assert Hardware(cpu, "32-true").drawback is None
    assert Hardware(torch.device("cuda"), "bf16-mixed").drawback is None


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_device("cpu").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(UsageError, match=r"trainer\.accelerator=cuda: torch finds no such device here"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"


def test_a_prepared_process_has_its_threads_and_is_quiet() -> None:
    """In a process of its own: these settings last."""
    code = (
        "import logging, torch\n"
        "from scarf_lightning.engine.hardware import prepare_process\n"
        "prepare_process(1)\n"
        "assert torch.get_num_threads() == 1\n"
        "assert not logging.getLogger('pytorch_lightning.utilities.rank_zero').isEnabledFor(logging.INFO)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
