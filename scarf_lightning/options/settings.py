"""Sections of options: phases, networks, hardware, data and views of a cell; loggers, folders and jobs of a run.

Free of torch. Upper limits are far above what anybody means: a number beyond them is a slip of the pen, and would end
in an overflow or never.
"""

import codecs
import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from ..errors import UsageError
from .option import Options, option, part_name

DEFAULT_PRECISION, TF32 = "32-true", "tf32"

Choice = Annotated[dict[str, Any], "part"]
"""The ``name`` of a part and its options. A field of this type has the name of the part's axis."""

Schedule = Literal["constant", "cosine", "flat_cos", "coslog4"]
"""How a number changes while a phase trains, see `scarf_lightning.engine.stack_modules.level`."""


@dataclass
class FitSettings(Options):
    """Settings of the training of one phase: optimiser, schedules, batches, early stopping.

    Of a schedule, ``cosine`` falls to zero from epoch to epoch. The others change at every step: ``flat_cos`` falls to
    zero in the second half, and ``coslog4`` rises and falls four times, each time twice as long, as RealMLP's learning
    rate does. They end with the last of ``max_epochs`` or ``max_steps``.

    A phase watches nothing with ``monitor=none``, or if there are no validation rows. It then has a fixed length,
    ``max_epochs`` or ``max_steps``, and keeps the weights of its end.

    A trial stops when more than ``patience`` validations in a row have not improved on the best one. A network that
    never improves trains patience + 2 epochs: 5 in the paper's table of training epochs (dataset 40923).

    On a small table an epoch is a step or two, so the paper's patience ends after five steps. ``min_steps`` trains
    longer, if need be beyond ``max_epochs``. On five tables with 100 to 125 labels, 100 steps with ``monitor=loss``
    raise the accuracy from 0.87 to 0.92 and halve the log-loss.
    """

    # The optimiser and its batches.
    batch_size: int = option(128, "rows a step", "[2, 1000000000]")
    optimizer: Literal["adam", "adamw"] = option(
        "adam", "adam adds the penalty of weight_decay to gradients; adamw shrinks weights by it, beside the step"
    )
    learning_rate: float = option(1e-3, "step size of Adam", "(0, 1e12]")
    beta2: float = option(0.999, "share of the past in Adam's mean of squared gradients", "[0, 1)")
    epsilon: float = option(1e-7, "added to the denominator of Adam's step", "(0, 1e12]")
    # The end of training: its length, and what stops it early.
    max_epochs: int = option(200, "largest number of epochs", "[1, 1000000]")
    patience: int | None = option(
        3, "validations without improvement that a trial may have in a row; null trains max_epochs", "[0, 1000000]"
    )
    monitor: Literal["loss", "error", "none"] = option(
        "error", "validation metric that early stopping watches; none trains the full length and keeps the last weights"
    )
    validate_every: int = option(1, "epochs between validations; patience counts validations", "[1, 1000000]")
    restore_best: bool = option(True, "keep the weights of the best epoch, not of the last")
    ties: Literal["first", "last"] = option("first", "which of equally good epochs is the best one")
    min_steps: int = option(0, "minimum number of optimiser steps before a trial may stop", "[0, 100000000]")
    max_steps: int | None = option(
        None, "largest number of optimiser steps, in whole epochs, in place of max_epochs", "[1, 100000000]"
    )
    # What holds weights and gradients small.
    weight_decay: float = option(0.0, "L2 penalty: this times a weight is added to its gradient", "[0, inf)")
    decayed: Literal["all", "weights"] = option(
        "all", "parameters that weight_decay acts on; weights leaves out biases and normalisation"
    )
    gradient_clip: float | None = option(None, "largest norm of all gradients of a trial together", "(0, inf)")
    # Numbers that change while a phase trains.
    schedule: Schedule = option("constant", "learning rate over the training; cosine falls to zero at max_epochs")
    warmup_steps: int = option(0, "first steps, in which the learning rate rises from zero", "[0, 100000000]")
    weight_decay_schedule: Schedule = option("constant", "weight decay over the training, as schedule")
    dropout_schedule: Schedule = option("constant", "rates of dropout over the training, as schedule")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.validate_every > self.max_epochs:
            raise ValueError(f"validate_every must be at most max_epochs={self.max_epochs}, not {self.validate_every}")
        if self.max_steps is not None and self.max_steps < self.min_steps:
            raise ValueError(f"max_steps must be at least min_steps={self.min_steps}, not {self.max_steps}")

    def epochs(self, steps_per_epoch: int) -> tuple[int, int]:
        """The first epoch after which a trial may stop, and the last one, of so many optimiser steps each.

        >>> FitSettings(min_steps=100, max_steps=300).epochs(8)
        (13, 38)
        """
        at_least = math.ceil(self.min_steps / steps_per_epoch)
        # A fit of one or two steps an epoch needs more epochs than `max_epochs` for its `min_steps`.
        return at_least, max(at_least, self.scheduled_epochs(steps_per_epoch))

    def scheduled_epochs(self, steps_per_epoch: int) -> int:
        """The epochs over which schedules run."""
        return self.max_epochs if self.max_steps is None else math.ceil(self.max_steps / steps_per_epoch)

    def unwatched(self) -> Self:
        """The same without validation: of fixed length, with the last weights."""
        return replace(self, monitor="none")

    @property
    def stops_after(self) -> float:
        """Validations without improvement after which a trial stops; infinite if none stops early."""
        # Patience counts the validations that are allowed, so the next one ends the trial.
        is_patient = self.patience is None or self.monitor == "none"
        return math.inf if is_patient else self.patience + 1  # type: ignore[operator]

    @property
    def keeps_best(self) -> bool:
        """True if the weights of the best epoch are kept, and not those of the last."""
        return self.restore_best and self.monitor != "none"


