"""The devices that processes may train on."""

import pytest
import torch

from scarf_lightning.cli import running
from scarf_lightning.options.settings import TrainerSettings


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
    assert running.OwnTraining().gpus(settings) == expected
