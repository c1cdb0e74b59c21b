"""Reports of runs (one self-contained HTML file each), tables for logs, and questions to approvers.

::

change = Change.read(run)             # at any stage
print(as_text(plan_table(change)))    # for a log; a rich console prints the table itself
question(change)                      # for an approver, in Markdown
write_report(run)                     # report.html of a run
render([first, second], title="…")    # one report on several changes
write_fleet_report(fleet)             # a row for each connector, with links to their reports
write_orphans_report(directory)       # offsets whose connector no longer exists
write_poison_report(directory)        # records on which a sink stood
write_failover_report(directory)      # consumer groups that move to another cluster
write_reset_report(run)               # the reset of a flow
write_replay_report(directory)        # an interval that a connector delivers once more
write_readiness_report(directory)     # how ready a MirrorMaker 2 flow is for a failover
"""

from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.change_report import render, write_report
from airflow_provider_connect_offsets.report.failover import (
    Failover,
    failover_question,
    failover_table,
    write_failover_report,
)
from airflow_provider_connect_offsets.report.fleet import FleetChange, fleet_question, fleet_table, write_fleet_report
from airflow_provider_connect_offsets.report.mirror_reset import (
    Reset,
    reset_question,
    reset_table,
    write_reset_report,
)
from airflow_provider_connect_offsets.report.orphans import (
    Orphans,
    OrphansPending,
    orphans_question,
    orphans_table,
    write_orphans_report,
)
from airflow_provider_connect_offsets.report.poison.records import (
    PoisonedRecords,
    poison_question,
    write_poison_report,
)
from airflow_provider_connect_offsets.report.question import question
from airflow_provider_connect_offsets.report.readiness import Readiness, readiness_table, write_readiness_report
from airflow_provider_connect_offsets.report.replay.bounded import (
    Replay,
    replay_question,
    replay_table,
    write_replay_report,
)
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
    "OrphansPending",
    "Pending",
    "PoisonedRecords",
    "Readiness",
    "Replay",
    "Reset",
    "as_text",
    "failover_question",
    "failover_table",
    "fleet_question",
    "fleet_table",
    "offsets_table",
    "orphans_question",
    "orphans_table",
    "outcome_line",
    "plan_table",
    "poison_question",
    "question",
    "readiness_table",
    "render",
    "replay_question",
    "replay_table",
    "reset_question",
    "reset_table",
    "verdict_table",
    "write_failover_report",
    "write_fleet_report",
    "write_orphans_report",
    "write_poison_report",
    "write_readiness_report",
    "write_replay_report",
    "write_report",
    "write_reset_report",
]
