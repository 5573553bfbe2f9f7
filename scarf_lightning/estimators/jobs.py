"""The processes of a fit: what ``n_jobs`` of scikit-learn stands for on this machine."""

import torch
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from ..engine.hardware import choose_device
from ..errors import UsageError
from ..forks import why_no_fork


def n_processes(n_jobs: int | None, device: str = "cpu") -> int:
    """The number of processes to use side by side.

    Args:
        n_jobs: as of scikit-learn: None is 1, unless a context of `joblib.parallel_config` says otherwise, and -1 is
            one a core. Within a job of joblib it is 1, so that a search does not start more processes than it was
            allowed.
        device: where they compute.

    Raises:
        UsageError: it is no such number, or several processes were asked for by number and are not possible.
    """
    if n_jobs is not None and (not isinstance(n_jobs, int) or n_jobs == 0):
        raise UsageError(f"n_jobs must be None, a number of processes from 1, or -1 for one a core, not {n_jobs!r}.")
    backend, _ = get_active_backend()
    if backend.nesting_level:
        return 1
    number = int(effective_n_jobs(n_jobs))
    if number == 1:
        return 1
    obstacle = _obstacle(device)
    if obstacle is None:
        return number
    # As many as possible is one here.
    if n_jobs is None or n_jobs < 0:
        return 1
    raise UsageError(f"n_jobs={n_jobs} is not possible here: {obstacle}; leave n_jobs out.")


def _obstacle(device: str) -> str | None:
    """The reason why processes cannot be forked to compute, if there is one."""
    if choose_device(device).type != "cpu":
        return "a GPU trains all networks at once, and cannot be shared by forked processes"
    # Torch starts threads for each GPU with the first gradient, and a fork has none of them.
    if torch.cuda.is_available():
        return "torch cannot be forked where it finds a GPU; CUDA_VISIBLE_DEVICES='' hides it"
    return why_no_fork()
