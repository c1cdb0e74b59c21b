"""A connector that is created as STOPPED has its offsets before it first runs (Kafka 3.7)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import Unsupported
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from sandbox import Sandbox, wait_until
from sandbox.connectors import file_source_config
from tests.support.programs.kafka_versions import CHANGING, READ_ONLY, on

pytestmark = pytest.mark.versions
STARTING_ONLY = (READ_ONLY, "3.6.2")
NAME = "created-as-stopped"


@pytest.fixture
def connect(sandbox: Sandbox) -> Iterator[ConnectRest]:
    """The REST API of the version's worker."""
    with ConnectRest(ConnectEndpoint((sandbox.connect.url,))) as opened:
        yield opened


@on(*STARTING_ONLY)
def test_it_is_not_created_where_it_would_start(sandbox: Sandbox, connect: ConnectRest) -> None:
    """Workers before 3.7 know no initial state; nothing is created, and the sentence names version and release."""
    refusal = f"has Kafka {sandbox.version}, but creating a STOPPED connector .* needs Kafka 3.7 or later"

    with pytest.raises(Unsupported, match=refusal):
        connect.create(NAME, file_source_config(NAME, sandbox.data / NAME), initial_state=State.STOPPED)

    assert NAME not in connect.connectors()


@on(*(version for version in CHANGING if version not in STARTING_ONLY))
def test_it_gets_its_offsets_before_it_runs(sandbox: Sandbox, connect: ConnectRest) -> None:
    """Created, written and read back without a task ever."""
    file = sandbox.data / NAME
    offsets = Offsets.of([Entry.of({"filename": str(file)}, {"position": 5})])

    connect.create(NAME, file_source_config(NAME, file), initial_state=State.STOPPED)
    wait_until(lambda: connect.status(NAME).is_stopped, 60, f"{NAME} runs", progress=sandbox.connect.work)
    connect.write_offsets(NAME, offsets)

    assert connect.read_offsets(NAME).by_partition() == offsets.by_partition()
    connect.delete(NAME)
