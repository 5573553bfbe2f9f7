"""A W&B workspace of a sweep: what won, a metric by axis, curves, trials.

    python -m scarf_lightning.report.dashboard NAME                    prints the definition; no server is asked
    python -m scarf_lightning.report.dashboard NAME entity=ENTITY      saves it there, and prints its address
    ... project=PROJECT report=FOLDER metric=NAME                      (scarf-lightning, reports/NAME, accuracy)

NAME is a sweep's, as in `sweeps=NAME`. Its runs are those of `train.py logger=wandb` or `report.py upload=wandb`; the
latter uploads the report's figures, of which the workspace shows the ones in the report's folder. Needs the extra
`workspaces`, which is W&B's own package.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..metrics import METRICS, Metric, metric_named
from ..sweeping.sweep_file import SweepFile, read_sweep

if TYPE_CHECKING:
    from wandb_workspaces.workspaces import Section, Workspace

SWEEPS = Path(__file__).parents[2] / "sweeps"
OPTIONS = {"entity": "", "project": "scarf-lightning", "report": "", "metric": "accuracy"}
CURVES = {"pretrain": ("validation_loss", "train_loss"), "finetune": ("validation_error", "train_loss")}
WIN_MATRIX = "win_matrix"


def workspace(
    sweep: SweepFile, figures: Sequence[str], *, entity: str, project: str, metric: Metric = METRICS[0]
) -> "Workspace":
    """The workspace of a sweep's runs.

    Args:
        sweep: the sweep.
        figures: names of the report's figures, those of win matrices among them.
        entity: W&B's name of the user or team.
        project: where the runs are.
        metric: what the runs are compared by.

    Raises:
        UsageError: W&B's package is not installed.
    """
    try:
        from wandb_workspaces import workspaces
        from wandb_workspaces.reports.v2 import interface as panels
    except ImportError as error:
        raise UsageError("A workspace needs W&B's package: install the extra `workspaces`.") from error

    matrices = [figure for figure in figures if WIN_MATRIX in figure]
    others = [figure for figure in figures if figure not in matrices]

    def pictures(title: str, names: Sequence[str]) -> "list[Section]":
        keys = [f"figures/{name}" for name in names]
        shown = [panels.MediaBrowser(title=name, media_keys=[key]) for name, key in zip(names, keys, strict=True)]
        return [workspaces.Section(name=title, is_open=True, panels=shown)] if names else []

    called = f"{metric.label[:1].upper()}{metric.label[1:]}"
    by_axis = [
        panels.BarPlot(title=f"{called} by {axis}", metrics=[metric.name], groupby=panels.Config(key))
        for axis, key in axes_of(sweep).items()
    ]
    curves = [
        panels.LinePlot(
            title=f"{curve.replace('_', ' ')}, {phase}: mean over trials",
            x=f"{phase}/epoch",
            y=[f"{phase}/{curve}_mean"],
        )
        for phase, names in CURVES.items()
        for curve in names
    ]
    trials = [panels.WeavePanelSummaryTable(table_name="trials_table")]
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=sweep.title,
        sections=[
            *pictures("Who beats whom", matrices),
            workspaces.Section(name=f"{called} by axis", is_open=True, panels=by_axis),
            workspaces.Section(name="Curves", is_open=True, panels=curves),
            workspaces.Section(name="Trials", is_open=True, panels=trials),
            *pictures("Figures", others),
        ],
        runset_settings=workspaces.RunsetSettings(filters=f"Metric('Group') = '{sweep.name}'"),
    )


def axes_of(sweep: SweepFile) -> dict[str, str]:
    """What a sweep varies, and where that stands in a run's configuration."""
    values: dict[str, set[str]] = {}
    for block in sweep.cells:
        for axis, value in block.items():
            values.setdefault(axis, set()).update(map(str, value if isinstance(value, list) else [value]))
    varied = [axis for axis, found in values.items() if len(found) > 1 or "(" in "".join(found)]  # as in glob(*)
    return {axis: axis if "." in axis else f"{axis}.{'task' if axis == 'cotrain' else 'name'}" for axis in varied}


def main(arguments: Sequence[str]) -> int:
    """Print or save a workspace, and return the exit status."""
    options = dict(OPTIONS)
    names = []
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if not sign:
            names.append(argument)
        elif key in options:
            options[key] = value
        else:
            raise UsageError(f"{key} is not an option; the options are: {', '.join(options)}.")
    if len(names) != 1:
        raise UsageError(f"Name one sweep.\n\n{__doc__}")
    sweep = read_sweep(names[0], SWEEPS)
    report = Path(options["report"] or f"reports/{sweep.name}")
    figures = sorted({path.stem for path in report.rglob("*.png")})
    made = workspace(
        sweep, figures, entity=options["entity"], project=options["project"], metric=metric_named(options["metric"])
    )
    if not options["entity"]:
        print(made._to_model().spec.model_dump_json(by_alias=True, exclude_none=True, indent=2))  # noqa: T201
        return 0
    import wandb

    if not wandb.login(prompt=False):
        raise UsageError("Nobody is logged in; run `wandb login`, or leave entity out to see the definition.")
    made.save()
    print(made.url)  # noqa: T201
    return 0


def run(arguments: Sequence[str]) -> int:
    """Run `main`, and answer bad input in a sentence instead of a traceback."""
    try:
        return main(arguments)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
