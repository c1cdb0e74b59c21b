"""Reports of runs (one self-contained HTML file each), tables for logs, and questions to approvers.

::

change = Change.read(run)             # at any stage
print(as_text(plan_table(change)))    # for a log; a rich console prints the table itself
question(change)                      # for an approver, in Markdown
write_report(run)                     # report.html of a run
render([first, second], title="…")    # one report on several changes

Runs of other kinds are read, shown and written in one way::

orphans = Orphans.read(directory)     # and FleetChange, Failover, Reset, Replay, Readiness, PoisonedRecords, …
orphans.table()                       # for a log; not of PoisonedRecords
orphans.question()                    # for an approver; not of Readiness and SnapshotChanges, which nobody approves
orphans.write()                       # report.html of the run, whose URI is returned
"""

from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.change_report import render, write_report
from airflow_provider_connect_offsets.report.fleet import FleetChange
from airflow_provider_connect_offsets.report.flow.failover import Failover
from airflow_provider_connect_offsets.report.flow.mirror_reset import Reset
from airflow_provider_connect_offsets.report.flow.readiness import Readiness
from airflow_provider_connect_offsets.report.kinds import read_report
from airflow_provider_connect_offsets.report.orphans import Orphans
from airflow_provider_connect_offsets.report.poison.records import PoisonedRecords
from airflow_provider_connect_offsets.report.question import question
from airflow_provider_connect_offsets.report.replay.bounded import Replay
from airflow_provider_connect_offsets.report.snapshots.changes import SnapshotChanges
from airflow_provider_connect_offsets.report.standing import Pending
from airflow_provider_connect_offsets.report.tables import (
    as_text,
    offsets_table,
    outcome_line,
    plan_table,
    verdict_table,
)

__all__ = [
    "Change",
    "Failover",
    "FleetChange",
    "Orphans",
    "Pending",
    "PoisonedRecords",
    "Readiness",
    "Replay",
    "Reset",
    "SnapshotChanges",
    "as_text",
    "offsets_table",
    "outcome_line",
    "plan_table",
    "question",
    "read_report",
    "render",
    "verdict_table",
    "write_report",
]
