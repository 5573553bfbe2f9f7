"""Trained encoders, read from the store."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ..config import Config, build_parts, read, unused_options
from ..config.axes import OF_THE_RUN
from ..config.combinations import method_facts
from ..data.datamodule import EVALUATION_ROWS
from ..data.device_table import DeviceTable
from ..data.preprocessing import Preprocessing
from ..data.reading import Reader
from ..data.table import Column, Table
from ..engine.encoder import Encoder
from ..engine.hardware import Hardware
from ..engine.networks import Networks
from ..errors import UsageError
from ..networks import Columns
from ..randomness import Streams
from ..results import PretrainingStore, StoredCell, StoredTrial, load_cell, load_trial, pretraining_identity
from ..roster import Roster

Phase = Literal["initial", "pretrained", "finetuned"]
SAID_AGAIN = {"paths", "trainer", "cache"}
"""Options of a run that matter when its cell is trained again."""


@dataclass(frozen=True)
class Trained:
    """An encoder of one trial, what its cell is, and the preprocessing of its rows."""

    config: Config
    columns: tuple[Column, ...]
    preprocessing: Preprocessing
    encoder: Encoder

    @cached_property
    def dtype(self) -> torch.dtype:
        return next(self.encoder.parameters()).dtype

    def table(self, rows: pd.DataFrame) -> DeviceTable:
        """Rows of a user as the table of a stack of one trial, imputed and scaled.

        Raises:
            UsageError: see `Reader`.
        """
        values = Reader.plain(self.columns).values(rows)
        unlabelled = Table("rows", None, "a DataFrame", self.columns, values, np.zeros(len(rows), dtype=np.int64), ())
        return DeviceTable(unlabelled, self.preprocessing, device="cpu", dtype=self.dtype)

    def raw(self, rows: pd.DataFrame) -> torch.Tensor:
        """The network's input ``(1, n, M)``.

        Raises:
            UsageError: see `Reader`.
        """
        return self.table(rows).rows(torch.arange(len(rows))[None], Roster(1))

    @torch.no_grad()
    def embed(self, raw: torch.Tensor) -> NDArray[np.float32]:
        """Embeddings ``(n, width)`` of raw features ``(1, n, M)``."""
        return self._in_chunks(self.encoder, raw)

    @torch.no_grad()
    def embed_encoded(self, encoded: torch.Tensor) -> NDArray[np.float32]:
        """Embeddings ``(n, width)`` of one-hot encoded features ``(1, n, D)``."""
        return self._in_chunks(self.encoder.body, encoded)

    def _in_chunks(self, network: torch.nn.Module, x: torch.Tensor) -> NDArray[np.float32]:
        chunks = [network(chunk) for chunk in torch.split(x, EVALUATION_ROWS, dim=1)]
        return np.asarray(torch.cat(chunks, dim=1)[0].numpy(), dtype=np.float32)


def read_trained(fingerprint: str, trial: int, phase: Phase, results: str | Path) -> Trained:
    """The encoder of a trial as the store has it.

    Raises:
        UsageError: see `load_encoder`.
    """
    if phase not in get_args(Phase):
        raise UsageError(f"phase={phase} is unknown; the phases are: {', '.join(get_args(Phase))}.")
    cell = load_cell(fingerprint, results)
    stored = load_trial(fingerprint, trial, results)
    config, data_hash = read(cell.config), cell.description["identity"]["data"]
    parts = build_parts(config)
    columns = parts.encoding.columns([Column.from_plain(column) for column in cell.description["columns"]])
    networks = Networks(
        Columns(tuple(column.n_indicators for column in columns)),
        len(cell.description["classes"]),
        Streams(config.seed, data_hash),
        parts.network,
        config.network,
        look=_no_training_rows,
    )
    fill, shift, scale = (stored.preprocessing[name][None] for name in ("fill", "shift", "scale"))
    preprocessing = Preprocessing(fill, shift, scale, config.preprocesses_alike)
    if phase == "initial":
        if "network" not in method_facts(config).variables["uses"]:
            raise UsageError(_no_network(cell, config))
        encoder = networks.encoder([trial]).to(Hardware(torch.device("cpu"), stored.row["precision"]).dtype)
    else:
        weights = (
            _pretrained(cell, stored, config, results) if phase == "pretrained" else _finetuned(cell, stored, config)
        )
        tensors = {name: torch.from_numpy(np.array(weight))[None] for name, weight in weights.items()}
        encoder = networks.encoder([trial], tensors, learns_missing_values="missing" in tensors)
        if encoder.missing is not None:
            encoder.missing.data = tensors["missing"]
    return Trained(config, columns, preprocessing, encoder.requires_grad_(False).eval())


def _pretrained(cell: StoredCell, stored: StoredTrial, config: Config, results: str | Path) -> Mapping[str, Any]:
    if config.pretrain.name == "none":
        raise UsageError(f"Cell {cell.fingerprint} is not pre-trained; it has phase=finetuned alone.")
    trained_with = replace(config, trainer=replace(config.trainer, precision=stored.row["precision"]))
    identity = pretraining_identity(trained_with, cell.description["identity"]["data"])
    trial = stored.row["trial"]
    kept = PretrainingStore(Path(results), identity, max_gb=1).load([trial])
    if trial not in kept:
        raise UsageError(
            f"The pre-trained weights of trial {trial} of cell {cell.fingerprint} are not in the cache (any more); "
            f"`{_again(cell, config)}` trains them again."
        )
    return _part(kept[trial].weights)


def _finetuned(cell: StoredCell, stored: StoredTrial, config: Config) -> Mapping[str, Any]:
    method = method_facts(config).variables
    if "finetune" not in method["uses"]:
        raise UsageError(_no_network(cell, config))
    if not method["has_encoder"]:
        raise UsageError(
            f"Cell {cell.fingerprint} has no single encoder: the networks of method={method['name']} vote."
        )
    if stored.weights is None:
        raise UsageError(
            f"The fine-tuned weights of trial {stored.row['trial']} of cell {cell.fingerprint} were not kept; "
            f"`{_again(cell, config, 'keep_weights=true')}` trains them again and keeps them."
        )
    return _part(stored.weights)


def _no_network(cell: StoredCell, config: Config) -> str:
    return f"Cell {cell.fingerprint} has no such encoder: method={config.method['name']} trains no network."


def _no_training_rows(position: int) -> torch.Tensor:
    raise UsageError("This network looks at its training rows before training; load phase=pretrained or finetuned.")


def _part(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the encoder, without its name."""
    return {name.removeprefix("encoder."): w for name, w in weights.items() if name.startswith("encoder.")}


def _again(cell: StoredCell, config: Config, *options: str) -> str:
    """The command that trains a cell again: what asked for it, without what other cells of that run used."""
    left_out = ({*OF_THE_RUN} - SAID_AGAIN) | unused_options(config)
    asked = [o for o in cell.description["overrides"] if not left_out & set(_groups(o.partition("=")[0]))]
    trials = f"trials={max(cell.trials['trial']) + 1}"
    return shlex.join(["python", "train.py", *asked, trials, *options, "force=true"])


def _groups(option: str) -> list[str]:
    """An option, and the groups that it is in: ``a, a.b, a.b.c`` of the last."""
    parts = option.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]
