"""Views of cells that no one has trained, and runs of W&B that no server holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scarf_lightning.loggers import CellView, cell_view
from scarf_lightning.loggers.wandb_runs import RunLogger
from scarf_lightning.results import CellStore
from tests.cells import finish, results_in, some_cell

OPEN_RUN = "scarf_lightning.loggers.wandb_runs.open_run"


def finished(results: Path, *overrides: str, trials: Any = None, values: Any = None, **chosen: Any) -> CellStore:
    """A made-up cell of two trials."""
    cell = some_cell(*overrides, paths=results_in(results.parent), **chosen)
    return finish(cell, trials=trials, **values or {})


def view_of(results: Path, trials: Any = None, **chosen: Any) -> CellView:
    """The view of a made-up cell that a sweep ``quick`` asks for."""
    store = finished(results, "trials=2", "corruption.rate=0.6", trials=trials, **chosen)
    return cell_view(store.fingerprint, results, group="quick")


class Config(dict[str, Any]):
    """The configuration of a run, as Lightning's logger sets it."""

    def update(self, values: Any, *, allow_val_change: bool = False) -> None:  # type: ignore[override]
        assert allow_val_change
        super().update(values)


class FakeRun:
    """A run as `open_run` gives it; ``shown`` is what the server has of it, which may fail at one moment."""

    def __init__(self, shown: dict[str, Any] | None = None, fails: str = "") -> None:
        self.resumed, self.summary, self.logged = shown is not None, dict(shown or {}), list[dict[str, Any]]()
        self.fields, self.config, self._fails = dict[str, Any](), Config(), fails

    def meets(self, moment: str) -> None:
        if self._fails == moment:
            raise ConnectionError("gone")

    @contextmanager
    def opened(
        self, settings: Any, results: Path, id: str, described: Any, *_: Any, n_trials: int | None = None, **fields: Any
    ) -> Iterator[Any]:
        self.fields = {"id": id} | described | fields
        self.meets("open")
        yield RunLogger(self, n_trials)  # type: ignore[arg-type]
        self.meets("close")

    def define_metric(self, *_: object, **__: object) -> None: ...

    def log(self, values: dict[str, Any]) -> None:
        self.meets("log")
        self.logged.append(values)