@dataclass
class FinetuneSettings(FitSettings):
    """Settings of the supervised phase.

    With few labels a validation set is small or missing, so it chooses by chance. A fit on fewer rows than
    ``fixed_below`` has no validation and a fixed length of ``fixed_steps``, in place of patience and ``max_epochs``.
    Numbers need validation earlier: a network that fits each noisy number predicts badly, while one that fits each
    noisy class still gets most classes right. ``fixed_below_numbers`` bounds ``fixed_below`` for them.

    With ``folds`` that length is chosen, and for numbers too: as many networks train on one path of up to
    ``fold_steps`` steps, each without a fold of the labels. Their predictions of the labels that were left out, mixed
    with the frequencies of classes or the mean, choose the number of steps and the share of that mixture with the
    smallest loss, for a network on all labels; ``fold_caution`` takes a larger share whose loss is hardly worse. The
    networks of the folds predict with that one if ``fold_average`` is set. A path may end anywhere, so its learning
    rate is constant. It trains for ``min_steps`` at least, of which 100 count, and ``patience`` counts 4 steps each. A
    method of several fits or losses, or one that mixes rows, keeps ``fixed_steps``.
    """

    freeze: Literal["none", "encoder"] = option("none", "encoder: train the head alone on the pre-trained encoder")
    class_weight: Literal["none", "balanced"] = option(
        "none", "balanced: every class has the same weight, by the labels that training sees"
    )
    metric: str | None = option(
        None, "metric of the validation rows that early stopping watches in place of monitor; null takes metric"
    )
    label_smoothing: float = option(
        0.0, "weight of the uniform distribution in the targets of classes; numbers have none", "[0, 1]"
    )
    label_smoothing_schedule: Schedule = option("constant", "label smoothing over the training, as schedule")
    fixed_below: int = option(
        0, "training rows below which the fit has a fixed length and no validation", "[0, 1000000000]"
    )
    fixed_steps: int = option(300, "optimiser steps of a fit on fewer rows than fixed_below", "[1, 100000000]")
    folds: int | None = option(
        None,
        "folds of the labels that choose the steps of a fit on fewer rows than fixed_below; null trains fixed_steps",
        "[2, 100]",
    )
    fold_steps: int = option(1000, "optimiser steps among which folds choose", "[1, 100000000]")
    fold_every: int = option(4, "optimiser steps between two numbers of steps that folds try", "[1, 100000000]")
    fold_average: bool = option(False, "predict with the mean of the networks of the folds and the one on all labels")
    fold_caution: float = option(
        0.0, "standard errors of the loss that a larger share of the class frequencies or the mean may cost", "[0, 100]"
    )
    fixed_below_numbers: int | None = option(
        None, "the largest fixed_below for targets that are numbers; null sets no bound", "[0, 1000000000]"
    )

    def fit_to_rows(self, n: int) -> "FinetuneSettings":
        """The settings of a fit on ``n`` rows."""
        if n >= self.fixed_below:
            return self
        # `min_steps` would train beyond the fixed length.
        return replace(self.unwatched(), min_steps=0, max_steps=self.fixed_steps)

    @property
    def watched_metric(self) -> str | None:
        """The metric that early stopping watches in place of the loss or the error; None if it decides nothing."""
        return self.metric if self.keeps_best or self.stops_after < math.inf else None


