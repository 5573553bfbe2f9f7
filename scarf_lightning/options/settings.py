"""The settings that every cell has: how its phases are trained, its networks, its hardware, its data and its views.

Free of torch. Upper limits are far above what anybody means: a number beyond them is a slip of the pen, and would end
in an overflow or never.
"""

import codecs
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from .option import Options, PartField, option, options_of, part_name

DEFAULT_PRECISION, TF32 = "32-true", "tf32"

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
TIME = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(SECONDS)})")


def seconds_of(time_limit: str) -> float:
    """The seconds of a time limit in words.

    Raises:
        ValueError: says how a time is written.

    >>> seconds_of("10min")
    600.0
    """
    found = TIME.fullmatch(time_limit)
    if found is None:
        raise ValueError(
            f"time_limit must be a time such as 90s, 10min or 2h, not {time_limit}"
        )
    return float(found[1]) * SECONDS[found[2]]


Choice = dict[str, Any]
"""The ``name`` of a part and its options. A field of this type has the name of the part's axis."""

Schedule = Literal["constant", "cosine", "flat_cos", "coslog4"]
"""How a number changes while a phase trains, see `scarf_lightning.engine.schedules`."""


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
    batch_size: int = option(128, "rows a step", "[2, 1000000000]", aliases=("bs",))
    optimizer: Literal["adam", "adamw"] = option(
        "adam",
        "adam adds the penalty of weight_decay to gradients; adamw shrinks weights by it, beside the step",
    )
    learning_rate: float = option(
        1e-3, "step size of Adam", "(0, 1e12]", aliases=("lr",)
    )
    beta2: float = option(
        0.999, "share of the past in Adam's mean of squared gradients", "[0, 1)"
    )
    epsilon: float = option(
        1e-7, "added to the denominator of Adam's step", "(0, 1e12]", aliases=("eps",)
    )
    # The end of training: its length, and what stops it early.
    max_epochs: int = option(
        200, "largest number of epochs", "[1, 1000000]", aliases=("epochs", "n_epochs")
    )
    patience: int | None = option(
        3,
        "validations without improvement that a trial may have in a row; null trains max_epochs",
        "[0, 1000000]",
    )
    monitor: Literal["loss", "error", "none"] = option(
        "error",
        "validation metric that early stopping watches; none trains the full length and keeps the last weights",
    )
    validate_every: int = option(
        1, "epochs between validations; patience counts validations", "[1, 1000000]"
    )
    restore_best: bool = option(
        True, "keep the weights of the best epoch, not of the last"
    )
    ties: Literal["first", "last"] = option(
        "first", "which of equally good epochs is the best one"
    )
    min_steps: int = option(
        0, "minimum number of optimiser steps before a trial may stop", "[0, 100000000]"
    )
    max_steps: int | None = option(
        None,
        "largest number of optimiser steps, in whole epochs, in place of max_epochs",
        "[1, 100000000]",
    )
    # What holds weights and gradients small.
    weight_decay: float = option(
        0.0, "L2 penalty: this times a weight is added to its gradient", "[0, inf)"
    )
    decayed: Literal["all", "weights"] = option(
        "all",
        "parameters that weight_decay acts on; weights leaves out biases and normalisation",
    )
    gradient_clip: float | None = option(
        None, "largest norm of all gradients of a trial together", "(0, inf)"
    )
    # Numbers that change while a phase trains.
    schedule: Schedule = option(
        "constant",
        "learning rate over the training; cosine falls to zero at max_epochs",
    )
    warmup_steps: int = option(
        0, "first steps, in which the learning rate rises from zero", "[0, 100000000]"
    )
    weight_decay_schedule: Schedule = option(
        "constant", "weight decay over the training, as schedule"
    )
    dropout_schedule: Schedule = option(
        "constant", "rates of dropout over the training, as schedule"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.validate_every > self.max_epochs:
            raise ValueError(
                f"validate_every must be at most max_epochs={self.max_epochs}, not {self.validate_every}"
            )
        if self.max_steps is not None and self.max_steps < self.min_steps:
            raise ValueError(
                f"max_steps must be at least min_steps={self.min_steps}, not {self.max_steps}"
            )

    def epochs(self, steps_per_epoch: int) -> tuple[int, int]:
        """The first epoch after which a trial may stop, and the last one, of so many optimiser steps each.

        >>> FitSettings(min_steps=100, max_steps=300).epochs(8)
        (13, 38)
        """
        at_least = math.ceil(self.min_steps / steps_per_epoch)
        at_most = (
            self.max_epochs
            if self.max_steps is None
            else math.ceil(self.max_steps / steps_per_epoch)
        )
        # A fit of one or two steps an epoch needs more epochs than `max_epochs` for its `min_steps`.
        return at_least, max(at_least, at_most)

    def scheduled_epochs(self, steps_per_epoch: int) -> int:
        """The epochs over which schedules run."""
        return (
            self.max_epochs
            if self.max_steps is None
            else math.ceil(self.max_steps / steps_per_epoch)
        )

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
    """

    freeze: Literal["none", "encoder"] = option(
        "none", "encoder: train the head alone on the pre-trained encoder"
    )
    class_weight: Literal["none", "balanced"] = option(
        "none",
        "balanced: every class has the same weight, by the labels that training sees",
    )
    metric: str | None = option(
        None,
        "metric of the validation rows that early stopping watches in place of monitor; null takes metric",
    )
    label_smoothing: float = option(
        0.0,
        "weight of the uniform distribution in the targets of classes; numbers have none",
        "[0, 1]",
    )
    label_smoothing_schedule: Schedule = option(
        "constant", "label smoothing over the training, as schedule"
    )
    fixed_below: int = option(
        0,
        "training rows below which the fit has a fixed length and no validation",
        "[0, 1000000000]",
    )
    fixed_steps: int = option(
        300, "optimiser steps of a fit on fewer rows than fixed_below", "[1, 100000000]"
    )
    fixed_below_numbers: int | None = option(
        None,
        "the largest fixed_below for targets that are numbers; null sets no bound",
        "[0, 1000000000]",
    )

    def of_rows(self, n: int) -> "FinetuneSettings":
        """The settings of a fit on ``n`` rows."""
        if n >= self.fixed_below:
            return self
        # `min_steps` would train beyond the fixed length.
        return replace(self.unwatched(), min_steps=0, max_steps=self.fixed_steps)

    @property
    def watched_metric(self) -> str | None:
        """The metric that early stopping watches in place of the loss or the error, if any."""
        return None if self.monitor == "none" else self.metric

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            self.watched_metric is not None
            and self.patience is None
            and not self.restore_best
        ):
            raise ValueError(
                "metric has nothing to choose where patience=null and restore_best=false; leave it out"
            )


@dataclass
class PretrainSettings(FitSettings):
    """Settings of pre-training, and its task: ``none``, or a pretext by its ``name`` with its own ``options``."""

    named_part: ClassVar = PartField("name", "pretrain", "options")
    name: str = part_name("scarf")
    max_epochs: int = 1000
    monitor: Literal["loss", "error", "none"] = "loss"
    validation_passes: int = option(
        10,
        "corrupted views of each validation row in the static validation set",
        "[1, 10000]",
    )
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class LayerSettings(Options):
    """The linear layers of a head."""

    width: int = option(
        256, "units a layer", "[1, 100000]", aliases=("hidden", "hidden_size", "units")
    )
    depth: int = option(2, "linear layers", "[1, 1000]", aliases=("layers", "n_layers"))


@dataclass
class NetworkSettings(Options):
    """The encoder f by its ``name`` with its own options, and the heads g (pre-training) and h (classes)."""

    named_part: ClassVar = PartField("name", "network", "encoder")
    name: str = part_name("mlp")
    encoder: dict[str, Any] = field(default_factory=dict)
    weight_init: Literal[
        "glorot_uniform",
        "glorot_normal",
        "he_uniform",
        "he_normal",
        "lecun_uniform",
        "pytorch",
    ] = option(
        "glorot_uniform",
        "initial weights of linear layers; biases start at zero, with pytorch as PyTorch's do",
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

    accelerator: Literal["auto", "cpu", "cuda"] = option(
        "auto", "device; auto takes the GPU where there is one"
    )
    device: int | None = option(
        None,
        "number of the GPU to train on, from 0; null takes torch's own choice",
        "[0, 1023]",
    )
    threads: int = option(
        1, "threads of a process; more processes use more cores better", "[1, 4096]"
    )
    precision: Literal["32-true", "64-true", "bf16-mixed", "tf32"] = option(
        DEFAULT_PRECISION, "number format"
    )
    force_precision: bool = option(
        False,
        "train in bf16-mixed even where it is slower than 32-true",
        aliases=("slow_bfloat16",),
    )
    memory_gb: float | None = option(
        None,
        "gigabytes of 10^9 bytes that training may take; null is what the device has left",
        "(0, inf)",
    )
    trials_per_stack: int | Literal["auto"] = option(
        "auto", "trials that train at once; auto by device", "[1, 10000]"
    )


@dataclass
class DatasetSettings(Options):
    """Where a table comes from, and how it is read. Each source takes some of the options and refuses the others."""

    # Where the table is.
    source: str = option(
        "wdbc", "wdbc or diabetes (bundled), openml or csv (a file of yours)"
    )
    id: int | None = option(None, "number of a dataset on OpenML", "[1, inf)")
    name: str | None = option(None, "what tables call the dataset")
    path: str | None = option(
        None,
        "file of the table: .csv, .tsv, .txt, .json, .jsonl or .arff, compressed or not, .parquet or .xlsx",
    )
    target: str | None = option(None, "column to predict")
    # What its columns hold, where the values alone do not say it.
    categorical: list[str] | None = option(
        None, "columns to read as categories, as in [a,b]"
    )
    numeric: list[str] | None = option(None, "columns to read as numbers, as in [c]")
    drop: list[str] | None = option(None, "columns to leave out")
    dates: list[str] | None = option(None, "columns to read as dates or times of day")
    text: list[str] | None = option(
        None, "columns to read as text, whatever they hold: hashes of their letters"
    )
    # How a file is written.
    separator: str | None = option(None, "character between fields; null finds it")
    decimal: Literal[".", ","] | None = option(
        None, "decimal mark of numbers; null finds it"
    )
    encoding: str | None = option(
        None, "text encoding of the file, such as utf-8 or cp1252; null finds it"
    )
    sheet: str | None = option(None, "sheet of an Excel file; null takes the first")
    target_kind: str | None = option(
        None,
        "classes or number; null and auto take a numeric column of many values as a number",
    )
    weight: str | None = option(
        None,
        "column that says how much each row counts in supervised training; no feature",
    )
    unlabelled: str | None = option(
        None, "file of more rows without a target, which pre-training uses"
    )
    task: int | None = option(
        None, "number of a task on OpenML, with its own splits", "[1, inf)"
    )

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
    "drop", "categorical", "numeric", "dates", "text", "separator", "decimal", "encoding", "weight", "unlabelled",
)  # fmt: skip
"""Options of a dataset that say how its table is read. Tables that differ in them alone are one dataset."""


@dataclass
class ViewsSettings(Options):
    """Number of the two views of a row that are corrupted."""

    name: Literal["one", "both"] = option(
        "one", "one corrupted view, as in the paper, or both"
    )


@dataclass
class CotrainSettings(Options):
    """The pretext task that ``method=cotrain`` adds to the supervised loss, with its own ``options``."""

    named_part: ClassVar = PartField("task", "pretrain", "options")
    task: str = part_name("scarf")
    weight: float = option(
        1.0, "weight of the pretext loss beside the supervised one", "(0, inf)"
    )
    corruption: Choice = field(default_factory=dict)
    loss: Choice = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class WandbSettings(Options):
    """Where Weights & Biases keeps the runs."""

    mode: Literal["offline", "online", "disabled"] = option(
        "offline", "offline and disabled use no network"
    )
    project: str = option("scarf-lightning", "project of the runs")
    entity: str | None = option(
        None, "user or team that owns the project; null is your own"
    )
    write: bool = option(False, "write a run for each cell; logger=wandb sets it")


@dataclass
class TensorBoardSettings(Options):
    """The event files of TensorBoard."""

    write: bool = option(
        False, "write event files for each cell; logger=tensorboard sets it"
    )


@dataclass
class MlflowSettings(Options):
    """Where MLflow keeps the runs."""

    tracking_uri: str | None = option(
        None,
        "server or database of the runs; null is MLFLOW_TRACKING_URI, or a database in the results folder",
    )
    experiment: str = option("scarf-lightning", "experiment of the runs")
    write: bool = option(False, "write a run for each cell; logger=mlflow sets it")


@dataclass
class LoggerSettings(Options):
    """Where curves are shown, beside the store.

    Each section is a logger. Any other logger of Lightning's is a section with a name of its own and the class as its
    ``_target_``; its further options are the arguments of the class. ``logger=[csv,wandb]`` chooses several.
    """

    sections_by_target: ClassVar[str | None] = "others"
    per_trial: bool = option(False, "show a curve a trial beside the mean over trials")
    wandb: WandbSettings = field(default_factory=WandbSettings)
    tensorboard: TensorBoardSettings = field(default_factory=TensorBoardSettings)
    mlflow: MlflowSettings = field(default_factory=MlflowSettings)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def views(self) -> list[str]:
        """The names of the loggers that are written."""
        is_written = {
            "wandb": self.wandb.write and self.wandb.mode != "disabled",
            "tensorboard": self.tensorboard.write,
            "mlflow": self.mlflow.write,
        }
        named = [name for name, written in is_written.items() if written]
        return [*named, *self.others]

    def without_secrets(self) -> Self:
        """The same without what may hold a key or a password: the arguments of a class by _target_, and an address."""
        targets = {}
        for name, section in self.others.items():
            targets[name] = {"_target_": section["_target_"]}
        mlflow = replace(self.mlflow, tracking_uri=None)
        return replace(self, others=targets, mlflow=mlflow)


@dataclass
class PathSettings(Options):
    """Folders."""

    results: str = option(
        "results",
        "folder of the results, relative to the folder that the command runs in",
    )
    openml: str | None = option(
        None,
        "cache of the openml client; null is OPENML_CACHE_DIR or the client's own folder",
    )


@dataclass
class CacheSettings(Options):
    """The cache of pre-trainings in the results folder."""

    max_gb: float = option(
        20.0,
        "largest size in gigabytes of 10^9 bytes; 0 keeps and reads nothing",
        "[0, inf)",
    )


@dataclass
class ChunkSettings(Options):
    """Distribution of cells to jobs. Cells that share a pre-training stay in one job."""

    minutes: float | None = option(
        None,
        "expected time of a job at least; null is 20 on Slurm, up to 10 s with joblib, all cells with basic, else 0",
        "[0, inf)",
    )
    max_jobs: int | None = option(
        None, "largest number of jobs; null is 1000 on Slurm, else any", "[1, inf)"
    )
    file: str | None = option(
        None, "file in which a job finds its cells; the sweeper sets it"
    )


@dataclass(kw_only=True)
class Config(Options):
    """One cell, and how and where to train it.

    Attributes:
        derived: what follows from the options and is asked for many times, by name. A copy starts without it, because
            its options may be changed.
    """

    dataset: DatasetSettings
    split: Choice = field(default_factory=lambda: {"name": "random"})
    regime: Choice
    scaling: Choice
    encoding: Choice = field(default_factory=lambda: {"name": "onehot"})
    fit_on: Literal["all", "train"] = option(
        "all",
        "rows that imputation and scaling are fitted on: all (the paper) or train (no leak)",
    )
    pretrain: PretrainSettings
    corruption: Choice
    selection: Choice
    views: ViewsSettings
    loss: Choice
    method: Choice
    cotrain: CotrainSettings
    finetune: FinetuneSettings
    network: NetworkSettings
    recipe: str = option("paper", "named defaults: paper or practical")
    seed: int = option(
        0, "seed of every random stream", "[0, inf)", aliases=("random_state",)
    )
    metric: str | None = option(
        None,
        "metric of tables, verdicts, tuning and early stopping, such as auroc or mae; null takes the target's own",
    )
    tune: int = option(
        0,
        "tries of options in every trial, compared on its validation rows",
        "[0, 10000]",
    )
    batch_size: int | None = option(
        None, "of both phases; null leaves each phase its own", "[2, 1000000000]"
    )
    learning_rate: float | None = option(
        None, "of both phases; null leaves each phase its own", "(0, 1e12]"
    )
    max_epochs: int | None = option(
        None, "of both phases; null leaves each phase its own", "[1, 1000000]"
    )
    trials: int = option(
        5,
        "splits, initialisations and random streams; the paper repeats 30",
        "[1, 10000]",
        aliases=("n_trials",),
    )
    trainer: TrainerSettings
    logger: LoggerSettings
    paths: PathSettings = field(default_factory=PathSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    chunk: ChunkSettings = field(default_factory=ChunkSettings)
    sweeps: str | None = option(None, "file of cells: a name in sweeps/, or a path")
    reference: str | None = option(
        None,
        "competitor that the answer compares all others with, such as scarf; null takes no pre-training",
    )
    plan: bool = option(
        False, "train nothing; show what there is to do and how long it takes"
    )
    workers: int | None = option(
        None,
        "processes of this machine that train at once; null is one a core, if memory and work suffice",
        "[1, 4096]",
        aliases=("n_jobs", "num_workers"),
    )
    time_limit: str | None = option(
        None,
        "time after which training ends, such as 90s, 10min or 2h; the same command goes on",
    )
    force: bool = option(
        False, "train finished cells again and set aside what they have"
    )
    keep_weights: bool = option(
        False, "keep the fine-tuned networks beside the results"
    )
    keep_predictions_mb: float = option(
        20,
        "megabytes of a cell's test predictions to keep at most, for later metrics and figures",
        "[0, inf)",
    )
    objective: str = option(
        "validation_error",
        "what hydra/sweeper=optuna searches by, and a job returns to another sweeper: the mean of it or of a metric",
    )
    plugins: list[str] = option(
        [], "modules of your own parts; on the command line only"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_limit is not None:
            # Refused with the other options, before anything trains.
            seconds_of(self.time_limit)
        # No field, because it is no option.
        self.derived: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy, without what follows from the options."""
        return {**vars(self), "derived": {}}

    def recorded(self) -> dict[str, Any]:
        """All options, as a store and the views of a cell may show them to anybody."""
        return asdict(replace(self, logger=self.logger.without_secrets()))

    @property
    def seconds_limit(self) -> float | None:
        """The time limit in seconds."""
        return None if self.time_limit is None else seconds_of(self.time_limit)


SHORTHANDS = tuple(
    name for name in options_of(Config) if name in options_of(FitSettings)
)
"""Options that stand for ``pretrain.NAME`` and ``finetune.NAME``. A phase that sets its own value keeps it."""


def within_max_epochs(config: Config, given: Iterable[str]) -> Config:
    """The configuration in which numbers of epochs that the user set are the largest, whatever a recipe says.

    A recipe's ``min_steps`` would train beyond them. An epoch has a step at least, so that as many steps as there are
    epochs never do. So would a recipe's fixed length (``fixed_below``), which gives way.

    Args:
        given: the names of the options that the user set.
    """
    names = {name.lstrip("+") for name in given}
    capped: dict[str, Any] = {}
    for phase in ("pretrain", "finetune"):
        settings: FitSettings = getattr(config, phase)
        is_set = not names.isdisjoint({f"{phase}.max_epochs", "max_epochs"})
        changes: dict[str, Any] = {}
        # Whoever sets both numbers means both.
        if is_set and f"{phase}.min_steps" not in names:
            changes["min_steps"] = min(settings.min_steps, settings.max_epochs)
        sets_length = not names.isdisjoint(
            {f"{phase}.fixed_below", f"{phase}.fixed_steps"}
        )
        if is_set and isinstance(settings, FinetuneSettings) and not sets_length:
            changes["fixed_below"] = 0
        if changes:
            capped[phase] = replace(settings, **changes)
    return replace(config, **capped) if capped else config
