"""LightningDataModules for Lightning's own loop: of a table, and of a dataset or a task on OpenML."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd
import pytorch_lightning as pl
import torch

from ..data.datamodule import EVALUATION_ROWS, Batch, Examples, StackDataModule, batch_bounds
from ..data.sources import open_source
from ..data.table import Table
from ..data.targets import Labels, read_target
from ..engine.hardware import Hardware
from ..engine.stack import Stack
from ..errors import UsageError
from ..estimators.preparing import SOURCE, read_frame
from ..methods.method import SingleFitMethod
from ..options import Config
from ..options.combinations import is_in
from ..options.settings import FitSettings
from ..sweeping.composer import composing
from ..sweeping.overrides import answer_of_file, spelled_out
from ..training import CellTraining
from ..trying import check_used
from .modules import ONE_PROCESS, CotrainModule, FinetuneModule, InOneProcess, PlainModule, PretrainModule

OF_THE_TABLE = ("dataset", "split", "regime", "scaling", "encoding", "features", "fit_on", "seed", "paths")
"""Options of a data module. All others are a module's."""
OF_THE_LOOP = (
    "fixed_below", "fixed_below_numbers", "fixed_steps", "gradient_clip", "metric", "min_steps", "monitor", "patience",
    "restore_best", "ties", "validate_every",
)  # fmt: skip
"""Options of a phase in the place of which Lightning's loop has the Trainer's arguments and callbacks."""
LENGTHS = ("max_epochs", "max_steps")
"""Options that give Lightning's loop the length of schedules. The Trainer decides when training ends."""
OF_FINETUNING = ("cotrain", "finetune", "method", "network.head")
"""Options that a pre-training does not use."""
OF_THE_COMMAND = (
    "cache", "chunk", "force", "keep_predictions_mb", "keep_weights", "logger", "objective", "plan", "reference",
    "sweeps", "time_limit", "trainer", "tune", "workers",
)  # fmt: skip
"""Options that mean nothing to Lightning's loop."""
PRECISIONS = ("32-true", "64-true", "bf16-mixed")