@dataclass
class PretrainSettings(FitSettings):
    """Settings of pre-training, and its task: ``none``, or a pretext by its ``name`` with its own ``options``."""

    named_part: ClassVar = ("name", "pretrain")
    rest: ClassVar = "options"
    name: str = part_name("scarf")
    max_epochs: int = 1000
    monitor: Literal["loss", "error", "none"] = "loss"
    validation_passes: int = option(
        10, "corrupted views of each validation row in the static validation set", "[1, 10000]"
    )
    rows: int | None = option(
        None,
        "training rows that pre-training learns from, drawn at random in each trial; null takes all",
        "[2, 1000000000]",
    )
    drop: list[str] | None = option(None, "columns that pre-training does not see; each tries every column in turn")
    probe: int | None = option(
        None,
        "epochs between measures of frozen embeddings; 0 measures at the end alone, null never",
        "[0, 1000000]",
    )
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class LayerSettings(Options):
    """The linear layers of a head."""

    width: int = option(256, "units a layer", "[1, 100000]")
    depth: int = option(2, "linear layers", "[1, 1000]")


@dataclass
class NetworkSettings(Options):
    """The encoder f by its ``name`` with its own options, and the heads g (pre-training) and h (classes)."""

    named_part: ClassVar = ("name", "network")
    rest: ClassVar = "encoder"
    name: str = part_name("mlp")
    encoder: dict[str, Any] = field(default_factory=dict)
    weight_init: Literal["glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "pytorch"] = (
        option("glorot_uniform", "initial weights of linear layers; biases start at zero, with pytorch as PyTorch's do")
    )
    pretrain_head: LayerSettings = field(default_factory=LayerSettings)
    head: LayerSettings = field(default_factory=LayerSettings)


@dataclass
class TrainerSettings(Options):
    """Hardware and precision. Only the precision is part of a cell's identity; hardware changes numbers by rounding.

    With ``bf16-mixed`` products are in bfloat16 and all else in float32. With ``tf32`` the factors of products are
    rounded to the 10 bits of TF32, which Nvidia's GPUs can do since Ampere; other devices cannot.

    ``trials_per_stack`` changes no number on processors whose products are exact. Elsewhere, as on a GPU, trials
    always train in whole blocks of that many, so that their numbers can be reproduced; see
    `scarf_lightning.engine.hardware`.
    """

    accelerator: Literal["auto", "cpu", "cuda"] = option("auto", "device; auto takes the GPU where there is one")
    device: int | None = option(
        None, "number of the GPU to train on, from 0; null takes torch's own choice", "[0, 1023]"
    )
    threads: int = option(1, "threads of a process; more processes use more cores better", "[1, 4096]")
    precision: Literal["32-true", "64-true", "bf16-mixed", "tf32"] = option(DEFAULT_PRECISION, "number format")
    memory_gb: float | None = option(
        None, "gigabytes of 10^9 bytes that training may take; null is what the device has left", "(0, inf)"
    )
    trials_per_stack: int | Literal["auto"] = option("auto", "trials that train at once; auto by device", "[1, 10000]")


