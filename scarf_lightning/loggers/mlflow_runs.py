"""MLflow runs: one for each cell, in a database in the results folder or on a server."""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytorch_lightning.loggers import MLFlowLogger

from ..options.logger_classes import MLFLOW_URI
from ..options.run_settings import MlflowSettings
from ..results.claims import claim_when_free
from .places import own_environment
from .view import CellView

if TYPE_CHECKING:
    from mlflow import MlflowClient

FOLDER = "mlflow"
FINGERPRINT = "fingerprint"
"""The tag by which the run of a cell is found again."""
NOTE = "mlflow.note.content"
"""The tag that MLflow shows as the description of a run."""
LONGEST_NOTE = 5000
"""Characters; MLflow refuses longer tags."""
LARGEST_BATCH = 1000
"""Values that MLflow takes at once."""


class RunLogger(MLFlowLogger):
    """Lightning's logger of a run that exists. It sends its values at the end: one by one they take a database seconds.

    Lightning's own would also change MLflow's address for the whole process.
    """

    def __init__(self, client: "MlflowClient", uri: str, run_id: str) -> None:
        super().__init__(tracking_uri=uri, run_id=run_id)
        self._client, self._id = client, run_id
        self._unsent: list[tuple[str, float, int]] = []

    @property
    def experiment(self) -> "MlflowClient":
        """MLflow's client."""
        return self._client

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._id

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Keep values for the end."""
        for name, value in metrics.items():
            self._unsent.append((name, value, step or 0))

    def log_page(self, folder: Path) -> None:
        """Keep a page with its files among the artifacts."""
        self._client.log_artifacts(self._id, str(folder), "page")

    def finalize(self, status: str = "success") -> None:
        """Send all values, and end the run."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        values = [Metric(name, value, now, step) for name, value, step in self._unsent]
        for start in range(0, len(values), LARGEST_BATCH):
            batch = values[start : start + LARGEST_BATCH]
            self._client.log_batch(self._id, metrics=batch)
        ended = "FINISHED" if status == "success" else "FAILED"
        self._client.set_terminated(self._id, ended)


@contextmanager
def opened(view: CellView, results: Path, settings: MlflowSettings) -> Iterator[RunLogger]:
    """A new run of a cell, in place of its earlier ones in the experiment."""
    uri, artifacts, waiting = _address(results, settings)
    # MLflow reports its use to its makers unless it is told not to.
    with own_environment(MLFLOW_DISABLE_TELEMETRY="true"), waiting:
        import mlflow

        # MLflow sets up its messages when it is imported.
        with _quiet():
            client = mlflow.MlflowClient(uri)
            experiment = _experiment(client, settings.experiment, artifacts)
            cell = f"tags.{FINGERPRINT} = '{view.id}'"
            earlier = client.search_runs([experiment], cell)
            run = client.create_run(experiment, tags=_tags(view), run_name=view.name)
            yield RunLogger(client, uri, run.info.run_id)
            # An earlier run is deleted last, so that one is there if this one fails.
            for each in earlier:
                client.delete_run(each.info.run_id)


def _address(results: Path, settings: MlflowSettings) -> tuple[str, str | None, AbstractContextManager[object]]:
    """The address of the runs, the place of their files if it is ours to choose, and what waits for its turn there."""
    uri = settings.tracking_uri or os.environ.get(MLFLOW_URI)
    if uri:
        return uri, None, nullcontext()
    folder = (results / FOLDER).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    place = f"sqlite:///{folder}/mlflow.db"
    # Two processes that make the tables of a new database at the same time disturb each other.
    return place, (folder / "artifacts").as_uri(), claim_when_free(folder)


def _experiment(client: "MlflowClient", name: str, artifacts: str | None) -> str:
    """The id of an experiment, which is made if there is none."""
    from mlflow.exceptions import MlflowException

    experiment = client.get_experiment_by_name(name)
    if experiment is not None:
        return str(experiment.experiment_id)
    try:
        return str(client.create_experiment(name, artifact_location=artifacts))
    except MlflowException:
        # Another process may have made it in the meantime.
        experiment = client.get_experiment_by_name(name)
        if experiment is None:
            raise
        return str(experiment.experiment_id)


def _tags(view: CellView) -> dict[str, Any]:
    """The tags of a run: ``axis: option`` for each axis, what finds the run again, and why it failed."""
    tags = dict(tag.split("=", 1) for tag in view.tags)
    tags |= {FINGERPRINT: view.id, "group": view.group, **view.answer}
    if view.notes is not None:
        tags[NOTE] = view.notes[:LONGEST_NOTE]
    if view.failure is not None:
        # A traceback ends with what went wrong.
        tags[NOTE] = view.failure[-LONGEST_NOTE:]
    return tags


@contextmanager
def _quiet() -> Iterator[None]:
    """Within this context MLflow does not tell that it makes the tables of a database."""
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
