"""W&B runs, each of which is opened, written and finished in one way, and a workspace of those of a sweep.

Offline runs use no network. W&B's own client makes a workspace, with panels by axis.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytorch_lightning.loggers import WandbLogger

from ..errors import UsageError, require
from ..metrics import Metric
from ..options.axes import BASES
from ..options.settings import WandbSettings
from ..results import write_whole
from ..results.records import parsed, read_json
from .view import plain_table

if TYPE_CHECKING:
    import pandas as pd
    import wandb
    from wandb_workspaces.workspaces.interface import Section

FOLDER = "wandb"
SUMMARY = "summary/"
"""Before the names of metrics that a run has once."""
ADDRESSES = "workspaces.json"
"""The file of the addresses of workspaces, by group."""
PHASES = ("pretrain", "finetune")
EPOCH = "epoch"
"""What curves are drawn over."""
LONGEST_NAME = 128
"""Characters of a run's name and of a group's; W&B's server refuses longer ones."""
SEARCH = "WANDB_SWEEP_ID"
"""Set in processes that an agent of a W&B sweep started. The agent chose the run's id, and finds the run by it."""
CONNECTED_AFTER = 20.0
"""Seconds to wait for the server before a view is given up."""
SENT_WITHIN = 60.0
"""Seconds to wait at the end of a run until everything is sent. W&B's client would wait for ever."""