@dataclass
class DatasetSettings(Options):
    """Where a table comes from, and how it is read. Each source takes some of the options and refuses the others."""

    # Where the table is.
    source: Literal["wdbc", "diabetes", "openml", "csv"] = option("wdbc", "bundled, of OpenML, or csv: a file of yours")
    id: int | None = option(None, "number of a dataset on OpenML", "[1, inf)")
    name: str | None = option(None, "what tables call the dataset")
    path: str | None = option(
        None, "file of the table, or a pattern of files: .csv, .txt, .json, .jsonl, .parquet, .feather or .xlsx"
    )
    target: str | None = option(None, "column to predict")
    # What its columns hold, where the values alone do not show it.
    categorical: list[str] | None = option(None, "columns to read as categories, as in [a,b]")
    numeric: list[str] | None = option(None, "columns to read as numbers, as in [c]")
    drop: list[str] | None = option(None, "columns to leave out; each leaves out every column in turn")
    text: list[str] | None = option(None, "columns to read as text, whatever they hold: hashes of their letters")
    # How a file is written.
    separator: str | None = option(None, "character between fields; null finds it")
    decimal: Literal[".", ","] | None = option(None, "decimal mark of numbers; null finds it")
    encoding: str | None = option(None, "text encoding of the file, such as cp1252; null is UTF-8")
    target_kind: Literal["classes", "number"] | None = option(
        None, "classes or number; null takes a numeric column of many values as a number"
    )
    weight: str | None = option(None, "column that says how much each row counts in supervised training; no feature")
    size: list[int] | None = option(None, "rows and columns, by which a run is planned before the table is loaded")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.separator is not None and len(self.separator) != 1:
            raise ValueError(f"separator must be one character, not {self.separator!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError as error:
                raise ValueError(
                    f"encoding must be one that Python knows, such as utf-8 or cp1252, not {self.encoding!r}"
                ) from error


READING = (
    "drop", "categorical", "numeric", "text", "separator", "decimal", "encoding", "weight",
)  # fmt: skip
"""Options of a dataset that say how its table is read. Tables that differ in them alone are one dataset."""


@dataclass
class ViewsSettings(Options):
    """Number of the two views of a row that are corrupted."""

    name: Literal["one", "both"] = option("one", "one corrupted view, as in the paper, or both")


@dataclass
class CotrainSettings(Options):
    """The pretext task that ``method=cotrain`` adds to the supervised loss, with its own ``options``."""

    named_part: ClassVar = ("task", "pretrain")
    rest: ClassVar = "options"
    task: str = part_name("scarf")
    weight: float = option(1.0, "weight of the pretext loss beside the supervised one", "(0, inf)")
    corruption: Choice = field(default_factory=dict)
    loss: Choice = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class WandbSettings(Options):
    """Where Weights & Biases keeps the runs."""

    mode: Literal["offline", "online", "disabled"] = option("offline", "offline and disabled use no network")
    project: str = option("scarf-lightning", "project of the runs")
    entity: str | None = option(None, "user or team that owns the project; null is your own")
    write: bool = option(False, "write a run for each cell; logger=wandb sets it")


@dataclass
class LoggerSettings(Options):
    """Where curves are shown, beside the store.

    Each section is a logger. Any other logger of Lightning's is a section with a name of its own and the class as its
    ``_target_``; its further options are the arguments of the class. ``logger=[csv,wandb]`` chooses several.
    """

    rest: ClassVar = "others"
    wandb: WandbSettings = field(default_factory=WandbSettings)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def views(self) -> list[str]:
        """The names of the loggers that are written."""
        is_off = "disabled" in (self.wandb.mode, os.environ.get("WANDB_MODE"))
        return ["wandb", *self.others] if self.wandb.write and not is_off else [*self.others]


@dataclass
class PathSettings(Options):
    """Folders."""

    results: str = option("results", "folder of the results, relative to the folder that the command runs in")
    openml: str | None = option(None, "cache of the openml client; null is OPENML_CACHE_DIR or the client's own folder")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.results = str(expanded(self.results))


@dataclass
class CacheSettings(Options):
    """The cache of pre-trainings in the results folder."""

    max_gb: float = option(20.0, "largest size in gigabytes of 10^9 bytes; 0 keeps and reads nothing", "[0, inf)")


@dataclass
class ChunkSettings(Options):
    """How a job of a launcher gets its cells."""

    file: str | None = option(None, "file in which a job finds its cells; the sweeper sets it")


def expanded(path: str | os.PathLike[str]) -> Path:
    """A path whose ``~`` or ``~NAME`` is the home of a user. A shell leaves the sign as it is behind an equals sign.

    Raises:
        UsageError: there is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path}: this machine knows no home of its user; write the path in full.") from error
