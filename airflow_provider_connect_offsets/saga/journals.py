"""The journals that a workspace has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment


def journals(root: str) -> Iterator[Journal]:
    """Yield all journals under ``root``, each named after its directory."""
    for cluster in files.list_names(root):
        for name in files.list_names(join(root, cluster)):
            yield Journal(root, cluster=cluster, resource=name).at(name, join(root, cluster, name))


def journals_of(root: str, *, cluster: str, resources: Iterable[str]) -> Iterator[Journal]:
    """Yield the journals under ``root`` of those resources of a cluster that have one."""
    present = set(files.list_names(join(root, unique_segment(cluster))))
    for name in resources:
        if unique_segment(name) in present:
            yield Journal(root, cluster=cluster, resource=name)