class RunLogger(WandbLogger):
    """Lightning's logger of a run that is open. It draws curves over epochs.

    A run that the server has already is continued. Its curves stay as they are if they are of as many trials; otherwise
    the curves of all trials are written beside them, for W&B cannot replace a curve.

    Args:
        run: the run.
        n_trials: of the cell whose curves are written; None writes them whatever the server has.
    """

    def __init__(self, run: "wandb.Run", n_trials: int | None = None) -> None:
        super().__init__(experiment=run)
        self._run = run
        n_shown = run.summary.get("trials") if run.resumed and n_trials is not None else None  # type: ignore[no-untyped-call]
        self._has_curves = n_shown is not None and n_shown == n_trials
        self._beside = "" if n_shown is None else f"{n_trials} trials/"

    @property
    def experiment(self) -> "wandb.Run":
        """The run."""
        return self._run

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log metrics in an epoch. Those of the summary become the run's, and without an epoch anything that W&B shows
        is logged as it is."""
        if step is None:
            self._run.log(dict(metrics))
        elif next(iter(metrics)).startswith(SUMMARY):
            self._run.summary.update({name.removeprefix(SUMMARY): value for name, value in metrics.items()})
        elif not self._has_curves:
            self._run.log({EPOCH: step} | {f"{self._beside}{name}": value for name, value in metrics.items()})

    def log_page(self, folder: Path) -> None:
        """Keep a page with its files as an artifact, and show its figures."""
        import wandb

        artifact = wandb.Artifact(f"page-{self._run.id}", type="report")
        # `add_dir` would print what it does.
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                artifact.add_file(str(path), name=str(path.relative_to(folder)))
        self._run.log_artifact(artifact)
        self._run.log({f"figures/{path.stem}": wandb.Image(str(path)) for path in sorted(folder.glob("figures/*.png"))})


def write_sweep(
    settings: WandbSettings,
    results: Path,
    fingerprints: Collection[str],
    group: str,
    sentences: Sequence[str],
    *,
    command: str,
    tables: "Mapping[str, pd.DataFrame]",
    page: Path,
) -> None:
    """Write the run of a sweep: its answer in sentences, tables, and the page with its figures.

    Args:
        settings, results: as of `open_run`.
        fingerprints: of its cells; the run of the same cells is replaced.
        group: of the runs of its cells.
        sentences: the answer.
        command: that trained it.
        tables: by name.
        page: the folder of the page.
    """
    id = f"sweep-{hashlib.sha256(' '.join(sorted(fingerprints)).encode()).hexdigest()[:12]}"
    fields = {"name": f"{group}: the answer", "group": group, "notes": "\n".join(sentences), "job_type": "sweep"}
    with open_run(settings, results, id, fields) as logger:
        logger.log_hyperparams({"command": command, "cells": len(fingerprints)})
        logger.experiment.summary.update({"answer": sentences[0]})
        for name, frame in tables.items():
            logger.log_table(name, dataframe=plain_table(frame))
        logger.log_page(page)


def group_name(group: str) -> str:
    """The group as W&B has it: short enough, and without signs that a filter of its workspaces cannot name."""
    return re.sub(r"[^\w ,.:/+-]", "_", group)[:LONGEST_NAME]


@contextmanager
def open_run(
    settings: WandbSettings,
    results: Path,
    id: str,
    fields: Mapping[str, Any],
    *,
    n_trials: int | None = None,
    failed: bool = False,
) -> Iterator[RunLogger]:
    """A new run in ``<results>/wandb``, whatever other run is open. It is finished at the end of the block, as failed
    if it ``failed`` or the block raises. Its ``fields`` are arguments of ``wandb.init``; by default it has the type
    ``cell``; ``n_trials`` is as of `RunLogger`.

    An offline run of the same id is replaced; a run that the server has is resumed.

    Raises:
        UsageError: the mode is ``online`` and nobody is logged in.
        wandb.errors.CommError: the server does not answer, or refuses the key.
        TimeoutError: the server has not taken everything in time.
    """
    # Files that are sent later stay beside the results, and the client reports none of its own faults.
    for name, value in (("WANDB_DATA_DIR", str((results / FOLDER).absolute())), ("WANDB_ERROR_REPORTING", "false")):
        os.environ.setdefault(name, value)
    import wandb

    is_online = settings.mode == "online"
    if is_online and not wandb.login(prompt=False):
        raise UsageError("nobody is logged in; run `wandb login`, or use logger.wandb.mode=offline")
    # An offline run of a cell would be sent beside its later one.
    for old in (results / FOLDER).glob(f"offline-run-*-{id}"):
        shutil.rmtree(old)
    (results / FOLDER).mkdir(parents=True, exist_ok=True)
    names = {"name": fields["name"][:LONGEST_NAME], "group": group_name(fields["group"])}
    run = wandb.init(
        project=settings.project,
        entity=settings.entity,
        mode="online" if is_online else "offline",
        id=None if SEARCH in os.environ else id,
        resume="allow" if is_online else None,
        dir=results,
        reinit="create_new",
        settings=wandb.Settings(
            silent=True,
            console="off",
            init_timeout=CONNECTED_AFTER,
            finish_timeout=SENT_WITHIN,
            finish_timeout_raises=True,
            disable_git=True,
            disable_code=True,
            x_disable_meta=True,
            x_disable_stats=True,
            # The store keeps versions.
            x_save_requirements=False,
        ),
        **{"job_type": "cell", **fields, **names},
    )
    run.define_metric(EPOCH, hidden=True)
    run.define_metric("*", step_metric=EPOCH, step_sync=False)
    # The run counts as failed unless the block ends.
    exit_code = 1
    try:
        yield RunLogger(run, n_trials)
        exit_code = int(failed)
    finally:
        run.finish(exit_code=exit_code)


def save_workspace(group: str, axes: Sequence[str], metric: Metric, settings: WandbSettings, results: Path) -> None:
    """Save the workspace of the runs of a group, in place of its earlier one.

    Args:
        group: of the runs, as `CellView` has it.
        axes: options that vary among them, such as ``corruption`` and ``pretrain.max_epochs``.
        metric: of the bars.
        settings: of the project.
        results: the folder of all results, in which the address of each workspace is kept.

    Raises:
        UsageError: the package ``wandb_workspaces`` is not installed.
        Exception: as W&B's client raises it.
    """
    require("wandb_workspaces", "A workspace of W&B")
    import wandb
    from wandb_workspaces import expr
    from wandb_workspaces.workspaces.interface import RunsetSettings, Workspace

    group, file = group_name(group), results / FOLDER / ADDRESSES
    addresses = parsed(dict[str, str], read_json(file), ADDRESSES) if file.exists() else {}
    if group in addresses:
        workspace = Workspace.from_url(addresses[group])
    else:
        entity = settings.entity or wandb.Api().default_entity
        workspace = Workspace(entity=str(entity), project=settings.project, name=group)
    workspace.sections = sections_of(axes, metric)
    workspace.runset_settings = RunsetSettings(filters=[expr.Metric("Group") == group])
    workspace.save()
    write_whole(file, json.dumps(addresses | {group: workspace.url}))


def sections_of(axes: Sequence[str], metric: Metric) -> "list[Section]":
    """The answer, then a section an axis: the metric of each value, and curves with a band over the cells that share
    it."""
    from wandb_workspaces.reports.v2.interface import BarPlot, Config, LinePlot, MediaBrowser, WeavePanelSummaryTable
    from wandb_workspaces.workspaces.interface import Section

    answer: list[Any] = [WeavePanelSummaryTable(table_name=table) for table in ("ablation", "effects")]
    sections = [Section(name="The answer", panels=[*answer, MediaBrowser(media_keys=["figures/*"])], is_open=True)]
    for axis in axes:
        # The name of an axis's part is beside its options.
        grouping = Config(f"{axis}.name" if axis in BASES or axis == "dataset" else axis)
        band: dict[str, Any] = {"groupby": grouping, "groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"}
        panels: list[Any] = [BarPlot(title=f"{metric.label} by {axis}", metrics=[metric.name], **band)]
        for phase in PHASES:
            panels.append(
                LinePlot(
                    title=f"validation loss of {phase} by {axis}",
                    x=EPOCH,
                    y=[f"{phase}/validation_loss_mean"],
                    **band,
                )
            )
        sections.append(Section(name=f"By {axis}", panels=panels, is_open=True))
    return sections