class TableDataModule(InOneProcess, pl.LightningDataModule):
    """A table of one's own, for Lightning's own loop.

    A batch holds the same number of rows for each of ``T`` trials, which have splits, networks and random numbers of
    their own. It is the batch that a cell of ``train.py`` with the same options sees.

    Args:
        table: a file, or a frame.
        target: the column to predict.
        options: of the table, as on the command line: ``["scaling=minmax", "regime=few", "regime.labels=100"]``.
        trials: T.

    Raises:
        UsageError: an option belongs to a module, or is unknown; or the table cannot be read.
    """

    def __init__(
        self, table: "str | Path | pd.DataFrame", target: str, options: Sequence[str] = (), *, trials: int = 1
    ) -> None:
        self._frame: pd.DataFrame | None = None
        if isinstance(table, pd.DataFrame):
            if target not in table.columns:
                raise UsageError(f"{target} is not a column of the table, which has {', '.join(map(str, table))}.")
            self._frame = table
            self._target = target
            source = ["dataset=csv", f"dataset.path={SOURCE}"]
        else:
            source = answer_of_file(str(table), target)[1:]
        self._begin(source, options, trials)

    def _begin(self, source: Sequence[str], options: Sequence[str], trials: int) -> None:
        super().__init__()
        # An option that has no effect here would be set and ignored, so each is given where it counts.
        for option in options:
            name = _name(option)
            if name == "trials":
                raise UsageError(f"{option}: the number of trials is an argument, trials=N.")
            if not is_in(name, OF_THE_TABLE) and name != "recipe":
                raise UsageError(f"{option} is no option of a table; give it to the module, as PretrainModule([...]).")
        self.trials = tuple(range(trials))
        self._options = [*source, *options, f"trials={trials}"]
        # The stacks of the modules, which outlive a call of the trainer.
        self._stacks: WeakKeyDictionary[PlainModule, Stack] = WeakKeyDictionary()
        self._stack: Stack | None = None

    def setup(self, stage: str) -> None:
        """Make the networks of the trainer's module."""
        # Before the callbacks' turn, some of which freeze or average the networks.
        assert self.trainer is not None
        module = self.trainer.lightning_module
        if not isinstance(module, PlainModule):
            raise UsageError(
                f"{type(self).__name__} serves PretrainModule, CotrainModule and FinetuneModule, and not "
                f"{type(module).__name__}."
            )
        self.equip(module)

    def prepare_data(self) -> None:
        """Read the table, and download it first if need be."""
        _ = self.table

    @cached_property
    def table(self) -> Table:
        """The table as it was read. Notes on that become warnings."""
        config = _composed(self._options)
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
            stack = self._built(module, hardware)
            if weights is not None:
                module.load_state_dict(weights)
            self._stacks[module] = stack
        self._stack = stack
        # Not those of the trainer: one that trains two epochs, and another that goes on from its checkpoint, are at the
        # same places of the schedules as one that trains on.
        module.scheduled_epochs = module.settings.scheduled_epochs(module.steps_per_epoch)

    @property
    def test_labels(self) -> Labels:
        """The labels of the test rows, ``(T, n)``."""
        stack = self._served
        return stack.table.labels[stack.data.test]

    def train_dataloader(self) -> "Batches":
        data = self._served.datamodule
        assert self.trainer is not None
        return TrainingBatches(data, self.trainer)

    def val_dataloader(self) -> "Batches":
        data = self._served.datamodule
        return Batches(data, data.validation_examples, data.n_validation_batches)

    def test_dataloader(self) -> "Batches":
        """The test rows, in the order of `test_labels`."""
        stack = self._served
        # With labels, though nothing learns from them: a batch has the same fields in all loops.
        examples = stack.examples(stack.data.test, self.test_labels)
        bounds = batch_bounds(len(examples), EVALUATION_ROWS)

        def parts() -> Iterator[Examples]:
            for start, end in bounds:
                yield examples.between(start, end)

        return Batches(stack.datamodule, parts, len(bounds))

    def predict_dataloader(self) -> "Batches":
        return self.test_dataloader()

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        """The batch, which is on the device already."""
        # Lightning would look through its fields one by one.
        return batch

    @property
    def _served(self) -> Stack:
        if self._stack is None:
            raise UsageError("The data module has no batches before a module is set up; use it with a pl.Trainer.")
        return self._stack

    def _hardware(self) -> Hardware:
        """The trainer's device and number type; the processor and float32 without a trainer."""
        if self.trainer is None:
            return Hardware(torch.device("cpu"))
        if self.trainer.world_size > 1:
            raise UsageError(ONE_PROCESS)
        if self.trainer.precision not in PRECISIONS:
            raise UsageError(f"precision={self.trainer.precision!r} is not served; use {', '.join(PRECISIONS)}.")
        return Hardware(self.trainer.strategy.root_device, self.trainer.precision)

    def _built(self, module: PlainModule, hardware: Hardware) -> Stack:
        """The stack of a module, with its networks and batches."""
        config = _composed([*self._options, *_of_module(module)])
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
        if isinstance(module, PretrainModule):
            pretext = training.parts.pretext
            if pretext is None:
                raise UsageError("pretrain=none trains nothing; leave it out, or name another pre-training.")
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
            _check_encoder(module, stack)
            # Of the cell as it is trained: labels that are numbers are not smoothed.
            settings = training.config.finetune
            _check_lengths(module, settings)
            stack.begin_finetuning(module, settings, method.examples(stack), module.pretrained, supervision=method)
        return stack


class OpenMLDataModule(TableDataModule):
    """A dataset of OpenML, or a task with its own splits, for Lightning's own loop.

    Args:
        task: the number of a task; trial t has its split t.
        dataset: the number of a dataset, in place of a task.
        options, trials: as `TableDataModule` takes them.

    Raises:
        UsageError: neither or both numbers are given, or as by `TableDataModule`.
    """

    def __init__(
        self, *, task: int | None = None, dataset: int | None = None, options: Sequence[str] = (), trials: int = 1
    ) -> None:
        if (task is None) == (dataset is None):
            raise UsageError(
                "OpenMLDataModule takes the number of a task or of a dataset: OpenMLDataModule(task=10101)."
            )
        self._frame = None
        number = f"dataset.id={dataset}" if task is None else f"dataset.task={task}"
        self._begin(["dataset=openml", number], options, trials)


