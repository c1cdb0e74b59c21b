"""Reads the file of a dedicated MirrorMaker 2, which has a Connect worker for each flow between two clusters.

Sources: ``MirrorMakerConfig.clusterProps`` and ``workerConfig``. The names of a worker's topics depend only on the
flow's source; ``replication.policy.separator`` does not apply to them.
"""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.storage.java.settings import Settings

_CLIENT = ("bootstrap.servers", "security.protocol", "ssl.", "sasl.")
_CLIENTS = ("producer.", "consumer.", "admin.")
# Top-level settings of the file that override those of the cluster for a flow's worker.
_COMMON = ("offset.storage", "config.storage", "status.storage", "config.providers")


def is_mirror_maker(file: Settings) -> bool:
    """Whether this is the file of a dedicated MirrorMaker 2, with clusters and flows."""
    return "clusters" in file.values and any("->" in name for name in file.values)


def flow_settings(file: Settings, flow: str | None) -> Settings:
    """Return the settings of the worker of ``flow`` ("a->b"), or of the only enabled flow.

    Flows that only run for their heartbeats are not enabled.

    Raises:
        InvalidInput: ``flow`` is not enabled, or it is None and several or no flows are; the message lists them.
    """
    flows = enabled_flows(file)
    known = ", ".join(flows) or "none (enable a flow with a->b.enabled = true)"
    if flow is None and len(flows) != 1:
        raise file.refusal(
            f"In this file of MirrorMaker 2, each flow has its own offsets. Give an enabled flow with --flow: {known}."
        )
    requested = "".join((flow or flows[0]).split())
    if requested not in flows:
        raise file.refusal(f"{requested!r} is not an enabled flow. Enabled flows: {known}.")
    source, target = requested.split("->")
    defaults = {
        "group.id": f"{source}-mm2",
        "offset.storage.topic": f"mm2-offsets.{source}.internal",
        "config.storage.topic": f"mm2-configs.{source}.internal",
    }
    common = {name: value for name, value in file.values.items() if name.startswith(_COMMON)}
    return file.derive({**defaults, **_cluster(file, target), **common}, f"{file.source} ({requested})")


def enabled_flows(file: Settings) -> list[str]:
    """Return the enabled flows, in the order of ``clusters``."""
    clusters = file.get_list("clusters")
    flows = [f"{source}->{target}" for source in clusters for target in clusters if source != target]
    return [flow for flow in flows if (file.get_untrimmed(f"{flow}.enabled") or "").lower() == "true"]


def _cluster(file: Settings, cluster: str) -> dict[str, str]:
    """Return a cluster's own settings and shared ones that it lacks; client settings for each kind of client too."""
    own = file.with_prefix(f"{cluster}.")
    shared = {name: value for name, value in file.values.items() if name.startswith(_CLIENT)}
    clients = {name: value for name, value in own.items() if name.startswith(_CLIENT)}
    both = {**shared, **clients}
    return {**both, **{f"{kind}{name}": value for kind in _CLIENTS for name, value in both.items()}, **own}
