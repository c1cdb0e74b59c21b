"""The journals of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment


def journals(store: str | JournalStore) -> Iterator[Journal]:
    """Yield all journals of a store, or under its URI, each named after its directory."""
    kept = store if isinstance(store, JournalStore) else JournalStore(store)
    for cluster in files.list_names(kept.uri):
        for name in files.list_names(join(kept.uri, cluster)):
            yield Journal(kept, cluster=cluster, resource=name).at(name, join(kept.uri, cluster, name))


def journals_of(store: JournalStore, *, cluster: str, resources: Iterable[str]) -> Iterator[Journal]:
    """Yield the journal of each of ``resources`` of a cluster that has one."""
    present = set(files.list_names(join(store.uri, unique_segment(cluster))))
    for name in resources:
        if unique_segment(name) in present:
            yield Journal(store, cluster=cluster, resource=name)