class Batches:
    """A loader of the mini-batches of a pass.

    Args:
        data: fetches rows on the device.
        start: begins a pass.
        length: mini-batches in a pass.
    """

    def __init__(self, data: StackDataModule, start: Callable[[], Iterator[Examples]], length: int) -> None:
        self._data = data
        self._start = start
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Batch]:
        # A fresh pass: each epoch draws its own order of the rows.
        return map(self._data.fetch, self._start())


class TrainingBatches(Batches):
    """A loader of an epoch's mini-batches, which Lightning's checkpoints keep the state of.

    A run that goes on within an epoch sees the batches that are left of it, in their order.

    Args:
        data: fetches rows on the device.
        trainer: says how many batches of an epoch are done.
    """

    def __init__(self, data: StackDataModule, trainer: pl.Trainer) -> None:
        super().__init__(data, self._pass, data.steps_per_epoch)
        self._trainer = trainer
        self._before = data.order.state()
        self._is_loaded = False

    def state_dict(self) -> dict[str, Any]:
        """The place of the random stream before it drew the order of the current epoch."""
        return {"order": self._before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._before = state["order"]
        self._is_loaded = True

    def _pass(self) -> Iterator[Examples]:
        # Begins with the first batch: Lightning makes passes that it does not use. It counts from 0, from -1 before.
        n_done = self._trainer.fit_loop.batch_idx + 1
        if self._is_loaded and n_done:
            self._data.order.go_on(self._before)
        else:
            n_done = 0
            self._before = self._data.order.state()
        self._is_loaded = False
        yield from islice(self._data.training_examples(), n_done, None)


def _name(option: str) -> str:
    return option.partition("=")[0].lstrip("+~")


def _of_module(module: PlainModule) -> list[str]:
    """The options of a module, with its method or pre-training.

    Raises:
        UsageError: one of them is the table's, the trainer's or the command's.
    """
    kind = type(module).__name__
    for option in module.options:
        name = _name(option)
        if is_in(name, OF_THE_TABLE):
            raise UsageError(f"{option} is an option of the table; give it to the data module.")
        if name.rpartition(".")[2] in OF_THE_LOOP:
            raise UsageError(f"{option} is not for {kind}: pl.Trainer's arguments and callbacks decide this.")
        if is_in(name, OF_THE_COMMAND):
            raise UsageError(f"{option} is not for {kind}: train.py takes it.")
        if isinstance(module, PretrainModule) and is_in(name, OF_FINETUNING):
            raise UsageError(f"{option} has no effect on a pre-training; give it to FinetuneModule.")
    options = list(module.options)
    # The class says what is trained, so that no option need repeat it.
    if isinstance(module, CotrainModule):
        return [*options, "method=cotrain", "pretrain=none"]
    if any(option == "method=cotrain" for option in options):
        raise UsageError("method=cotrain has a module of its own: CotrainModule.")
    if isinstance(module, FinetuneModule):
        options.append("pretrain=none")
    return options


def _check_lengths(module: PlainModule, settings: FitSettings) -> None:
    """Refuse the length of schedules where none needs it."""
    schedules = {value for name, value in vars(settings).items() if name.endswith("schedule")}
    if schedules != {"constant"}:
        return
    for option in module.options:
        if _name(option).rpartition(".")[2] in LENGTHS:
            raise UsageError(
                f"{option} is the length of schedules, and {type(module).__name__} has none here; how long it trains "
                "is pl.Trainer(max_epochs=...)."
            )


def _composed(options: Sequence[str]) -> Config:
    """The configuration of one cell with these options."""
    given = spelled_out(options)
    with composing(given) as composer:
        return composer(tuple(given))


def _check_encoder(module: FinetuneModule, stack: Stack) -> None:
    """Refuse an encoder that was pre-trained on other columns, by another network, or for another number of trials."""
    if module.pretrained is None:
        return
    # Compared by shapes beforehand: torch's own refusal would name layers, and no column or option.
    wanted = {name: tensor.shape for name, tensor in stack.networks.encoder(stack.trials).state_dict().items()}
    for name, shape in wanted.items():
        if name not in module.pretrained or module.pretrained[name].shape != shape:
            raise UsageError(
                "The encoder is not one for this table and these options: it needs the same columns, network and "
                "number of trials as its pre-training had."
            )
