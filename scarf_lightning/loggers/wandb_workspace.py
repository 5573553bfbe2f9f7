"""A workspace of W&B for a sweep: its runs alone, with panels by axis. W&B's own client makes it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import require
from ..metrics import Metric
from ..options.axes import BASES
from ..options.settings import WandbSettings
from ..results import write_whole
from ..results.records import parsed, read_json
from .wandb_runs import EPOCH, FOLDER, group_name

if TYPE_CHECKING:
    from wandb_workspaces.workspaces.interface import Section

PHASES = ("pretrain", "finetune")
ADDRESSES = "workspaces.json"
"""The file of the addresses of workspaces, by group."""


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
        # A part of an axis stands beside its options.
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
