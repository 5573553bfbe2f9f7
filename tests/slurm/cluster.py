"""A Slurm of one node on this machine: munged, slurmctld and slurmd in a folder of their own."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.processes import soon

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
WITHIN = 60.0

CONF = """\
ClusterName=loop
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
MpiDefault=none
ReturnToService=2
KillWait=5
NodeName=node NodeAddr=127.0.0.1 NodeHostname={host} CPUs=2 State=UNKNOWN
PartitionName=low Nodes=node Default=YES PriorityTier=1 PreemptMode=REQUEUE State=UP
PartitionName=polite Nodes=node PriorityTier=1 PreemptMode=REQUEUE GraceTime=5 State=UP
PartitionName=high Nodes=node PriorityTier=10 PreemptMode=OFF State=UP
"""
"""There is no accounting: ``sacct`` fails here, as on many clusters."""


@dataclass(frozen=True)
class Cluster:
    """A running Slurm, whose programs work with ``environment``."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, program: str, *arguments: str) -> str:
        ran = subprocess.run(
            [program, *arguments], env=self.environment, capture_output=True, text=True, check=True, timeout=WITHIN
        )
        return ran.stdout

    def tasks(self, state: str = "all") -> list[str]:
        """The numbers of the tasks in the queue, such as ``17_3``."""
        return self.run("squeue", "--noheader", "--array", "--format=%i", f"--states={state}").split()

    def alive(self) -> list[str]:
        """The tasks that are pending or running."""
        return self.run("squeue", "--noheader", "--array", "--format=%i").split()

    def pids(self, task: str) -> list[int]:
        """The processes of a running task."""
        job, _, number = task.partition("_")
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                variables = (process / "environ").read_bytes().split(b"\0")
                if {f"SLURM_ARRAY_JOB_ID={job}".encode(), f"SLURM_ARRAY_TASK_ID={number}".encode()} <= {*variables}:
                    found.append(int(process.name))
        return found

    def end(self) -> None:
        """End all jobs."""
        self.run("scancel", "--user=root")
        soon(lambda: not self.alive())


def missing_programs() -> list[str]:
    """The programs of Slurm that are not installed here."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    return [program for program in PROGRAMS if shutil.which(program, path=path) is None]


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """A cluster, which is stopped at the end of the block."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
    folder.chmod(0o755)
    ports = {name: _free_port() for name in ("controller", "daemon")}
    (folder / "slurm.conf").write_text(CONF.format(folder=folder, host=socket.gethostname(), **ports), encoding="utf-8")
    cluster = Cluster(folder)
    munge = ("socket=munge.sock", "key-file=munge.key", "pid-file=munged.pid", "log-file=munge.log", "seed-file=seed")
    options = [f"--{name}={folder}/{file}" for name, file in (each.split("=") for each in munge)]
    try:
        cluster.run("/usr/sbin/munged", "--force", *options)
        cluster.run("/usr/sbin/slurmctld")
        cluster.run("/usr/sbin/slurmd", "-N", "node")
        is_idle = soon(lambda: "idle" in cluster.run("sinfo", "--noheader", "--format=%T"))
        assert is_idle, (folder / "slurmctld.log").read_text(encoding="utf-8")[-2000:]
        yield cluster
        cluster.end()
    finally:
        for name in ("slurmd", "slurmctld", "munged"):
            with suppress(OSError, ValueError):
                os.kill(int((folder / f"{name}.pid").read_text(encoding="utf-8")), signal.SIGTERM)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
