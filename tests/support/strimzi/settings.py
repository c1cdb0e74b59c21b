"""How the operator behaves where tests change it; times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Settings:
    """Settings that may be changed while the operator runs."""

    interval: float | None = 1.0
    """Between passes over everything, which Strimzi does every 120; None: never."""
    status_delay: float = 0.0
    """Between the removal of an annotation and the status."""
    lock_timeout: float = 10.0
    """After which a pass is given up that waits for the lock of its cluster."""
    mirror_cost: float = 0.0
    """What a pass over a KafkaMirrorMaker2 takes before it comes to the connectors; of an idle Strimzi about 1."""
    restart_backoff: float = 0.0
    """Between two automatic restarts of a connector, and before it counts as recovered; Strimzi takes minutes."""
