"""Apply a plan in a process of its own, which tests can kill.

``python -m tests.support.programs.change_process RUN WORKER LOGS GROUPS WORKSPACE TIMEOUT [OWNER]``

LOGS are the brokers that the positions refer to, GROUPS those of a sink's consumer group. OWNER is the run in journals.

Prints one line of JSON: how it ended (``applied``, …, or the error's class) and the sentence that a task would show.
"""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import replace
from typing import Any

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.kafka.remaining import RemainingRecords
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import RunDirectory


def main(  # noqa: PLR0917 - one for each word
    run: str, worker: str, kafka: str, of_groups: str, workspace: str, timeout: str, owner: str = "faults"
) -> None:
    """Apply the plan of ``run``."""
    # As Airflow ends a task: an exception wherever it is, so that what it does on the way out is done.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    plan = read_plan(RunDirectory(run))
    with (
        ConnectRest(ConnectEndpoint((worker,)), timeout=float(timeout)) as connect,
        RemainingRecords({"bootstrap.servers": kafka}) as logs,
        ConsumerGroups({"bootstrap.servers": of_groups}) as groups,
    ):
        known = Clients(connect, connect, timeout=float(timeout), cluster="sandbox", workspace=workspace)
        clients = replace(known, logs=logs, groups=groups)
        try:
            outcome = apply_plan(plan, clients, Owner.here(run=owner, task="apply"))
        except ConnectOffsetsError as error:
            _tell(type(error).__name__, str(error))
        else:
            _tell(outcome.result.value, outcome.message, warnings=outcome.warnings)


def _tell(ended: str, message: str, **more: Any) -> None:
    sys.stdout.write(json.dumps({"ended": ended, "message": message, **more}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
