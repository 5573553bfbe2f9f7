"""`Config`: all options of one cell and of the run that trains it."""

import math
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from typing import Any, Literal, TypeVar

from . import axes
from .option import Options, Values, option, options_of
from .settings import (
    CacheSettings,
    Choice,
    ChunkSettings,
    CotrainSettings,
    DatasetSettings,
    FinetuneSettings,
    FitSettings,
    LoggerSettings,
    NetworkSettings,
    PathSettings,
    PretrainSettings,
    TrainerSettings,
    ViewsSettings,
)

T = TypeVar("T")


@dataclass(kw_only=True)
class Config(Options):
    """One cell, and how and where to train it.

    Attributes:
        derived: what functions that are `derived` have made of it. A copy starts without it, because
            its options may be changed.
    """

    dataset: DatasetSettings
    split: Choice = field(default_factory=lambda: {"name": "random"})
    regime: Choice
    scaling: Choice
    encoding: Choice = field(default_factory=lambda: {"name": "onehot"})
    fit_on: Literal["all", "train"] = option(
        "all", "rows that imputation and scaling are fitted on: all (the paper) or train (no leak)"
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
    seed: int = option(0, "seed of every random stream", "[0, inf)")
    metric: str | None = option(
        None, "metric of tables, verdicts and early stopping, such as auroc or mae; null takes the target's own"
    )
    batch_size: int | None = option(None, "of both phases; null leaves each phase its own", "[2, 1000000000]")
    learning_rate: float | None = option(None, "of both phases; null leaves each phase its own", "(0, 1e12]")
    max_epochs: int | None = option(None, "of both phases; null leaves each phase its own", "[1, 1000000]")
    trials: int = option(10, "splits, initialisations and random streams; the paper repeats 30", "[1, 10000]")
    trainer: TrainerSettings
    logger: LoggerSettings
    paths: PathSettings = field(default_factory=PathSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    chunk: ChunkSettings = field(default_factory=ChunkSettings)
    sweeps: str | None = option(None, "file of cells: a name in sweeps/, or a path")
    vary: Literal["all", "one", "pairs"] = option(
        "all",
        "how swept values are combined: all with all; one, each other value alone beside the first ones; or pairs, "
        "the n-th values together",
    )
    max_cells: int | None = option(5000, "largest number of cells of a run; null sets no bound", "[1, inf)")
    reference: str | None = option(
        None, "competitor that the answer compares all others with, such as scarf; null takes no pre-training"
    )
    plan: bool = option(False, "train nothing; show what there is to do and how long it takes")
    workers: int | None = option(
        None,
        "processes of this machine that train at once; null is one a core, if memory and work suffice",
        "[1, 4096]",
    )
    force: bool = option(False, "train finished cells again and set aside what they have")
    keep_weights: bool = option(False, "keep the fine-tuned networks beside the results")
    keep_predictions_mb: float = option(
        80, "megabytes of a cell's test predictions to keep at most, for later metrics and figures", "[0, inf)"
    )
    objective: str = option(
        "validation_error",
        "what a job returns to another sweeper, such as hydra/sweeper=optuna: the mean of it or of a metric",
    )
    plugins: list[str] = option([], "modules of your own parts; on the command line only")

    def __post_init__(self) -> None:
        super().__post_init__()
        # No field, because it is no option.
        self.derived: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy, without what follows from the options."""
        return {**vars(self), "derived": {}}

    @property
    def is_pretrained(self) -> bool:
        """Whether the cell has a pre-training."""
        return self.pretrain.name != "none"

    @property
    def is_cotrained(self) -> bool:
        """Whether the cell's method has a pretext task of its own."""
        return "pretext" in axes.field_names(self.part("method"))

    @property
    def used_encoding(self) -> Choice:
        """The encoding of the cell's table. A method without a network encodes it by itself, whatever is chosen."""
        return self.encoding if "network" in self.part("method").uses else {"name": "onehot"}

    @property
    def watched_from(self) -> float:
        """The smallest number of labels, in all, with which the supervised phase of the cell stops or chooses by some
        of them; infinite if it never does."""
        settings = self.finetune
        stops_or_chooses = settings.stops_after < math.inf or settings.keeps_best
        if "finetune" in self.part("method").uses and stops_or_chooses:
            return settings.fixed_below
        return math.inf

    @property
    def may_fold(self) -> bool:
        """True if ``finetune.folds`` can choose the steps of a fit: its method can be folded, and fits on few labels
        have a fixed length."""
        return 0 < self.watched_from < math.inf and bool(self.part("method").is_folded)

    def folds_on(self, n_labels: int) -> int:
        """The folds that choose the steps of a fit on so many labels, in all; 0 if none do."""
        return self.finetune.folds or 0 if self.may_fold and n_labels < self.finetune.fixed_below else 0

    def part(self, axis: str) -> type[Any]:
        """The class of the part that the cell has on an axis.

        Raises:
            UsageError: no part of the axis has the name.
        """
        choice = getattr(self, axis)
        # The choice of an axis is settings if it has options for all of its parts.
        name = choice.get("name") if isinstance(choice, dict) else choice.name
        return axes.part(axis, name)

    def recorded(self) -> dict[str, Any]:
        """All options, as a store and the views of a cell may show them to anybody."""
        values = asdict(self)
        # The arguments of a class by _target_ may hold a key or a password.
        values["logger"]["others"] = {
            name: {axes.TARGET: section.get(axes.TARGET)} for name, section in self.logger.others.items()
        }
        return values


FIXED_LENGTH = ("fixed_below", "fixed_steps", "folds", "fold_steps")
"""Options of a fit whose length few labels decide."""
SHORTHANDS = tuple(name for name in options_of(Config) if name in options_of(FitSettings))
"""Options that set ``pretrain.NAME`` and ``finetune.NAME``. A phase that sets its own value keeps it."""


def within_max_epochs(config: Config, of_recipe: Values, user_options: Collection[str] = ()) -> Config:
    """The configuration in which the user's ``max_epochs`` is the largest number of epochs, whatever a recipe sets.

    A recipe's ``min_steps`` would train longer. It becomes at most ``max_epochs``: an epoch has at least one step. A
    recipe's fixed length (``fixed_below``) would train longer too, so it is switched off.

    Args:
        of_recipe: the options that the recipe sets. What differs from them and from the defaults, the user has set.
        user_options: options that the user has set, whatever their values.
    """
    changes: dict[str, Any] = {}
    for phase in ("pretrain", "finetune"):
        settings: FitSettings = getattr(config, phase)
        is_set = {name.removeprefix(f"{phase}.") for name in user_options}
        for name, each in options_of(type(settings)).items():
            if getattr(settings, name) != of_recipe.get(f"{phase}.{name}", each.default):
                is_set.add(name)
        if "max_epochs" not in is_set:
            continue
        limits: dict[str, Any] = {}
        # Whoever sets both numbers means both.
        if "min_steps" not in is_set:
            limits["min_steps"] = min(settings.min_steps, settings.max_epochs)
        if phase == "finetune" and is_set.isdisjoint(FIXED_LENGTH):
            limits["fixed_below"] = 0
        changes[phase] = replace(settings, **limits)
    return replace(config, **changes)


def derived(function: Callable[[Config], T]) -> Callable[[Config], T]:
    """A function of a configuration, whose result is kept with it and made once: a sweep looks it up thousands of
    times."""

    @wraps(function)
    def look_up(config: Config) -> T:
        if function not in config.derived:
            config.derived[function] = function(config)
        result: T = config.derived[function]
        return result

    return look_up
