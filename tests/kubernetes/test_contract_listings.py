"""The ConfigMaps that real operators list into, before 1.0 and from 1.0 on, and our client, which uses the same."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.exceptions import Rejected
from sandbox.kubernetes import Cluster, Release
from tests.support.strimzi.desired import Operation
from tests.support.strimzi.managed import KINDS, Managed
from tests.support.strimzi.resources import LABEL
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import change_offsets, opened, plain

pytestmark = pytest.mark.kubernetes

BEFORE_1_0 = pytest.mark.parametrize("release", [Release.V1BETA2, Release.BOTH], indirect=True, scope="session")
FROM_1_0 = pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session")
ALL = pytest.mark.parametrize("release", list(Release), indirect=True, scope="session")
MANAGED_BY = "app.kubernetes.io/managed-by"


@ALL
def test_the_operator_owns_a_listing_in_its_own_version_of_the_api(release: Release, connector: Managed) -> None:
    """That is v1beta2 before 1.0, whatever is served; the owner's deletion waits for the ConfigMap's."""
    connector.ask(Operation.LIST).done()

    assert _metadata_of(connector)["ownerReferences"] == [
        {
            "apiVersion": f"kafka.strimzi.io/{'v1' if release is Release.V1 else 'v1beta2'}",
            "kind": connector.kind,
            "name": connector.name,
            "uid": connector.read()["metadata"]["uid"],
            "controller": False,
            "blockOwnerDeletion": True,
        }
    ]


@ALL
@pytest.mark.parametrize("kind", KINDS)
def test_a_client_changes_offsets_in_each_release_and_leaves_no_config_map(strimzi: Strimzi, kind: str) -> None:
    """In some releases the operator owns the ConfigMap that the client has created, and takes over its label."""
    with plain(strimzi, kind) as made:
        change_offsets(made)


@BEFORE_1_0
def test_before_1_0_a_listing_keeps_its_labels_and_its_owner(connector: Managed) -> None:
    """The labels of the resource are added, and its owner reference only where there is none."""
    _create_listing(connector, owner="of-someone-else")

    connector.ask(Operation.LIST).done()

    metadata = _metadata_of(connector)
    own = connector.read()["metadata"].get("labels", {})
    assert metadata["labels"] == {MANAGED_BY: "someone-else", "mine": "yes", **own}
    assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["of-someone-else"]


@FROM_1_0
def test_from_1_0_on_a_listing_gets_strimzi_s_labels_and_one_more_owner(connector: Managed) -> None:
    """The operator takes over what others manage; what only they have stays."""
    _create_listing(connector, owner="of-someone-else")

    connector.ask(Operation.LIST).done()

    metadata = _metadata_of(connector)
    is_mirror = connector.kind == "KafkaMirrorMaker2"
    cluster = connector.name if is_mirror else connector.strimzi.connect_name
    labels = {
        LABEL: cluster,
        MANAGED_BY: "strimzi-cluster-operator",
        "app.kubernetes.io/name": "kafka-mirror-maker-2" if is_mirror else "kafka-connect",
        "app.kubernetes.io/instance": cluster,
        "mine": "yes",
    }
    assert labels.items() <= metadata["labels"].items()
    uids = {owner["uid"] for owner in metadata["ownerReferences"]}
    assert uids == {"of-someone-else", connector.read()["metadata"]["uid"]}


@FROM_1_0
def test_what_a_killed_task_has_left_is_used_after_its_resource_was_created_again(strimzi: Strimzi) -> None:
    """The operator has taken over our label, and the garbage collector is late, so the owner is the deleted one."""
    with plain(strimzi) as made:
        spec, user = made.read()["spec"], Cluster(strimzi.kubeconfig)
        killed = ConnectStrimzi(user.client, namespace=strimzi.namespace, cluster=strimzi.connect_name)
        killed.read_offsets(made.connector)
        user.close()
        strimzi.delete(made.kind, made.name)
        strimzi.connector(made.name, spec["class"], spec["config"])
        left = _metadata_of(made, f"{made.name}-connect-offsets")
        assert left["labels"][MANAGED_BY] == "strimzi-cluster-operator"
        assert [owner["uid"] for owner in left["ownerReferences"]] != [made.read()["metadata"]["uid"]]

        change_offsets(made)


@ALL
def test_a_config_map_with_another_owner_is_not_ours(strimzi: Strimzi) -> None:
    """Though someone has listed into it by hand, so that from 1.0 on the resource owns it, too."""
    with plain(strimzi) as made:
        name = f"{made.name}-connect-offsets"
        _create_listing(made, name, owner="of-someone-else")
        made.change({"listOffsets": {"toConfigMap": {"name": name}}})
        strimzi.observed(made.kind, made.name)
        made.ask(Operation.LIST).done()
        listed = strimzi.resources.config_map(name)

        with opened(strimzi, made) as client, pytest.raises(Rejected, match=f"a ConfigMap '{name}' is needed"):
            client.read_offsets(made.connector)

        assert strimzi.resources.config_map(name) == listed
        strimzi.resources.delete_config_map(name)


def _create_listing(made: Managed, name: str = "", *, owner: str) -> None:
    """Create a ConfigMap of someone else, in which the operator lists."""
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "of-someone-else", "uid": owner}
    labels = {MANAGED_BY: "someone-else", "mine": "yes"}
    metadata = {"name": name or made.listed, "labels": labels, "ownerReferences": [reference]}
    made.resources.create_config_map({"metadata": metadata, "data": {"note": "keep me"}})


def _metadata_of(made: Managed, config_map: str = "") -> dict[str, Any]:
    """The metadata of the ConfigMap that the offsets are listed into."""
    found = made.resources.config_map(config_map or made.listed)
    assert found is not None
    metadata: dict[str, Any] = found["metadata"]
    return metadata
