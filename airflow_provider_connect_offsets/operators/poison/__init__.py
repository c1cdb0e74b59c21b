"""The record on which a sink has failed: found, kept, shown, and skipped."""

from airflow_provider_connect_offsets.operators.poison.approve import ApprovePoisonSkipOperator
from airflow_provider_connect_offsets.operators.poison.skip import (
    FindPoisonRecordOperator,
    ReleasePoisonedSinkOperator,
    SkipPoisonRecordOperator,
)

__all__ = [
    "ApprovePoisonSkipOperator",
    "FindPoisonRecordOperator",
    "ReleasePoisonedSinkOperator",
    "SkipPoisonRecordOperator",
]
