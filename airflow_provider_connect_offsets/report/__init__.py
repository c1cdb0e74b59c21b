"""The page a person reads: one self-contained HTML file per run, and tables for the console."""

from airflow_provider_connect_offsets.report.change import Change, Stage
from airflow_provider_connect_offsets.report.page import render, write_page
from airflow_provider_connect_offsets.report.tables import (
    as_text,
    offsets_table,
    outcome_line,
    plan_table,
    verdict_table,
)

__all__ = [
    "Change",
    "Stage",
    "as_text",
    "offsets_table",
    "outcome_line",
    "plan_table",
    "render",
    "verdict_table",
    "write_page",
]
