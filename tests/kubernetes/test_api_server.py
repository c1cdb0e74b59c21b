"""The API server is a real one: it authenticates, authorizes, validates, and does not outlive its owner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from kubernetes.client import AuthorizationV1Api
from kubernetes.client.exceptions import ApiException

from sandbox import wait_until
from sandbox.kubernetes import ApiServer, Cluster, Release
from tests.support.strimzi.scene import Strimzi

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]

_STARTING = """
import sys
from sandbox.kubernetes import ApiServer
with ApiServer() as server:
    print(server.root, *(process.pid for process in server.processes), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("verb", "group", "resource", "name", "allowed"),
    [
        ("patch", "kafka.strimzi.io", "kafkaconnectors", "", True),
        ("watch", "kafka.strimzi.io", "kafkamirrormaker2s", "", True),
        ("create", "kafka.strimzi.io", "kafkaconnectors", "", True),
        ("delete", "kafka.strimzi.io", "kafkaconnectors", "", True),
        ("get", "kafka.strimzi.io", "kafkaconnects", "", True),
        ("update", "", "configmaps", "", False),
        ("update", "kafka.strimzi.io", "kafkaconnectors/status", "", False),
        ("delete", "kafka.strimzi.io", "kafkamirrormaker2s", "", False),
        ("patch", "kafka.strimzi.io", "kafkaconnects", "", False),
        ("list", "", "configmaps", "", False),
        ("get", "", "secrets", "", False),
    ],
)
def test_the_example_roles_allow_what_is_needed(
    strimzi: Strimzi, verb: str, group: str, resource: str, name: str, *, allowed: bool
) -> None:
    """They allow nothing else: no secrets, no Connect clusters, no statuses."""
    if strimzi.reconciler is None:
        pytest.skip("Whom KUBECONFIG names may have other rights.")
    kind, _, part = resource.partition("/")
    requested = {"verb": verb, "group": group, "resource": kind, "subresource": part, "name": name}
    review = {"spec": {"resourceAttributes": {"namespace": strimzi.namespace, **requested}}}
    user = Cluster(strimzi.kubeconfig)

    answer = AuthorizationV1Api(user.client).create_self_subject_access_review(review)

    user.close()
    assert answer.status.allowed is allowed


def test_what_the_definitions_do_not_allow_is_refused(strimzi: Strimzi) -> None:
    """Strimzi's own definitions refuse a state that does not exist."""
    body = {"metadata": {"name": "wrong"}, "spec": {"class": "c", "state": "halted"}}

    with pytest.raises(ApiException) as refused:
        strimzi.resources.create("KafkaConnector", body)

    assert refused.value.status == 422
    assert "halted" in refused.value.body


def test_a_patch_of_an_outdated_resource_is_a_conflict(strimzi: Strimzi) -> None:
    """As optimistic locking has it."""
    outdated = {"metadata": {"resourceVersion": "1", "annotations": {"a": "b"}}}

    with pytest.raises(ApiException) as refused:
        strimzi.resources.merge("KafkaConnect", strimzi.connect_name, outdated)

    assert refused.value.status == 409


def test_both_servers_end_with_a_killed_owner(api_server: ApiServer) -> None:
    """Their processes end, and their files are removed."""
    assert api_server.processes[0].is_alive  # the programs are there, and need not be built here
    owner = subprocess.Popen(
        [sys.executable, "-c", _STARTING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    root, *pids = owner.stdout.readline().split()
    assert all(psutil.pid_exists(int(pid)) for pid in pids)

    owner.kill()
    owner.communicate()

    wait_until(lambda: not any(psutil.pid_exists(int(pid)) for pid in pids), 60, f"{pids} still run")
    wait_until(lambda: not Path(root).exists(), 60, f"{root} is still there")
