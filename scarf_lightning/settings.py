"""Settings of training, networks and hardware: typed, checked, and free of torch, so a config is read fast.

Upper limits are ones that nobody who means it comes near: what exceeds them is a slip of the pen, and would end in an
overflow or never.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from .limits import Limit, Limited

ACCELERATORS = ("auto", "cpu", "cuda")
DEFAULT_PRECISION, TF32 = "32-true", "tf32"
PRECISIONS = (DEFAULT_PRECISION, "64-true", "bf16-mixed", TF32)


@dataclass
class FitSettings(Limited):
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

    A validation improves on the best one if it is better by more than ``min_improvement``. ``weight_decay`` times a
    weight is added to its gradient, as Adam's L2 penalty; ``gradient_clip`` is the largest norm of all gradients of a
    trial together. The learning rate is ``constant``, or falls from epoch to epoch as half a ``cosine`` that would end
    at nought after ``max_epochs``.

    The rows are shuffled anew for ``every_epoch``, or ``once`` before the first, which all epochs then repeat.
    """

    limits: ClassVar[dict[str, Limit]] = {
        "batch_size": "[2, 1000000000]",
        "learning_rate": "(0, 1e12]",
        "epsilon": "(0, 1e12]",
        "max_epochs": "[1, 1000000]",
        "patience": "[0, 1000000]",
        "patience_rule": ("exceeded", "reached"),
        "monitor": ("loss", "error"),
        "validate_every": "[1, 1000000]",
        "monitor_smoothing": "[0, 1)",
        "min_epochs": "[1, 1000000]",
        "min_steps": "[0, 100000000]",
        "min_improvement": "[0, inf)",
        "weight_decay": "[0, inf)",
        "gradient_clip": "(0, inf)",
        "schedule": ("constant", "cosine"),
        "shuffle": ("every_epoch", "once"),
    }
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
    min_improvement: float = 0.0
    weight_decay: float = 0.0
    gradient_clip: float | None = None
    schedule: str = "constant"
    shuffle: str = "every_epoch"

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("validate_every", "min_epochs"):
            if getattr(self, option) > self.max_epochs:
                raise ValueError(f"{option} must be at most max_epochs={self.max_epochs}, not {getattr(self, option)}")


@dataclass
class FinetuneSettings(FitSettings):
    """How the supervised phase is trained, and whether the pre-trained weights of the ``encoder`` stay as they are.

    ``class_weight=balanced`` gives every class the same weight, by the labels that training sees. ``metric`` is one of
    those of `scarf_lightning.metrics`, watched on the validation rows in the place of the ``monitor``. An ``epoch``
    goes through the ``labelled_rows`` once, or through them again and again until it has as many as there are
    ``training_rows``, labelled or not. With ``first_layer=pretrained`` h starts from the first layer of g, as if only
    the rest of g were thrown away (Chen et al. 2020, "Big Self-Supervised Models", section 2).
    """

    limits: ClassVar[dict[str, Limit]] = {
        "freeze": ("none", "encoder"),
        "class_weight": ("none", "balanced"),
        "epoch": ("labelled_rows", "training_rows"),
        "first_layer": ("fresh", "pretrained"),
    }
    freeze: str = "none"
    class_weight: str = "none"
    metric: str | None = None
    epoch: str = "labelled_rows"
    first_layer: str = "fresh"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric is not None and self.patience is None and not self.restore_best:
            raise ValueError("metric has nothing to choose where patience=null and restore_best=false; leave it out")


@dataclass
class PretrainSettings(FitSettings):
    """How pre-training is trained, and which: ``none``, or the name of a pretext with the options of its own.

    The static validation set has ``validation_passes`` views of each validation row, judged in mini-batches of
    ``validation_batch_size`` rows, or of ``batch_size`` if that is None: what a contrastive loss contrasts a row with.
    """

    limits: ClassVar[dict[str, Limit]] = {
        "validation_passes": "[1, 10000]",
        "validation_batch_size": "[2, 1000000000]",
    }
    name: str = "scarf"
    max_epochs: int = 1000
    monitor: str = "loss"
    validation_passes: int = 10
    validation_batch_size: int | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class LayerSettings(Limited):
    """Width and number of linear layers of a head."""

    limits: ClassVar[dict[str, Limit]] = {"width": "[1, 100000]", "depth": "[1, 1000]"}
    width: int = 256
    depth: int = 2


@dataclass
class NetworkSettings(Limited):
    """Which network f is and its options, the heads g and h, and how the parameters of linear layers start."""

    limits: ClassVar[dict[str, Limit]] = {
        "weight_init": (
            "glorot_uniform",
            "he_uniform",
            "lecun_uniform",
            "pytorch",
            "glorot_normal",
            "he_normal",
            "lecun_normal",
        ),
        "bias_init": ("zeros", "pytorch"),
    }
    name: str = "mlp"
    encoder: dict[str, Any] = field(default_factory=dict)
    pretrain_head: LayerSettings = field(default_factory=LayerSettings)
    head: LayerSettings = field(default_factory=LayerSettings)
    weight_init: str = "glorot_uniform"
    bias_init: str = "zeros"


@dataclass
class TrainerSettings(Limited):
    """Hardware and precision. What a cell is does not depend on the hardware, but for rounding.

    ``precision`` is of training: with ``bf16-mixed`` products are in bfloat16 and all else in float32, with ``tf32``
    the factors of products are rounded to the 10 bits of TF32, as Nvidia's GPUs since Ampere can; other devices cannot.

    ``trials_per_stack`` changes nothing at all where the processor's products are exact. Elsewhere, as on a GPU, trials
    are always trained in whole blocks of that many, whatever number of trials is asked for, so that their numbers can
    be had again; see `scarf_lightning.engine.exactness`.
    """

    limits: ClassVar[dict[str, Limit]] = {
        "accelerator": ACCELERATORS,
        "threads": "[1, 4096]",
        "precision": PRECISIONS,
        "trials_per_stack": "[1, 10000]",
    }
    accelerator: str = "auto"
    threads: int = 1
    precision: str = DEFAULT_PRECISION
    trials_per_stack: int | str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.trials_per_stack, str) and self.trials_per_stack != "auto":
            raise ValueError(f"trials_per_stack must be a number or auto, not {self.trials_per_stack}")
