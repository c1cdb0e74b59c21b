"""The Roles of examples/strimzi grant what the client requires, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import Right
from airflow_provider_connect_offsets.connect.strimzi.preconditions import existence_rights, offset_rights
from airflow_provider_connect_offsets.connect.strimzi.resources import ResourceKind

pytestmark = pytest.mark.kubernetes
EXAMPLES = Path(__file__).parents[2] / "examples" / "strimzi"


def test_the_role_grants_what_changes_of_offsets_need() -> None:
    """The client refuses to begin without any of them; it calls nothing that needs another one."""
    needed = {*offset_rights(ResourceKind.CONNECTOR), *offset_rights(ResourceKind.MIRROR_MAKER)}
    assert _granted("role") == needed


def test_the_role_for_creating_and_deleting_grants_that_in_addition() -> None:
    assert _granted("role-create-delete") == {*existence_rights()}


def _granted(name: str) -> set[Right]:
    rules = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())["rules"]
    return {
        Right(verb, plural, group)
        for rule in rules
        for group in rule["apiGroups"]
        for plural in rule["resources"]
        for verb in rule["verbs"]
    }
