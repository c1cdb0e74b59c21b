"""The page a person reads: one self-contained HTML file per run, and tables for the console.

What stands here is public::

    change = Change.read(run)             # whatever stage it has reached
    print(as_text(plan_table(change)))    # for a log; a rich console prints the table itself
    question(change)                      # what an approver is asked, in Markdown
    write_page(run)                       # report.html of one run
    render([first, second], title="…")    # one page over several
    write_fleet_page(fleet)               # a line for each connector, with links to their pages
    write_orphans_page(directory)         # offsets whose connector is gone
    write_failover_page(directory)        # consumer groups that go to another cluster
    write_reset_page(run)                 # the reset of a flow: a change, and what goes beside its offsets
"""

from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.failover import (
    Failover,
    failover_question,
    failover_table,
    write_failover_page,
)
from airflow_provider_connect_offsets.report.fleet import FleetChange, fleet_question, fleet_table, write_fleet_page
from airflow_provider_connect_offsets.report.mirror_reset import (
    Reset,
    reset_question,
    reset_table,
    write_reset_page,
)
from airflow_provider_connect_offsets.report.orphans import (
    Orphans,
    OrphansPending,
    orphans_question,
    orphans_table,
    write_orphans_page,
)
from airflow_provider_connect_offsets.report.page import render, write_page
from airflow_provider_connect_offsets.report.question import question
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
    "question",
    "render",
    "reset_question",
    "reset_table",
    "verdict_table",
    "write_failover_page",
    "write_fleet_page",
    "write_orphans_page",
    "write_page",
    "write_reset_page",
]
