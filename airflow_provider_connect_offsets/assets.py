"""Airflow assets for the offsets that are changed: a connector's, or a consumer group's.

Each applied change is an event of such an asset, so a DAG whose ``schedule`` is one of them runs after it::

    DAG("totals_again", schedule=connector_asset("Jf2C…", "orders-sink"))

An asset's name is its URI: Airflow treats assets with the same URI but different names as different assets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, unquote, urlsplit

from airflow.sdk import Asset, AssetAlias

if TYPE_CHECKING:
    from airflow.providers.common.compat.openlineage.facet import Dataset

#: The scheme of the URIs; ``get_provider_info`` registers it.
SCHEME = "connect-offsets"
#: Alias of the events of all applied changes: a DAG with ``schedule=ANY_CHANGE`` runs after each change.
ANY_CHANGE = AssetAlias("connect-offsets")
_GROUPS = "groups"
_ALL = "*"


def connector_asset(cluster: str, connector: str) -> Asset:
    """Return the asset of a connector's offsets, ``connect-offsets://<cluster>/<connector>``.

    Args:
        cluster: Name of the Connect cluster as in datasets: the id of the Kafka cluster that its workers use; for a
            standalone worker that is changed in its storage, the path of its offsets file.
        connector: The connector's name.
    """
    return _asset(cluster, _encode(connector))


def group_asset(kafka_cluster: str, group: str) -> Asset:
    """Return the asset of a consumer group's offsets, ``connect-offsets://<cluster>/groups/<group>``.

    Args:
        kafka_cluster: Id of the Kafka cluster.
        group: The group's name.
    """
    return _asset(kafka_cluster, f"{_GROUPS}/{_encode(group)}")


def moved_groups_asset(kafka_cluster: str) -> Asset:
    """Return the asset of all groups that failovers commit on a cluster, ``connect-offsets://<cluster>/groups/*``."""
    return _asset(kafka_cluster, f"{_GROUPS}/{_ALL}")


def normalize(uri: SplitResult) -> SplitResult:
    """Return ``uri`` with exactly those characters percent-encoded that the other functions encode.

    Airflow calls it for each asset with this scheme. Raises :class:`ValueError` for a URI that names no connector and
    no group.
    """
    parts = [part if part == _ALL else _encode(unquote(part)) for part in uri.path.split("/")[1:]]
    is_group = len(parts) == 2 and parts[0] == _GROUPS
    if not uri.netloc or not (is_group or len(parts) == 1) or not all(parts):
        raise ValueError(
            f"{uri.geturl()!r} can't be the URI of an asset. Write {SCHEME}://<cluster>/<connector> or "
            f"{SCHEME}://<cluster>/{_GROUPS}/<group>, with percent-encoded names."
        )
    return uri._replace(netloc=_encode(unquote(uri.netloc)), path=f"/{'/'.join(parts)}")


def openlineage_dataset(asset: Asset, _lineage_context: object = None) -> Dataset:
    """Return the OpenLineage dataset of an asset: its cluster is the namespace, the rest of its URI the name.

    OpenLineage's provider calls it for each asset with this scheme.
    """
    from airflow.providers.common.compat.openlineage.facet import Dataset  # noqa: PLC0415 - loads OpenLineage's client

    parsed = urlsplit(asset.uri)
    return Dataset(namespace=f"{SCHEME}://{parsed.netloc}", name=parsed.path.removeprefix("/"))


def _asset(cluster: str, path: str) -> Asset:
    return Asset(uri=f"{SCHEME}://{_encode(cluster)}/{path}")


def _encode(name: str) -> str:
    return quote(name, safe="")
