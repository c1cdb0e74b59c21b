"""The file that ``spark-submit`` runs for every job: ``job.py NAME RUN_DIRECTORY …``.

Usage:

- ``job.py plan RUN_DIRECTORY [RUN_DIRECTORY …]``: plan a change of connector offsets, one directory per connector
- ``job.py replay RUN_DIRECTORY``: plan a bounded replay
- ``job.py mirror-reset RUN_DIRECTORY``: plan the reset of a flow
- ``job.py translation RUN_DIRECTORY [PREVIEW_DIRECTORY]``: translate the positions of consumer groups
- ``job.py standby PREVIEW_DIRECTORY RUN_DIRECTORY STANDBY_DIRECTORY SECONDS``: the same, started before it is needed
- ``job.py readiness RUN_DIRECTORY [KEEP]``: judge how ready a flow is for a failover
- ``job.py orphans RUN_DIRECTORY``: find orphaned offsets
- ``job.py offset-changes RUN_DIRECTORY``: compare two snapshots of a Connect cluster
- ``job.py rehearsal RUN_DIRECTORY``: run a small translation for ``class_archive``

A run directory is a URI that Hadoop understands. The exit code is 0 if the job ran, whatever it found; 1 if it failed;
2 for wrong arguments. Only the standard library is imported until Python's path is sorted by ``unzipped.is_copy``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.pipeline.unzipped import is_copy

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.pipeline.session import Job

# Modules by job name; each defines its JOB.
JOBS = {
    "plan": "plan.plan_job",
    "replay": "replay_job",
    "mirror-reset": "flow.mirror_reset_job",
    "translation": "failover.translate_job",
    "standby": "failover.standby_job",
    "readiness": "flow.readiness_job",
    "orphans": "orphans_job",
    "offset-changes": "snapshots.changes_job",
    "rehearsal": "rehearsal_job",
}


def load(name: str) -> Job:
    """Import the job called ``name``."""
    job: Job = import_module(f"airflow_provider_connect_offsets.pipeline.{JOBS[name]}").JOB
    return job


def main(arguments: list[str]) -> int:
    """Run a job as a Spark application, and return the exit code."""
    name, *directories = arguments or [""]
    if name not in JOBS:
        sys.stderr.write(f"usage: job.py {{{','.join(JOBS)}}} RUN_DIRECTORY ...\n")
        return 2
    sys.path.sort(key=is_copy)
    return load(name).main(directories)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
