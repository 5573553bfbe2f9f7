"""From the parameters of an estimator to its cell, and from X and y to a table."""

import warnings
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from hydra import compose
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf

from ..data.columns import Advice
from ..data.reading import ReadingOptions
from ..data.splits import split_values
from ..data.table import Table
from ..data.targets import Classes, ReadTarget, Target, read_target
from ..data.untyped import read_table
from ..errors import UsageError
from ..options import Config, check_combination, unused_options
from ..options.axes import OF_THE_RUN
from ..options.combinations import check_target, is_in
from ..options.settings import DatasetSettings
from ..sweeping.folders import CONF
from ..sweeping.hydra import hydra_started, read_config
from .model import Model, why_no_model

Weights = NDArray[np.float64] | None
"""The weights of the rows in training ``(n,)``; None if all weigh the same."""
SOURCE = "X"
BY_NOTHING = ("random", "stratified")
"""Splits that need no column."""
OF_A_FILE = ("encoding", "id", "name", "path", "separator", "source", "target", "unlabelled")
OF_THE_COMMAND = {*OF_THE_RUN, *(f"dataset.{option}" for option in OF_A_FILE)} - {"trainer", "recipe"}
"""Options of ``train.py`` that mean nothing to an estimator."""
PARAMETERS = {
    "trials": "n_trials",
    "seed": "random_state",
    "trainer.accelerator": "device",
    "finetune.class_weight": "class_weight",
    "metric": "metric",
    "dataset.weight": "sample_weight in fit",
}
"""Options that an estimator has as parameters."""


def config_of(
    given: Mapping[str, Any], parameters: Mapping[str, Any], *, estimator: str, kind: type[Target] | None
) -> Config:
    """The configuration of a cell that ends with networks for this kind of target, or with encoders alone (None).

    ``given`` are choices of axes and other options by their names on the command line, ``parameters`` those options
    that `PARAMETERS` lists, ``estimator`` is the name of the class, for messages.
    """
    for option in given:
        if option in PARAMETERS:
            raise UsageError(f"options: {option} is a parameter of its own; set {PARAMETERS[option]}.")
        if is_in(option, OF_THE_COMMAND):
            raise UsageError(f"options: {option} belongs to train.py; leave it out.")
    plugins = [str(name) for name in given.get("plugins", ())]
    groups = {name: value for name, value in given.items() if "." not in name and (CONF / name).is_dir()}
    for name, value in groups.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} must be the name of an option, not {value!r}; for none it is 'none'.")
    # The source of a plugin may change between fits, so its options are not remembered.
    composed = _composed if not plugins else _composed.__wrapped__
    config = deepcopy(composed(tuple(f"{name}={value}" for name, value in groups.items()), tuple(plugins)))
    OmegaConf.set_struct(config, False)
    kept = {"dataset.path": "X", "plugins": plugins, "keep_weights": True, "keep_predictions_mb": 0}
    for name, value in {**given, **parameters, **kept}.items():
        if name not in groups:
            OmegaConf.update(config, name, list(value) if isinstance(value, tuple) else value, force_add=True)
    chosen = read_config(config)
    check_combination(chosen)
    if kind is not None:
        if why := why_no_model(chosen):
            raise UsageError(f"{estimator} cannot use this: {why}; choose another method.")
        check_target(chosen, kind)
    unused = unused_options(chosen)
    for option in given:
        if is_in(option, unused):
            raise UsageError(f"{option} is set, but has no effect on training with these parameters; leave it out.")
    return chosen


@cache
def _composed(overrides: tuple[str, ...], plugins: tuple[str, ...]) -> DictConfig:
    with hydra_started(plugins):
        return compose("train", overrides=["dataset=csv", *overrides])


def table_of(
    frame: pd.DataFrame, target: ReadTarget, config: Config, *, is_plain: bool, weights: Weights = None
) -> Table:
    """The table that a file with these columns would be; the numbers of an array, ``is_plain``, are taken as they are.

    Notes on how it was read become warnings.
    """
    split_by, frame = _split_by(frame, config)
    if is_plain:
        kinds = [False] * frame.shape[1]
        table = Table.from_frame(frame, target, categorical=kinds, name=SOURCE, source=SOURCE, split_by=split_by)
    else:
        options, named = _reading_options(config.dataset, frame), {"name": SOURCE, "source": SOURCE}
        table = read_table(frame, target, options, **named, split_by=split_by, looks_for_leaks=False)
    for note in table.notes:
        warnings.warn(note.in_python if isinstance(note, Advice) else note, UserWarning, stacklevel=3)
    return table.weighted(weights)


def table_for(encoders: Model, frame: pd.DataFrame, target: ReadTarget, config: Config, weights: Weights) -> Table:
    """The table of rows as the trained encoders of a model read them."""
    split_by, frame = _split_by(frame, config)
    reader = encoders.description.reader
    columns = zip(reader.columns, reader.values(frame).T, strict=True)
    table = Table.of(columns, target, name=SOURCE, source=SOURCE, split_by=split_by)
    return replace(table, reader=reader).weighted(weights)


def without_labels(frame: pd.DataFrame, config: Config, *, is_plain: bool) -> Table:
    """The table of rows without labels, with one class that has no name."""
    two = pd.Series(np.arange(len(frame)) % 2, index=frame.index, name="none")  # a table needs two classes to be read
    table = table_of(frame, read_target(two, SOURCE), config, is_plain=is_plain)
    return replace(table, labels=np.zeros(len(frame), dtype=np.int64), target=Classes(("",)))


def target_of(y: NDArray[Any], is_known: NDArray[np.bool_], config: Config, kind: type[Target]) -> ReadTarget:
    """The labels y ``(n,)`` as this kind of target, missing where they are not known."""
    labels = pd.Series(y, name="y").astype(object).where(is_known, None).infer_objects()
    given = config.dataset.target_kind or (kind.name if kind is not Classes else None)
    read = read_target(labels, SOURCE, given, decimal=config.dataset.decimal, is_raw=True)
    if not isinstance(read.target, kind):
        raise UsageError(
            f"y holds {labels.nunique()} different numbers, which look like a quantity and not like classes; use "
            'ScarfRegressor, or set options={"dataset.target_kind": "classes"}.'
        )
    return read


def _split_by(frame: pd.DataFrame, config: Config) -> tuple[Weights, pd.DataFrame]:
    """The values that the rows are split by, and the other columns."""
    kind, column = config.split["name"], config.split.get("column")
    if kind in BY_NOTHING:
        return None, frame
    if kind == "files":
        raise UsageError("split=files has no meaning for an estimator; use split=column with a column of X.")
    if column not in frame.columns:
        raise UsageError(f"split={kind} goes by a column of X: set options={{'split.column': NAME}}, not {column!r}.")
    return split_values(kind, frame[column], SOURCE), frame.drop(columns=column)


def _reading_options(asked: DatasetSettings, frame: pd.DataFrame) -> ReadingOptions:
    given = {name: tuple(getattr(asked, name) or ()) for name in ("drop", "dates", "categorical", "numeric", "text")}
    for option, columns in given.items():
        for column in columns:
            if column not in frame.columns:
                raise UsageError(f"dataset.{option} names {column!r}, which is not a column of {SOURCE}.")
    return ReadingOptions(**given, decimal=asked.decimal)
