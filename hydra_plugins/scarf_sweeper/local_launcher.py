"""Processes of this machine, started as Slurm would start them."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn

if TYPE_CHECKING:
    from submitit import Job

ASK_EVERY = 2.0
"""Seconds after which a job that has not ended is asked again: while its process starts, a signal may be lost."""
LOOK_EVERY = 0.05
"""Seconds between looks whether jobs have ended."""

try:
    from hydra_plugins.hydra_submitit_launcher.submitit_launcher import LocalLauncher as SubmititLocalLauncher
except ImportError:
    pass  # the sweeper names the extra that is missing
else:

    class LocalLauncher(SubmititLocalLauncher):  # type: ignore[misc]
        """Submitit's launcher, whose jobs end with the command that started them.

        Submitit's own jobs answer Ctrl-C with a traceback and outlive a SIGTERM.
        """

        def __call__(self, *job: Any) -> JobReturn:
            """Run a job in its own process. Submitit ignores SIGTERM there."""
            from scarf_lightning.cli.signals import ended_by_signals

            with ended_by_signals():
                ran: JobReturn = super().__call__(*job)
                return ran

        def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
            """Run all jobs at once and wait for them. What ends the waiting also ends the jobs."""
            from submitit import LocalExecutor

            options = {name: value for name, value in self.params.items() if value is not None}
            executor = LocalExecutor(options.pop("submitit_folder"))
            executor.update_parameters(**options)
            jobs: list[Job[JobReturn]] = []
            try:
                for number, overrides in enumerate(job_overrides, start=initial_job_idx):
                    job = list(overrides), "hydra.sweep.dir", number, f"job_id_for_{number}", Singleton.get_state()
                    # A terminal sends Ctrl-C to all processes. Jobs are started deaf to it, because this process ends
                    # them; here it waits until the job is started.
                    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                    try:
                        jobs.append(executor.submit(self, *job))
                    finally:
                        signal.pthread_sigmask(signal.SIG_SETMASK, before)
                return [job.result() for job in jobs]
            except BaseException:
                _end(jobs)
                raise


def _end(jobs: "Sequence[Job[JobReturn]]") -> None:
    """End jobs and wait for them, so that they give their claims back."""
    asked = -ASK_EVERY
    while running := [job for job in jobs if not job.done()]:
        if time.monotonic() - asked >= ASK_EVERY:
            asked = time.monotonic()
            for job in running:
                with suppress(ProcessLookupError):
                    os.kill(int(job.job_id), signal.SIGTERM)
        time.sleep(LOOK_EVERY)
