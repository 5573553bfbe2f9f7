"""A workspace of W&B for a sweep: its runs alone, with panels by axis. W&B's own client makes it."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..importing import require
from ..metrics import Metric
from ..options.axes import BASES
from ..options.run_settings import WandbSettings
from .places import LONGEST_NAME, shortened

if TYPE_CHECKING:
    from wandb_workspaces.workspaces.interface import Section

PHASES = ("pretrain", "finetune")
ELLIPSIS = "..."
PLAIN = re.compile(r"[\w ,.:/+-]+")


def save_workspace(
    group: str, axes: Sequence[str], metric: Metric, settings: WandbSettings, *, url: str | None = None
) -> str:
    """Save the workspace of the runs of a group, and return its address.

    Args:
        group: of the runs, as `CellView` has it.
        axes: options that vary among them, such as ``corruption`` and ``pretrain.max_epochs``.
        metric: of the bars.
        settings: of the project.
        url: of the workspace of this group that is there already; None makes one.

    Raises:
        UsageError: the package ``wandb_workspaces`` is not installed.
        Exception: as W&B's client raises it.
    """
    require("wandb_workspaces", "A workspace of W&B")
    import wandb
    from wandb_workspaces import expr
    from wandb_workspaces.workspaces.interface import RunsetSettings, Workspace

    sections = sections_of(axes, metric)
    shown = RunsetSettings()
    if is_filtered(group):
        shown = RunsetSettings(filters=[expr.Metric("Group") == group])
    if url is None:
        entity = settings.entity or wandb.Api().default_entity
        name = shortened(group, ELLIPSIS)
        workspace = Workspace(
            entity=str(entity), project=settings.project, name=name, sections=sections, runset_settings=shown
        )
    else:
        workspace = Workspace.from_url(url)
        workspace.sections, workspace.runset_settings = sections, shown
    workspace.save()  # type: ignore[no-untyped-call]
    saved: str = workspace.url
    return saved


def is_filtered(group: str) -> bool:
    """Tell whether a workspace can show the runs of this group alone.

    A longer name was cut, and W&B's client reads signs within a name as part of its filter.
    """
    return len(group) <= LONGEST_NAME and PLAIN.fullmatch(group) is not None


def sections_of(axes: Sequence[str], metric: Metric) -> "list[Section]":
    """The answer, then a section an axis: the metric of each value, and curves with a band over the cells that share
    it."""
    from wandb_workspaces.reports.v2.interface import BarPlot, Config, LinePlot, MediaBrowser, WeavePanelSummaryTable
    from wandb_workspaces.workspaces.interface import Section

    answer: list[Any] = [WeavePanelSummaryTable(table_name=table) for table in ("summary", "effects")]
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
                    x=f"{phase}/epoch",
                    y=[f"{phase}/validation_loss_mean"],
                    **band,
                )
            )
        sections.append(Section(name=f"By {axis}", panels=panels, is_open=True))
    return sections
