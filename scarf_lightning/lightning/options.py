"""Options of modules and data modules: how they are written, and what is no option of a module."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..options import Config
from ..options.axes import OF_THE_RUN
from ..options.combinations import is_in
from ..sweeping.composed import overrides_of_options
from ..sweeping.composer import composing
from ..sweeping.overrides import spelled_out

Options = str | Sequence[str] | Mapping[str, Any]
"""Options as text, ``"corruption=mean loss=barlow_twins"``, as a list of such words, or as a dictionary, whose values
may be dictionaries: ``{"corruption": {"name": "mean", "rate": 0.3}}``. OmegaConf's are dictionaries too."""

OF_THE_TABLE = ("dataset", "split", "regime", "scaling", "encoding", "features", "fit_on", "seed", "paths")
"""Options of a data module. All others are a module's."""
OF_THE_LOOP = (
    "fixed_below", "fixed_below_numbers", "fixed_steps", "gradient_clip", "metric", "min_steps", "monitor", "patience",
    "restore_best", "ties", "validate_every",
)  # fmt: skip
"""Options of a phase in the place of which Lightning's loop has the Trainer's arguments and callbacks."""
OF_FINETUNING = ("cotrain", "finetune", "method", "network.head")
"""Options that a pre-training does not use."""
OF_THE_COMMAND = {*OF_THE_RUN} - {"recipe"}
"""Options that mean nothing to Lightning's loop."""
OF_HEADS = ("network.head", "network.pretrain_head", "network.weight_init")
"""Options of ``network`` that remain where the encoder is a module of the user's own."""


def overrides_of(options: Options, keywords: Mapping[str, Any]) -> tuple[str, ...]:
    """Options as on the command line, ``NAME=VALUE`` each.

    Raises:
        UsageError: one of them is no option, or they are written in another way.
    """
    if isinstance(options, str):
        overrides = shlex.split(options)
    elif isinstance(options, Mapping):
        overrides = overrides_of_options(options)
    else:
        overrides = [str(option) for option in options]
    overrides += overrides_of_options(keywords)
    for override in overrides:
        if "=" not in override and not override.startswith("~"):
            raise UsageError(
                f"{override!r} is no option. Options are keywords, corruption='mean'; a text, 'corruption=mean'; "
                "a list, ['corruption=mean']; or a dictionary, {'corruption': 'mean'}."
            )
    return tuple(overrides)


def name_of(option: str) -> str:
    """The name of an option, such as ``corruption.rate``."""
    return option.partition("=")[0].lstrip("+~")


def check_options(kind: str, options: Sequence[str], *, pretrains: bool, cotrains: bool, has_own_encoder: bool) -> None:
    """Refuse options that a module does not have, or that do not have this value.

    Args:
        kind: of the module, for sentences.
        options: as `overrides_of` gives them.
        pretrains, cotrains: what the module does.
        has_own_encoder: the user's own module is its encoder.

    Raises:
        UsageError: see above.
    """
    for option in options:
        name = name_of(option)
        refusals = (
            (is_in(name, OF_THE_TABLE), "is an option of the table; give it to the data module"),
            (name == "trials", "is an argument of the data module, trials=N"),
            (name.rpartition(".")[2] in OF_THE_LOOP, f"is not for {kind}: pl.Trainer's arguments and callbacks decide"),
            (is_in(name, OF_THE_COMMAND), f"is not for {kind}: train.py takes it"),
            (pretrains and is_in(name, OF_FINETUNING), "has no effect on a pre-training; give it to FinetuneModule"),
            (pretrains and option == "pretrain=none", "trains nothing; name another pre-training, or none at all"),
            (option == "method=cotrain" and not cotrains, "has a module of its own: CotrainModule"),
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
    given = spelled_out(options)
    with composing(given) as composer:
        return composer(tuple(given))
