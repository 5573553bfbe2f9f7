"""Options of modules and data modules: their forms, and the options that a module refuses."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..engine.stack_modules import Cotraining, Pretraining, StackModule
from ..errors import UsageError
from ..options import Config
from ..options.axes import OF_THE_RUN
from ..options.combinations import is_in
from ..sweeping.compose import Composer, overrides_of_options

Options = str | Sequence[str]
"""Options as text, ``"corruption=mean loss=barlow_twins"``, or as a list of such words."""

OF_THE_TABLE = ("dataset", "split", "regime", "scaling", "encoding", "features", "fit_on", "seed", "paths")
"""Options of a data module. All others are a module's."""
OF_THE_LOOP = (
    "fixed_below", "fixed_below_numbers", "fixed_steps", "fold_caution", "fold_steps", "folds", "gradient_clip",
    "metric", "min_steps", "monitor", "patience", "restore_best", "ties", "validate_every",
)  # fmt: skip
"""Options of a phase that the Trainer's arguments and callbacks replace in Lightning's loop."""
OF_FINETUNING = ("cotrain", "finetune", "method", "network.head")
"""Options that a pre-training does not use."""
OF_THE_COMMAND = {*OF_THE_RUN} - {"recipe"}
"""Options that mean nothing to Lightning's loop."""
OF_HEADS = ("network.head", "network.pretrain_head", "network.weight_init")
"""Options of ``network`` that remain where the encoder is a module of the user's own."""


def overrides_of(options: Options, keywords: Mapping[str, Any]) -> tuple[str, ...]:
    """Options as on the command line, ``NAME=VALUE`` each.

    Args:
        options: as text, or a list.
        keywords: whose values may be dictionaries: ``corruption={"name": "mean", "rate": 0.3}``.

    Raises:
        UsageError: one of them is no option, or they are written in another way.
    """
    words = shlex.split(options) if isinstance(options, str) else map(str, options)
    overrides = (*words, *overrides_of_options(keywords))
    for override in overrides:
        if "=" not in override:
            raise UsageError(
                f"{override!r} is no option. Options are keywords, corruption='mean', which a dictionary gives as "
                "**options; a text, 'corruption=mean'; or a list, ['corruption=mean']."
            )
    return overrides


def name_of(option: str) -> str:
    """The name of an option, such as ``corruption.rate``."""
    return option.partition("=")[0].lstrip("+")


def check_options(module: StackModule, options: Sequence[str], *, has_own_encoder: bool) -> None:
    """Refuse options that a module does not have, or that do not have this value.

    Args:
        module: of Lightning's loop.
        options: as `overrides_of` gives them.
        has_own_encoder: its encoder is a module of the user's.

    Raises:
        UsageError: see above.
    """
    kind, pretrains = type(module).__name__, isinstance(module, Pretraining)
    for option in options:
        name = name_of(option)
        refusals = (
            (is_in(name, (*OF_THE_TABLE, "trials")), "is for the table; give it to the data module"),
            (name.rpartition(".")[2] in OF_THE_LOOP, f"is not for {kind}: pl.Trainer's arguments and callbacks decide"),
            (is_in(name, OF_THE_COMMAND), f"is not for {kind}: train.py takes it"),
            (pretrains and is_in(name, OF_FINETUNING), "has no effect on a pre-training; give it to FinetuneModule"),
            (pretrains and option == "pretrain=none", "trains nothing; name another pre-training, or none at all"),
            (option == "method=cotrain" and not isinstance(module, Cotraining), "has its own module: CotrainModule"),
            (
                has_own_encoder and is_in(name, ["network"]) and not is_in(name, OF_HEADS),
                "has no effect on an encoder of your own; leave it out",
            ),
        )
        for is_refused, reason in refusals:
            if is_refused:
                raise UsageError(f"{option} {reason}.")
    if options:
        composed(options)


def composed(options: Sequence[str]) -> Config:
    """The configuration of one cell with these options.

    Raises:
        UsageError: one of them is unknown, or its value is not allowed.
    """
    return Composer(options)(tuple(options))
