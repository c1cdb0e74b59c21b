"""Which rights in Kafka each ready DAG needs, and the table that shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from airflow_provider_connect_offsets.offsets.flow import Side
from sandbox import Sandbox
from tests.support.airflow import rights_scenes as scenes
from tests.support.airflow.rights import (
    ALTER,
    CONFIGS,
    DELETE,
    DESCRIBE,
    GROUP,
    READ,
    TOPIC,
    WRITE,
    Right,
)
from tests.support.airflow.rights_scenes import (
    CHECKPOINTS,
    COPIES,
    OF_FLOW,
    OF_SINK,
    OF_TOPICS,
    REMOTE,
    SYNCS,
    Scene,
)

SOURCE, TARGET = Side.SOURCE, Side.TARGET


@dataclass(frozen=True)
class Needs:
    """The rights that a DAG needs for what ``what`` says; ``start`` makes a scene in a sandbox, with a workspace."""

    dag_id: str
    what: str
    rights: tuple[Right, ...]
    start: Callable[[Sandbox, str], Scene] = field(compare=False)

    def __str__(self) -> str:
        return f"{self.dag_id} {self.what}".strip()


NEEDS: tuple[Needs, ...] = (
    Needs(
        "connector_offsets_change",
        "of a sink",
        (
            Right(TARGET, DESCRIBE, TOPIC, OF_TOPICS, "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, OF_TOPICS, ""),
            Right(TARGET, DESCRIBE, GROUP, OF_SINK, ""),
        ),
        lambda sandbox, _: scenes.sink(sandbox, to="shift", value="-3"),
    ),
    Needs(
        "connector_offsets_change",
        "of a sink, `to=skip`",
        (
            Right(TARGET, READ, TOPIC, OF_TOPICS, ""),
            Right(TARGET, CONFIGS, TOPIC, OF_TOPICS, ""),
            Right(TARGET, DESCRIBE, GROUP, OF_SINK, ""),
        ),
        scenes.skipping,
    ),
    Needs(
        "connector_offsets_change",
        "of a MirrorSource",
        (
            Right(SOURCE, DESCRIBE, TOPIC, OF_TOPICS, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, OF_TOPICS, ""),
        ),
        scenes.mirror,
    ),
    Needs(
        "connector_offsets_snapshot",
        "",
        (Right(TARGET, DESCRIBE, TOPIC, OF_TOPICS, ""),),
        lambda sandbox, _: scenes.sink(sandbox, kafka_conn_id="kafka_target"),
    ),
    Needs(
        "group_offsets_change",
        "",
        (
            Right(TARGET, READ, GROUP, "the group", "apply"),
            Right(TARGET, READ, TOPIC, "its topics", "apply"),
            Right(TARGET, CONFIGS, TOPIC, "its topics", ""),
        ),
        scenes.group,
    ),
    Needs(
        "connector_offsets_poison",
        "",
        (
            Right(TARGET, READ, TOPIC, "the sink's topics", "find"),
            Right(TARGET, DESCRIBE, GROUP, OF_SINK, ""),
            Right(TARGET, READ, TOPIC, "`connect-offsets-poison-*`", "find"),
            Right(TARGET, DELETE, TOPIC, "`connect-offsets-poison-*`", ""),
        ),
        scenes.poisoned,
    ),
    Needs(
        "connector_offsets_orphans",
        "",
        (
            Right(TARGET, READ, TOPIC, "the workers' offsets topic", "snapshot"),
            Right(TARGET, WRITE, TOPIC, "the workers' offsets topic", "remove"),
        ),
        scenes.orphans,
    ),
    Needs(
        "mirror_reset",
        "",
        (
            Right(SOURCE, DESCRIBE, TOPIC, OF_FLOW, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, OF_FLOW, ""),
            Right(SOURCE, READ, TOPIC, SYNCS, "snapshot"),
            Right(SOURCE, ALTER, TOPIC, SYNCS, "apply"),
            Right(SOURCE, DELETE, TOPIC, SYNCS, "apply"),
            Right(TARGET, READ, TOPIC, CHECKPOINTS, "snapshot"),
            Right(TARGET, DESCRIBE, TOPIC, REMOTE, "snapshot"),
        ),
        scenes.reset,
    ),
    Needs(
        "mirror_readiness",
        "",
        (
            Right(SOURCE, READ, TOPIC, OF_FLOW, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, OF_FLOW, "snapshot"),
            Right(SOURCE, READ, TOPIC, SYNCS, "snapshot"),
            Right(SOURCE, DESCRIBE, GROUP, "the groups", ""),
            Right(TARGET, DESCRIBE, GROUP, "the groups", "snapshot"),
            Right(TARGET, READ, TOPIC, REMOTE, "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, REMOTE, "snapshot"),
        ),
        scenes.observed,
    ),
    Needs(
        "mirror_failover",
        "",
        (
            Right(SOURCE, READ, TOPIC, OF_FLOW, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, OF_FLOW, "snapshot"),
            Right(SOURCE, READ, TOPIC, SYNCS, "snapshot"),
            Right(SOURCE, DESCRIBE, GROUP, "the groups", "preview"),
            Right(TARGET, READ, GROUP, "the groups", "commit"),
            Right(TARGET, READ, TOPIC, REMOTE, "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, REMOTE, "snapshot"),
        ),
        scenes.observed,
    ),
    Needs(
        "mirror_failover_restore",
        "of groups that were not there",
        (
            Right(TARGET, DESCRIBE, TOPIC, REMOTE, "restore"),
            Right(TARGET, DELETE, GROUP, "the groups", "restore"),
        ),
        scenes.failed_over,
    ),
    Needs(
        "mirror_failback",
        "",
        (
            Right(SOURCE, READ, TOPIC, OF_FLOW, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, OF_FLOW, "snapshot"),
            Right(SOURCE, READ, TOPIC, SYNCS, "snapshot"),
            Right(SOURCE, READ, GROUP, "the groups", "commit"),
            Right(SOURCE, READ, TOPIC, COPIES, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, COPIES, "snapshot"),
            Right(TARGET, DESCRIBE, GROUP, "the groups", "preview"),
            Right(TARGET, READ, TOPIC, "the topics that come back", "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, "the topics that come back", "snapshot"),
            Right(TARGET, READ, TOPIC, "`mm2-offset-syncs.<source>.internal`", "snapshot"),
            Right(TARGET, READ, TOPIC, REMOTE, "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, REMOTE, "snapshot"),
        ),
        scenes.failing_back,
    ),
)


def each_right() -> list[tuple[Needs, Right]]:
    """Each line of the table."""
    return [(needs, right) for needs in NEEDS for right in needs.rights]


def table() -> str:
    """The table of docs/security.md."""
    lines = ["| DAG | cluster | right | on | without it |", "|---|---|---|---|---|"]
    for needs in NEEDS:
        name = " ".join(filter(None, (f"`{needs.dag_id}`", needs.what)))
        both = len({right.on for right in needs.rights}) > 1
        for right in needs.rights:
            cluster = right.on.value if both else ""
            without = f"`{right.task}` fails" if right.task else "a warning"
            whose = f"{right.kind.name.lower()}: {right.whose}"
            lines.append(f"| {name} | {cluster} | {right.operation} | {whose} | {without} |")
            name = ""
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 - to be pasted
