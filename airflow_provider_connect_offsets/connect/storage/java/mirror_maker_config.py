"""The file of a dedicated MirrorMaker 2: several clusters, and a Connect worker for each flow between two of them.

Sources: ``MirrorMakerConfig.clusterProps`` and ``workerConfig``. The names of a flow's topics follow from its source
alone; ``replication.policy.separator`` is for other topics.
"""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.storage.java.settings import Settings

_CLIENT = ("bootstrap.servers", "security.protocol", "ssl.", "sasl.")
_CLIENTS = ("producer.", "consumer.", "admin.")
# What a flow's worker takes from the top level as it stands there, over what the cluster has of its own.
_COMMON = ("offset.storage", "config.storage", "status.storage", "config.providers")


def is_mirror_maker(file: Settings) -> bool:
    """Whether this is the file of a dedicated MirrorMaker 2, by its clusters and flows."""
    return "clusters" in file.values and any("->" in name for name in file.values)


def flow_settings(file: Settings, flow: str | None) -> Settings:
    """Give the settings of the worker of ``flow`` ("a->b"), or of the only enabled flow.

    Flows that merely run for their heartbeats are not enabled ones. Raises :class:`InvalidInput`, which lists the
    enabled flows, where ``flow`` is none of them, or is needed.
    """
    flows = enabled_flows(file)
    shown = ", ".join(flows) or "none (a->b.enabled = true enables one)"
    if flow is None and len(flows) != 1:
        raise file.refusal(f"This is a file of MirrorMaker 2, each flow keeps its own offsets: name one of {shown}.")
    asked = "".join((flow or flows[0]).split())
    if asked not in flows:
        raise file.refusal(f"{asked!r} is no enabled flow. Enabled are: {shown}.")
    source, target = asked.split("->")
    defaults = {
        "group.id": f"{source}-mm2",
        "offset.storage.topic": f"mm2-offsets.{source}.internal",
        "config.storage.topic": f"mm2-configs.{source}.internal",
    }
    common = {name: value for name, value in file.values.items() if name.startswith(_COMMON)}
    return file.derived({**defaults, **_cluster(file, target), **common}, f"{file.source} ({asked})")


def enabled_flows(file: Settings) -> list[str]:
    """The flows that are enabled, by the order of ``clusters``."""
    clusters = file.listed("clusters")
    flows = [f"{source}->{target}" for source in clusters for target in clusters if source != target]
    return [flow for flow in flows if (file.get(f"{flow}.enabled") or "").lower() == "true"]


def _cluster(file: Settings, cluster: str) -> dict[str, str]:
    """A cluster's own settings, and what reaches any cluster where it has none; for each kind of client too."""
    own = file.with_prefix(f"{cluster}.")
    shared = {name: value for name, value in file.values.items() if name.startswith(_CLIENT)}
    clients = {name: value for name, value in own.items() if name.startswith(_CLIENT)}
    both = {**shared, **clients}
    return {**both, **{f"{kind}{name}": value for kind in _CLIENTS for name, value in both.items()}, **own}
