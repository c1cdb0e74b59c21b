"""The faults of the suites know which calls of a client change something."""

from __future__ import annotations

import inspect

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, ConnectorRegistry, SharedStore
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.observe.clients import Logs
from tests.support.faults.faulty_clients import CHANGES

CLIENTS = (ConnectorControl, ConnectorRegistry, ConsumerGroups, KafkaCluster, Logs, OffsetsTopic, SharedStore)
#: How the docstring of a method begins that changes nothing.
READS = {"Look", "Raise", "Read", "Return", "Say", "Watch", "Yield"}
#: What else a client does: of ``prepare``, each request to Kubernetes is broken instead.
OTHERS = {"ask", "close", "prepare", "request_offsets"}


def assert_changes_are_known(client: type) -> None:
    """``CHANGES`` has the methods of ``client`` whose docstrings begin as no read's does, and no others of its own."""
    methods = {name: method for name, method in inspect.getmembers(client, callable) if not name.startswith("_")}
    changes = {name for name, method in methods.items() if (inspect.getdoc(method) or "").split()[0] not in READS}

    assert changes - OTHERS == CHANGES.intersection(methods)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
def test_each_call_that_changes_something_is_known(client: type) -> None:
    """A call that is taken for a read is not broken after it was made, as if that made no difference."""
    assert_changes_are_known(client)


def test_each_call_to_kubernetes_that_changes_something_is_known() -> None:
    """The same of the client that an extra brings."""
    api = pytest.importorskip("airflow_provider_connect_offsets.connect.strimzi.kubernetes_api")

    assert_changes_are_known(api.KubernetesApi)
