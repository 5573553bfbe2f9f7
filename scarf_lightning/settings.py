"""Settings of training, networks and hardware: typed, checked, and free of torch, so a config is read fast."""

import math
from dataclasses import dataclass, field
from typing import Any

MONITORS = ("loss", "error")
PATIENCE_RULES = ("exceeded", "reached")
CLASS_WEIGHTS = ("none", "balanced")
ACCELERATORS = ("auto", "cpu", "cuda")
DEFAULT_PRECISION = "32-true"
PRECISIONS = (DEFAULT_PRECISION, "64-true", "bf16-mixed")

MOST_ROWS = 10**9
MOST_EPOCHS = 10**6
MOST_STEPS = 10**8
MOST_PASSES = 10**4
MOST_UNITS = 10**5
MOST_LAYERS = 1000
MOST_THREADS = 4096
MOST_TRIALS = 10**4
MOST_TRIES = 10**4
LARGEST_STEP = 1e12
"""Bounds that nobody who means it comes near: what exceeds them is a slip of the pen, and would end in an overflow or
never."""


def one_of(settings: Any, option: str, allowed: tuple[str, ...]) -> None:
    """Raise a ValueError that names the option and what it may be, unless it is one of these."""
    value = getattr(settings, option)
    if value not in allowed:
        raise ValueError(f"{option} must be one of {', '.join(allowed)}, not {value}")


def at_least(settings: Any, option: str, least: int, most: float = math.inf) -> None:
    """Raise a ValueError that names the option and its bound, unless it lies within them."""
    value = getattr(settings, option)
    if value < least:
        raise ValueError(f"{option} must be at least {least}, not {value}")
    if value > most:
        raise ValueError(f"{option} must be at most {most}, not {value}")


def positive(settings: Any, option: str, most: float = math.inf) -> None:
    """Raise a ValueError that names the option and its bound, unless it is finite, greater than 0 and within it."""
    value = getattr(settings, option)
    if not 0 < value < math.inf:
        raise ValueError(f"{option} must be greater than 0, not {value}")
    if value > most:
        raise ValueError(f"{option} must be at most {most:g}, not {value}")


def share(settings: Any, option: str) -> None:
    """Raise a ValueError that names the option, unless it is at least 0 and below 1."""
    value = getattr(settings, option)
    if not 0 <= value < 1:
        raise ValueError(f"{option} must be at least 0 and below 1, not {value}")


@dataclass
class FitSettings:
    """How one phase is trained: Adam, batches, early stopping.

    ``patience`` is the number of epochs without improvement of the ``monitor`` that are borne. With
    ``patience_rule=exceeded`` a trial stops when they exceed it: networks that never improve then train patience + 2
    epochs, 5 in the paper's table of training epochs (dataset 40923). With ``reached`` it stops one epoch sooner.
    ``patience=None`` trains ``max_epochs``.

    There is a validation every ``validate_every`` epochs, and patience counts validations. What it watches is the
    moving average ``monitor_smoothing`` x before + (1 - ``monitor_smoothing``) x now, which starts at the first
    validation: 0 watches the monitor itself. No trial stops before ``min_epochs``, unless it diverges.

    Nor does one stop before ``min_steps`` steps of the optimiser, for which ``max_epochs`` is exceeded where need be:
    on a small table an epoch is a step or two, and the paper's patience ends after five. Measured on five tables with
    100 to 125 labels: 100 steps with ``monitor=loss`` raise the accuracy from 0.87 to 0.92 and halve the log-loss.
    """

    batch_size: int = 128
    learning_rate: float = 1e-3
    epsilon: float = 1e-7
    max_epochs: int = 200
    patience: int | None = 3
    patience_rule: str = "exceeded"
    monitor: str = "error"
    validate_every: int = 1
    monitor_smoothing: float = 0.0
    min_epochs: int = 1
    drop_last: bool = False
    restore_best: bool = True
    min_steps: int = 0

    def __post_init__(self) -> None:
        at_least(self, "batch_size", 2, MOST_ROWS)
        positive(self, "learning_rate", LARGEST_STEP)
        positive(self, "epsilon", LARGEST_STEP)
        at_least(self, "max_epochs", 1, MOST_EPOCHS)
        if self.patience is not None:
            at_least(self, "patience", 0, MOST_EPOCHS)
        one_of(self, "patience_rule", PATIENCE_RULES)
        one_of(self, "monitor", MONITORS)
        at_least(self, "validate_every", 1, self.max_epochs)
        share(self, "monitor_smoothing")
        at_least(self, "min_epochs", 1, self.max_epochs)
        at_least(self, "min_steps", 0, MOST_STEPS)


@dataclass
class FinetuneSettings(FitSettings):
    """How the supervised phase is trained, and whether the pre-trained weights of the ``encoder`` stay as they are.

    ``class_weight=balanced`` gives every class the same weight, by the labels that training sees. ``metric`` is one of
    those of `scarf_lightning.metrics`, watched on the validation rows in the place of the ``monitor``.
    """

    freeze: str = "none"
    class_weight: str = "none"
    metric: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "freeze", ("none", "encoder"))
        one_of(self, "class_weight", CLASS_WEIGHTS)
        if self.metric is not None and self.patience is None and not self.restore_best:
            raise ValueError("metric has nothing to choose where patience=null and restore_best=false; leave it out")


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
        at_least(self, "validation_passes", 1, MOST_PASSES)


@dataclass
class LayerSettings:
    """Width and number of linear layers of a head."""

    width: int = 256
    depth: int = 2

    def __post_init__(self) -> None:
        at_least(self, "width", 1, MOST_UNITS)
        at_least(self, "depth", 1, MOST_LAYERS)


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
    """Hardware and precision. What a cell is does not depend on the hardware, but for rounding.

    ``trials_per_stack`` changes nothing at all where the processor's products are exact. Elsewhere, as on a GPU, trials
    are always trained in whole blocks of that many, whatever number of trials is asked for, so that their numbers can
    be had again; see `scarf_lightning.engine.exactness`.
    """

    accelerator: str = "auto"
    threads: int = 1
    precision: str = DEFAULT_PRECISION
    trials_per_stack: int | str = "auto"

    def __post_init__(self) -> None:
        one_of(self, "accelerator", ACCELERATORS)
        at_least(self, "threads", 1, MOST_THREADS)
        one_of(self, "precision", PRECISIONS)
        if isinstance(self.trials_per_stack, int):
            at_least(self, "trials_per_stack", 1, MOST_TRIALS)
        elif self.trials_per_stack != "auto":
            raise ValueError(f"trials_per_stack must be a number or auto, not {self.trials_per_stack}")
