"""The report on records on which a sink stood, and the question to the approver."""

from airflow_provider_connect_offsets.report.poison.page import PoisonedRecords, write_poison_report
from airflow_provider_connect_offsets.report.poison.question import poison_question

__all__ = ["PoisonedRecords", "poison_question", "write_poison_report"]
