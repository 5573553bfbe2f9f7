"""The genuine openml client, silent, impatient and on a cache of our choice."""

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from ...errors import UsageError
from .openml_integrity import DamagedError

TIMEOUT = 30.0
"""Seconds that a server may stay silent. The client itself waits for ever."""

ATTEMPTS = 2
"""How often a refused connection is tried, a second apart."""

UNKNOWN = (111, 151)
"""The codes with which OpenML answers for the id of a dataset, or of a task, that it does not have."""

_one_at_a_time = threading.Lock()  # the client's settings are global to the process


class UnreachableError(Exception):
    """The server cannot be reached, or does not answer in time; the message says which."""


@dataclass(frozen=True)
class Downloaded:
    """What the client read: ``frame`` without the ignored columns, and which of its columns are ``categorical``."""

    name: str
    target: str | None
    frame: pd.DataFrame
    categorical: list[bool]


@dataclass(frozen=True)
class DownloadedTask:
    """What the client read of a task: its dataset, the column to classify by, and rows of its splits, ``(train, test)``
    of each fold of each repetition."""

    dataset_id: int
    target: str
    splits: list[tuple[NDArray[Any], NDArray[Any]]]


def read_dataset(dataset_id: int, *, server: str, cache: Path, environment: dict[str, str]) -> Downloaded:
    """Read a dataset from a cache folder of ours; what is not there is downloaded into it.

    Raises:
        UnreachableError: no connection, or no answer.
        DamagedError: the data cannot be read.
        UsageError: OpenML does not have the dataset, or does not give it.
    """
    with _contained_client(server, cache, environment):
        import arff  # type: ignore[import-untyped]
        import openml

        subject = f"OpenML dataset {dataset_id}"
        with _said_of(subject):
            dataset = openml.datasets.get_dataset(
                dataset_id,
                download_data=True,
                download_qualities=False,
                download_features_meta_data=False,  # the data say the same, and a cache may lack it
            )
        if dataset.parquet_file is None and dataset.format.lower() == "sparse_arff":
            raise UsageError(f"{subject} comes as sparse ARFF alone, whose classes the openml client cannot read.")
        try:
            frame, _, categorical, _ = dataset.get_data()
        except (arff.ArffException, UnicodeDecodeError) as error:
            raise DamagedError("they are no ARFF") from error
        except Exception as error:
            # What the parquet reader raises, the client wraps in a bare Exception; nothing else is caught.
            if type(error) is Exception and isinstance(error.__cause__, (ValueError, OSError)):
                raise DamagedError("they are no Parquet") from error
            raise
        assert isinstance(frame, pd.DataFrame)  # the format that get_data returns by default
        return Downloaded(dataset.name, dataset.default_target_attribute, frame, categorical)


def read_task(task_id: int, *, server: str, cache: Path, environment: dict[str, str]) -> DownloadedTask:
    """Read a task and its splits, but not its dataset, from a cache folder of ours, as `read_dataset` does.

    Raises:
        UnreachableError, DamagedError, UsageError: as by `read_dataset`; and where it is no classification.
    """
    with _contained_client(server, cache, environment):
        import arff
        from openml.tasks import OpenMLClassificationTask, OpenMLLearningCurveTask
        from openml.tasks.functions import _get_task_description  # the public one wants the dataset too

        subject = f"OpenML task {task_id}"
        with _said_of(subject):
            try:
                task = _get_task_description(task_id)
            except NotImplementedError:
                task = None
            if not isinstance(task, OpenMLClassificationTask) or isinstance(task, OpenMLLearningCurveTask):
                raise UsageError(f"{subject} is no classification; give the id of one that is.")
            try:
                repetitions = task.download_split().split
            except (arff.ArffException, UnicodeDecodeError, ValueError) as error:
                raise DamagedError("its splits are no ARFF") from error
        splits = [(of_fold[0][0], of_fold[0][1]) for folds in repetitions.values() for of_fold in folds.values()]
        return DownloadedTask(int(task.dataset_id), str(task.target_name), splits)


@contextmanager
def _said_of(subject: str) -> Iterator[None]:
    """What the client raises while it describes something, as errors that say what is wrong."""
    import minio.error
    import openml
    import requests
    import urllib3

    network_errors = (requests.RequestException, urllib3.exceptions.HTTPError, minio.error.MinioException)
    try:
        yield
    except (UsageError, DamagedError):
        raise
    except network_errors as error:
        silent = isinstance(error, requests.Timeout)
        raise UnreachableError(f"did not answer within {TIMEOUT:g} s" if silent else "cannot be reached") from error
    except openml.exceptions.PyOpenMLError as error:
        if getattr(error, "code", None) in UNKNOWN:
            raise UsageError(f"{subject} does not exist; look its id up at https://www.openml.org.") from error
        answer = error.message.partition("\n")[0].rstrip(".!")
        raise UsageError(f"{subject} cannot be had: {answer}.") from error
    except ValueError as error:  # entities in XML, or a name that the client refuses
        raise UsageError(f"the description of {subject} cannot be used: {str(error).rstrip('.')}.") from error
    except KeyError as error:  # a well-formed page that is not OpenML's
        raise UsageError(
            f"the description of {subject} has no entry {error}; a proxy or log-in page may have answered in the "
            "server's place."
        ) from error


@contextmanager
def _contained_client(server: str, root: Path, environment: dict[str, str]) -> Iterator[None]:
    """The client silent, impatient and on a cache of our choice; everything global is put back afterwards.

    The client's own ``overwrite_config_context`` does not restore after an exception, and makes folders.
    """
    with _one_at_a_time, ExitStack() as restore, warnings.catch_warnings():

        def replace(owner: Any, name: str, value: Any) -> None:
            restore.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)

        warnings.simplefilter("ignore")
        # The client logs to the root logger too, which gives that a handler if it has none.
        replace(logging.root, "handlers", [logging.NullHandler()])
        for variable, text in environment.items():
            if variable in os.environ:
                restore.callback(os.environ.__setitem__, variable, os.environ[variable])
            else:
                restore.callback(os.environ.pop, variable, None)
            os.environ[variable] = text

        import openml
        import requests
        import urllib3

        replace(openml.config, "server", server)
        replace(openml.config, "_root_cache_directory", root)
        replace(openml.config, "show_progress", False)
        replace(openml.config, "retry_policy", "human")
        replace(openml.config, "connection_n_retries", ATTEMPTS)
        replace(requests.Session, "request", _with_options(requests.Session.request, timeout=TIMEOUT))
        # Parquet files come through minio, which makes urllib3 pools of its own.
        impatient = _with_options(urllib3.PoolManager.urlopen, timeout=TIMEOUT, retries=ATTEMPTS - 1)
        replace(urllib3.PoolManager, "urlopen", impatient)
        yield


def _with_options(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        return function(*args, **{**options, **given})

    return call
