"""LightningDataModules for Lightning's own loop: of a table, and of a dataset or a task on OpenML."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import pytorch_lightning as pl
import torch

from ..data.datamodule import Batch, Examples, StackDataModule, batch_bounds
from ..data.reading.frames import path_or_frame
from ..data.reading.roles import read_target
from ..data.sources import open_source
from ..data.table import Table
from ..data.targets import Labels, Number
from ..data.trials import EVALUATION_ROWS
from ..engine.hardware import Hardware
from ..engine.lifting import as_it_is
from ..engine.stack import Stack
from ..errors import UsageError, unknown_name
from ..estimators.preparing import SOURCE, read_frame
from ..methods import SingleFitMethod
from ..networks import Columns
from ..options import build_parts
from ..options.combinations import is_in
from ..options.settings import FitSettings
from ..sweeping.compose import overrides_of_options
from ..training import CellTraining
from ..trying import check_used
from .modules import FinetuneModule, PlainModule, PretrainModule, check_shapes
from .options import OF_THE_TABLE, Options, composed, name_of, overrides_of

LENGTHS = ("max_epochs", "max_steps")
"""Options that give Lightning's loop the length of schedules. The Trainer decides when training ends."""
PRECISIONS = ("32-true", "64-true", "bf16-mixed")


class TableDataModule(pl.LightningDataModule):
    """A table of one's own, for Lightning's own loop.

    A batch holds the same number of rows for each of ``T`` trials, which have splits, networks and random numbers of
    their own. It is the batch that a cell of ``train.py`` with the same options sees. ``seed=N`` is the seed of all of
    them; ``pl.seed_everything`` changes none.

    Args:
        table: a file, or a table of any library.
        target: the column to predict.
        options: of the table, as `PretrainModule` takes them: ``"scaling=minmax regime=few regime.labels=100"``.
        trials: T. The batches of one trial lack its axis.
        keywords: more options.

    Raises:
        UsageError: an option belongs to a module, or is unknown; or the table cannot be read.
    """

    def __init__(
        self,
        table: Any,
        target: str,
        options: Options = (),
        *,
        trials: int = 1,
        **keywords: Any,
    ) -> None:
        self._frame: pd.DataFrame | None = None
        table = path_or_frame(table)
        if isinstance(table, pd.DataFrame):
            if target not in table.columns:
                fault = f"{target!r} is not a column of the table"
                raise UsageError(unknown_name(fault, target, map(str, table), "its columns", write=repr))
            self._frame = table
            self._target = target
            source = ["dataset=csv", f"dataset.path={SOURCE}"]
        else:
            source = ["dataset=csv", *overrides_of_options({"dataset.path": table, "dataset.target": target})]
        self._begin(source, overrides_of(options, keywords), trials)

    def _begin(self, source: Sequence[str], table_options: Sequence[str], trials: int) -> None:
        super().__init__()
        # An option that has no effect here would be set and ignored, so each is given where it counts.
        for option in table_options:
            if not is_in(name_of(option), (*OF_THE_TABLE, "recipe")):
                raise UsageError(
                    f"{option} is no option of a table; give it to the module, as PretrainModule([...]). The number of "
                    "trials is an argument, trials=N."
                )
        if table_options:
            composed([*source, *table_options])
        # Lightning compares them with each argument that it does not ignore, and a table equals nothing. The module's
        # are called options.
        all_options = [*table_options, f"trials={trials}"]
        self.save_hyperparameters({"table_options": all_options}, ignore=[*signature(type(self)).parameters])
        self.trials = tuple(range(trials))
        self._options = [*source, *all_options]
        # The stacks of the modules, which outlive a call of the trainer.
        self._stacks: WeakKeyDictionary[PlainModule, Stack] = WeakKeyDictionary()
        self._stack: Stack | None = None

    def setup(self, stage: str) -> None:
        """Make the networks of the trainer's module."""
        # Before the callbacks' turn, some of which freeze or average the networks.
        module = getattr(self.trainer, "lightning_module", None)
        if not isinstance(module, PlainModule):
            raise UsageError(
                f"{type(self).__name__} is set up by a pl.Trainer with a PretrainModule, CotrainModule or "
                "FinetuneModule; without a trainer, call equip(module)."
            )
        self.equip(module)

    @cached_property
    def table(self) -> Table:
        """The table as it was read. Notes on that become warnings."""
        config = composed(self._options)
        if self._frame is None:
            source = open_source(**vars(config.dataset), openml_cache=config.paths.openml, split=config.split)
            table = source.read().table
        else:
            kind, decimal = config.dataset.target_kind, config.dataset.decimal
            target = read_target(self._frame[self._target], SOURCE, kind, decimal=decimal, is_raw=True)
            table = read_frame(self._frame.drop(columns=[self._target]), target, config)
        for note in table.notes:
            warnings.warn(str(note), UserWarning, stacklevel=2)
        return table

    def equip(self, module: PlainModule) -> None:
        """Make the networks of a module for this table, if it has none yet, and serve its batches.

        Raises:
            UsageError: an option of the module is not one, or the trainer's devices or number type are not served.
        """
        hardware = self._hardware()
        stack = self._stacks.get(module)
        # A table lies on one device in one number type; a trainer of another kind needs another stack.
        if stack is None or stack.hardware != hardware:
            weights = module.state_dict() if module.is_built else None
            stack = self._build_stack(module, hardware)
            if weights is not None:
                check_shapes("module", weights, module)
                module.load_state_dict(weights)
            self._stacks[module] = stack
        self._stack = stack
        # Not those of the trainer: one that trains two epochs, and another that goes on from its checkpoint, are at the
        # same places of the schedules as one that trains on.
        module.scheduled_epochs = module.settings.scheduled_epochs(module.steps_per_epoch)

    @property
    def n_encoded(self) -> int:
        """D, the columns of a row once its categories are encoded: the width that an encoder of one's own takes."""
        encoding = build_parts(composed(self._options)).encoding
        return Columns.of(encoding.columns(self.table.columns)).n_encoded

    def rows(self, frame: Any) -> torch.Tensor:
        """Later rows as `PlainModule.forward` takes them, read, imputed and scaled as the table's: ``(n, M)``.

        Several trials, each with the statistics of its own training rows, have their axis in front.

        Args:
            frame: a table of any library, with the columns of this one in any order.

        Raises:
            UsageError: a column is missing, or holds values of another kind; or no module was set up yet.
        """
        stack = self.served
        values = replace(self.table.rows_reader, columns=stack.table.columns).values(frame)
        new_table = replace(stack.table, values=values, labels=np.zeros(len(values)), target=Number(), weights=None)
        positions = np.tile(np.arange(len(values)), (len(self.trials), 1))
        rows = replace(stack, table=new_table, device_table=None).raw(positions)
        return rows[0] if len(self.trials) == 1 else rows

    @property
    def test_labels(self) -> Labels:
        """The labels of the test rows, ``(n,)``; of several trials ``(T, n)``."""
        stack = self.served
        labels = stack.table.labels[stack.data.test]
        return labels[0] if len(self.trials) == 1 else labels

    def train_dataloader(self) -> "Batches":
        data = self.served.datamodule
        return Batches(data, data.training_examples, data.steps_per_epoch)

    def val_dataloader(self) -> "Batches":
        data = self.served.datamodule
        return Batches(data, data.validation_examples, data.n_validation_batches)

    def test_dataloader(self) -> "Batches":
        """The test rows, in the order of `test_labels`."""
        stack = self.served
        # With labels, though nothing learns from them: a batch has the same fields in all loops.
        examples = stack.examples(stack.data.test, stack.table.labels[stack.data.test])
        parts = [examples.between(*bounds) for bounds in batch_bounds(len(examples), EVALUATION_ROWS)]
        return Batches(stack.datamodule, lambda: iter(parts), len(parts))

    def predict_dataloader(self) -> "Batches":
        return self.test_dataloader()

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        """The batch, which is on the device already."""
        # Lightning would look through its fields one by one.
        return batch

    @property
    def served(self) -> Stack:
        """The rows and networks of the module that was set up last."""
        if self._stack is None:
            raise UsageError("The data module has no batches before a module is set up; use it with a pl.Trainer.")
        return self._stack

    def _hardware(self) -> Hardware:
        """The trainer's device and number type; the processor and float32 without a trainer."""
        if self.trainer is None:
            return Hardware(torch.device("cpu"))
        if self.trainer.world_size > 1:
            raise UsageError(
                "All trials train in one process on one device; use devices=1, and other processes for other trials."
            )
        if self.trainer.precision not in PRECISIONS:
            raise UsageError(f"precision={self.trainer.precision!r} is not served; use {', '.join(PRECISIONS)}.")
        return Hardware(self.trainer.strategy.root_device, self.trainer.precision)

    def _build_stack(self, module: PlainModule, hardware: Hardware) -> Stack:
        """The stack of a module, with its networks and batches."""
        config = composed([*self._options, *module.options, *module.implied])
        for note in check_used([config]):
            warnings.warn(note, UserWarning, stacklevel=2)
        # A callback may watch the validation rows, whatever the recipe does without them.
        training = replace(CellTraining.prepare(config, self.table, hardware), holds_back=True)
        # The tensors of a stack have one shape for all its trials.
        if len(self.trials) > 1 and training.parts.splitting.is_ragged(self.table):
            name = config.split["name"]
            raise UsageError(f"split={name} has another number of rows in each trial; use trials=1.")
        # All trials at once, whatever the memory: a trainer has one module.
        stack = training.stack(self.trials)  # noqa: PD013 - no frame
        encoder = module.own_encoder
        if encoder is not None:
            if len(self.trials) > 1:
                raise UsageError(
                    f"{type(encoder.module).__name__} is one network; use trials=1, or write it as a Network, which is "
                    "built for each trial (docs/plugins.md)."
                )
            encoder.check(stack.networks.columns)
            stack = replace(stack, network=encoder)
        with nullcontext() if encoder is None else as_it_is(encoder.module):
            return self._begin_phase(module, stack, training)

    def _begin_phase(self, module: PlainModule, stack: Stack, training: CellTraining) -> Stack:
        """The stack, once its networks are a module's."""
        config = training.config
        if isinstance(module, PretrainModule):
            pretext = training.parts.pretext
            assert pretext is not None
            _check_lengths(module, config.pretrain)
            stack = stack.without(config.pretrain.drop)
            stack.begin_pretraining(module, config.pretrain, pretext)
        else:
            assert isinstance(module, FinetuneModule)
            method = training.parts.method
            if not isinstance(method, SingleFitMethod):
                raise UsageError(
                    f"method={method.name} is more than one fit of a network; train it by train.py or "
                    "scarf_lightning.run."
                )
            if module.own_encoder is not None and method.dropout_rate is not None:
                raise UsageError(f"method={method.name} is for networks of ours; put dropout into your encoder.")
            _check_lengths(module, config.finetune)
            # Of the cell as it is trained: labels that are numbers are not smoothed.
            stack.begin_finetuning(module, config.finetune, method.examples(stack), supervision=method)
        if module.pretrained is not None:
            check_shapes("encoder", module.pretrained, module.encoder.body)
            module.encoder.body.load_state_dict(module.pretrained)
        return stack


