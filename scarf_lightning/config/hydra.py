"""Hydra with our configuration, in the process of whoever calls."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hydra import initialize_config_dir
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException

from ..errors import UsageError
from ..folders import CONF
from .offer import offer
from .typed import explain


@contextmanager
def hydra_started(plugins: Sequence[str] = ()) -> Iterator[Hydra]:
    """Hydra with our configuration and the parts of plugins.

    What the program around us has of Hydra, it has again in the end; what Hydra refuses is a `UsageError`.
    """
    instance = GlobalHydra.instance()
    theirs = instance.hydra
    instance.clear()
    try:
        offer(plugins)
        with initialize_config_dir(str(CONF), job_name="train", version_base="1.3"):
            hydra = GlobalHydra.instance().hydra
            assert hydra is not None
            yield hydra
    except HydraException as error:
        raise UsageError(explain(error)) from error
    finally:
        GlobalHydra.instance().hydra = theirs
