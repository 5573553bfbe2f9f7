import subprocess
import sys

import pytest
import torch

from scarf_lightning.engine.hardware import Hardware, choose_device
from scarf_lightning.errors import UsageError


@pytest.mark.parametrize(
    ("device", "trials_per_stack", "size"), [("cpu", "auto", 10), ("cuda", "auto", 30), ("cpu", 7, 7), ("cuda", 1, 1)]
)
def test_stack_size(device: str, trials_per_stack: int | str, size: int) -> None:
    assert Hardware(torch.device(device)).stack_size(trials_per_stack) == size


def test_dtypes() -> None:
    cpu = torch.device("cpu")
    assert Hardware(cpu, "32-true").dtype == Hardware(cpu, "bf16-mixed").dtype == torch.float32
    assert Hardware(cpu, "64-true").dtype == torch.float64


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