class OpenMLDataModule(TableDataModule):
    """A dataset of OpenML for Lightning's own loop.

    Args:
        dataset: the number of a dataset.
        options, trials, keywords: as `TableDataModule` takes them.

    Raises:
        UsageError: as by `TableDataModule`.
    """

    def __init__(self, dataset: int, options: Options = (), trials: int = 1, **keywords: Any) -> None:
        self._frame = None
        self._begin(["dataset=openml"], [f"dataset.id={dataset}", *overrides_of(options, keywords)], trials)


@dataclass(frozen=True)
class Batches:
    """A loader of the mini-batches of a pass.

    Attributes:
        data: fetches rows on the device.
        start: begins a pass.
        length: mini-batches in a pass.
    """

    data: StackDataModule
    start: Callable[[], Iterator[Examples]]
    length: int

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Batch]:
        # A fresh pass: each epoch draws its own order of the rows.
        return map(self._fetch, self.start())

    def _fetch(self, examples: Examples) -> Batch:
        batch = self.data.fetch(examples)
        return batch.map(lambda tensor: tensor[0]) if len(batch.x) == 1 else batch


def _check_lengths(module: PlainModule, settings: FitSettings) -> None:
    """Refuse the length of schedules where none needs it."""
    if {value for name, value in vars(settings).items() if name.endswith("schedule")} != {"constant"}:
        return
    for option in module.options:
        if name_of(option).rpartition(".")[2] in LENGTHS:
            raise UsageError(
                f"{option} is the length of schedules, and {type(module).__name__} has none here; how long it trains "
                "is pl.Trainer(max_epochs=...)."
            )
