"""Settings of training, networks and hardware: typed, checked, and free of torch, so a config is read fast."""

from dataclasses import dataclass, field
from typing import Any

MONITORS = ("loss", "error")
PATIENCE_RULES = ("exceeded", "reached")
ACCELERATORS = ("auto", "cpu", "cuda")
PRECISIONS = ("32-true", "64-true", "bf16-mixed")


def one_of(settings: Any, option: str, allowed: tuple[str, ...]) -> None:
    """Raise a ValueError that names the option and what it may be, unless it is one of these."""
    value = getattr(settings, option)
    if value not in allowed:
        raise ValueError(f"{option} must be one of {', '.join(allowed)}, not {value}")


def at_least(settings: Any, option: str, least: int) -> None:
    """Raise a ValueError that names the option and its bound, unless it is at least that."""
    value = getattr(settings, option)
    if value < least:
        raise ValueError(f"{option} must be at least {least}, not {value}")


def positive(settings: Any, option: str) -> None:
    """Raise a ValueError that names the option, unless it is a finite number greater than 0."""
    value = getattr(settings, option)
    if not 0 < value < float("inf"):
        raise ValueError(f"{option} must be greater than 0, not {value}")


def share(settings: Any, option: str) -> None:
    """Raise a ValueError that names the option, unless it is at least 0 and below 1."""
    value = getattr(settings, option)
    if not 0 <= value < 1:
        raise ValueError(f"{option} must be at least 0 and below 1, not {value}")


@dataclass
class FitSettings:
    """How one phase is trained: Adam, batches, early stopping.

    ``patience`` counts epochs without improvement of the ``monitor``. With ``patience_rule=exceeded`` a trial stops
    when they exceed it: networks that never improve then train patience + 2 epochs, 5 in the paper's table of training
    epochs (dataset 40923). With ``reached`` it stops one epoch sooner. ``patience=None`` trains ``max_epochs``.
    """

    batch_size: int = 128
    learning_rate: float = 1e-3
    epsilon: float = 1e-7
    max_epochs: int = 200
    patience: int | None = 3
    patience_rule: str = "exceeded"
    monitor: str = "error"
    drop_last: bool = False
    restore_best: bool = True

    def __post_init__(self) -> None:
        at_least(self, "batch_size", 2)
        positive(self, "learning_rate")
        positive(self, "epsilon")
        at_least(self, "max_epochs", 1)
        if self.patience is not None:
            at_least(self, "patience", 0)
        one_of(self, "patience_rule", PATIENCE_RULES)
        one_of(self, "monitor", MONITORS)


@dataclass
class PretrainSettings(FitSettings):
    """How pre-training is trained, and which: ``none``, or the name of a pretext with the options of its own."""

    name: str = "scarf"
    max_epochs: int = 1000
    monitor: str = "loss"
    validation_passes: int = 10
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "validation_passes", 1)


@dataclass
class LayerSettings:
    """Width and number of linear layers of a head."""

    width: int = 256
    depth: int = 2

    def __post_init__(self) -> None:
        at_least(self, "width", 1)
        at_least(self, "depth", 1)


@dataclass
class NetworkSettings:
    """Which network f is and its options, the heads g and h, and how the parameters of linear layers start."""

    name: str = "mlp"
    encoder: dict[str, Any] = field(default_factory=dict)
    pretrain_head: LayerSettings = field(default_factory=LayerSettings)
    head: LayerSettings = field(default_factory=LayerSettings)
    weight_init: str = "glorot_uniform"
    bias_init: str = "zeros"

    def __post_init__(self) -> None:
        one_of(self, "weight_init", ("glorot_uniform", "he_uniform", "lecun_uniform", "pytorch"))
        one_of(self, "bias_init", ("zeros", "pytorch"))


@dataclass
class TrainerSettings:
    """Hardware only: nothing here changes what is computed, but for rounding."""

    accelerator: str = "auto"
    threads: int = 1
    precision: str = "32-true"
    trials_per_stack: int | str = "auto"

    def __post_init__(self) -> None:
        one_of(self, "accelerator", ACCELERATORS)
        at_least(self, "threads", 1)
        one_of(self, "precision", PRECISIONS)
        if isinstance(self.trials_per_stack, int):
            at_least(self, "trials_per_stack", 1)
        elif self.trials_per_stack != "auto":
            raise ValueError(f"trials_per_stack must be a number or auto, not {self.trials_per_stack}")
