"""Which rights in Kafka each ready DAG needs, what its runs work on in tests, and the table that shows the rights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Side
from sandbox import Sandbox, wait_until
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
from tests.support.faults.orphan_cell import Cell
from tests.support.faults.reset_cell import ResetCell
from tests.support.flows.failing_back import Leading, away_positions, merged, produce
from tests.support.flows.failing_over import Flowing
from tests.support.flows.flows import Changer, MirrorFlow, SinkFlow
from tests.support.flows.group_changer import PlainGroup
from tests.support.flows.groups import commit_groups
from tests.support.flows.poisoned import JSON, KEYS_ARE_TEXT, Poisoned, rows

SOURCE, TARGET = Side.SOURCE, Side.TARGET

# Which topics and groups, as the table says it.
_OF_TOPICS, _OF_SINK = "the connector's topics", "the sink's group, `connect-<name>`"
_SYNCS, _CHECKPOINTS = "`mm2-offset-syncs.<target>.internal`", "`<source>.checkpoints.internal`"
_OF_FLOW, _REMOTE = "the flow's topics", "`<source>.*`, the remote topics and the checkpoints"
_COPIES = "`<target>.*`, their copies"


@dataclass(frozen=True)
class Scene:
    """What a run of a DAG works on.

    Attributes:
        params: The run's Params.
        names: Topics and groups, by the words that the table has for them.
        close: Removes what goes on.
        after: The DAG that runs first, with all its rights; ours takes back what that run has done. Empty: none.
        worker: Address of its Connect cluster, if it isn't the sandbox's.
    """

    params: Mapping[str, Any]
    names: Mapping[str, tuple[str, ...]]
    close: Callable[[], None] = lambda: None
    after: str = field(default="", kw_only=True)
    worker: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Needs:
    """The rights that a DAG needs for what ``what`` says; ``start`` makes a scene in a sandbox, with a workspace."""

    dag_id: str
    what: str
    rights: tuple[Right, ...]
    start: Callable[[Sandbox, str], Scene] = field(compare=False)

    def __str__(self) -> str:
        return f"{self.dag_id} {self.what}".strip()


def _sink(sandbox: Sandbox, **params: Any) -> Scene:
    flow = SinkFlow.start(sandbox)
    names = {_OF_TOPICS: (flow.topic,), _OF_SINK: (f"connect-{flow.name}",)}
    which = "connector" if "to" in params else "connectors"
    return Scene({which: flow.name, **params}, names, lambda: sandbox.connect.delete(flow.name))


def _skipping(sandbox: Sandbox, _workspace: str) -> Scene:
    scene = _sink(sandbox, to="skip", value="1")
    sandbox.connect.pause(scene.params["connector"])
    [topic] = scene.names[_OF_TOPICS]
    sandbox.target.produce(topic, ["more"] * 50, partition=0)
    return scene


def _mirror(sandbox: Sandbox, _workspace: str) -> Scene:
    flow = MirrorFlow.start(sandbox)
    params = {"connector": flow.name, "to": "earliest", "kafka_conn_id": "kafka_source"}
    return Scene(params, {_OF_TOPICS: (flow.topic,)}, lambda: sandbox.connect.delete(flow.name))


def _group(sandbox: Sandbox, _workspace: str) -> Scene:
    group = PlainGroup.start(sandbox.target)
    names = {"the group": (group.name,), "its topics": (group.topic, group.other)}
    return Scene({"groups": group.name, "to": "earliest"}, names)


def _poisoned(sandbox: Sandbox, workspace: str) -> Scene:
    changer = Changer(None, workspace, sandbox.connect.url, sandbox.target, str(sandbox.target.cluster_id()))  # type: ignore[arg-type]
    sink = Poisoned.start(sandbox, changer, [*rows(0, 2), "{", *rows(2, 2)], {**JSON, **KEYS_ARE_TEXT}, position=0)
    names = {
        "the sink's topics": (sink.topic,),
        _OF_SINK: (f"connect-{sink.name}",),
        "`connect-offsets-poison-*`": ("connect-offsets-poison-*",),
    }
    return Scene({"connector": sink.name, "kafka_conn_id": "kafka_target"}, names, sink.remove)


def _reset(sandbox: Sandbox, _workspace: str) -> Scene:
    cell = ResetCell.start(sandbox)
    names = {
        _OF_FLOW: cell.topics,
        _REMOTE: (cell.flow.target_topic("*"),),
        _SYNCS: (cell.flow.offset_syncs_topic,),
        _CHECKPOINTS: (cell.flow.checkpoints_topic,),
    }
    return Scene(cell.params, names, cell.close)


def _flowing(sandbox: Sandbox) -> tuple[Flowing, dict[str, tuple[str, ...]]]:
    flowing = Flowing.start(sandbox)
    flowing.live_through(40, rewind_to=25, more=10)
    ends = {number: end for number, (_start, end) in sandbox.source.log_bounds(flowing.topic).items()}
    # There is no checkpoint behind the last offset sync, where random positions may all be.
    read_all = {TopicPartition(flowing.topic, number): end for number, end in ends.items()}
    groups = flowing.random_positions(1, Random(flowing.mark)) | {f"{flowing.mark}-all": read_all}
    commit_groups(sandbox.source, groups)
    checkpoints = flowing.flow.checkpoints_topic
    wait_until(lambda: sandbox.target.log_bounds(checkpoints)[0][1] > 0, 60, "there is no checkpoint")
    return flowing, {
        "the groups": tuple(groups),
        _OF_FLOW: (flowing.topic,),
        _REMOTE: (flowing.flow.target_topic("*"),),
        _SYNCS: (flowing.flow.offset_syncs_topic,),
        _CHECKPOINTS: (checkpoints,),
    }


def _observed(sandbox: Sandbox, _workspace: str) -> Scene:
    flowing, names = _flowing(sandbox)
    connectors = {"source_connector": flowing.source_connector, "checkpoint_connector": flowing.checkpoint_connector}
    return Scene({**connectors, "groups": f"{flowing.mark}-.*"}, names, flowing.close)


def _failed_over(sandbox: Sandbox, workspace: str) -> Scene:
    return replace(_observed(sandbox, workspace), after="mirror_failover")


def _failing_back(sandbox: Sandbox, _workspace: str) -> Scene:
    flowing, names = _flowing(sandbox)
    sandbox.target.create_topic(flowing.topic, partitions=flowing.partitions)
    produce(sandbox.target, flowing.topic, 30, mark="there")
    leading = Leading.start(flowing, flowing.topic)
    leading.wait_until_replicated()
    random = Random(flowing.mark)
    groups = merged(*(away_positions(flowing, topic, 2, random) for topic in (flowing.target_topic, flowing.topic)))
    commit_groups(sandbox.target, groups)
    connectors = {"source_connector": leading.connector, "forward_connector": flowing.source_connector}
    back = flowing.flow.opposite()
    more = {
        "the groups": tuple(groups),
        "`mm2-offset-syncs.<source>.internal`": (back.offset_syncs_topic,),
        "the topics that come back": (flowing.topic,),
        _COPIES: (back.target_topic("*"),),
    }

    def close() -> None:
        leading.close()
        flowing.close()

    return Scene({**connectors, "rewind": ".*", "groups": f"{flowing.mark}-.*"}, {**names, **more}, close)


def _orphans(sandbox: Sandbox, _workspace: str) -> Scene:
    name = f"orphans-{uuid4().hex[:6]}"
    sandbox.target.create_topic(f"{name}-lines")
    cell = Cell(sandbox, sandbox.another_cluster(name), name)
    cell.create("kept")
    cell.gone("gone")
    return Scene(
        {"offsets_topic": cell.topic, "remove": True},
        {"the workers' offsets topic": (cell.topic,)},
        cell.worker.process.close,
        worker=cell.worker.url,
    )


NEEDS: tuple[Needs, ...] = (
    Needs(
        "connector_offsets_change",
        "of a sink",
        (
            Right(TARGET, DESCRIBE, TOPIC, _OF_TOPICS, "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, _OF_TOPICS, ""),
            Right(TARGET, DESCRIBE, GROUP, _OF_SINK, ""),
        ),
        lambda sandbox, _: _sink(sandbox, to="shift", value="-3"),
    ),
    Needs(
        "connector_offsets_change",
        "of a sink, `to=skip`",
        (
            Right(TARGET, READ, TOPIC, _OF_TOPICS, ""),
            Right(TARGET, CONFIGS, TOPIC, _OF_TOPICS, ""),
            Right(TARGET, DESCRIBE, GROUP, _OF_SINK, ""),
        ),
        _skipping,
    ),
    Needs(
        "connector_offsets_change",
        "of a MirrorSource",
        (
            Right(SOURCE, DESCRIBE, TOPIC, _OF_TOPICS, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, _OF_TOPICS, ""),
        ),
        _mirror,
    ),
    Needs(
        "connector_offsets_snapshot",
        "",
        (Right(TARGET, DESCRIBE, TOPIC, _OF_TOPICS, ""),),
        lambda sandbox, _: _sink(sandbox, kafka_conn_id="kafka_target"),
    ),
    Needs(
        "group_offsets_change",
        "",
        (
            Right(TARGET, READ, GROUP, "the group", "apply"),
            Right(TARGET, READ, TOPIC, "its topics", "apply"),
            Right(TARGET, CONFIGS, TOPIC, "its topics", ""),
        ),
        _group,
    ),
    Needs(
        "connector_offsets_poison",
        "",
        (
            Right(TARGET, READ, TOPIC, "the sink's topics", "find"),
            Right(TARGET, DESCRIBE, GROUP, _OF_SINK, ""),
            Right(TARGET, READ, TOPIC, "`connect-offsets-poison-*`", "find"),
            Right(TARGET, DELETE, TOPIC, "`connect-offsets-poison-*`", ""),
        ),
        _poisoned,
    ),
    Needs(
        "connector_offsets_orphans",
        "",
        (
            Right(TARGET, READ, TOPIC, "the workers' offsets topic", "snapshot"),
            Right(TARGET, WRITE, TOPIC, "the workers' offsets topic", "remove"),
        ),
        _orphans,
    ),
    Needs(
        "mirror_reset",
        "",
        (
            Right(SOURCE, DESCRIBE, TOPIC, _OF_FLOW, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, _OF_FLOW, ""),
            Right(SOURCE, READ, TOPIC, _SYNCS, "snapshot"),
            Right(SOURCE, ALTER, TOPIC, _SYNCS, "apply"),
            Right(SOURCE, DELETE, TOPIC, _SYNCS, "apply"),
            Right(TARGET, READ, TOPIC, _CHECKPOINTS, "snapshot"),
            Right(TARGET, DESCRIBE, TOPIC, _REMOTE, "snapshot"),
        ),
        _reset,
    ),
    Needs(
        "mirror_readiness",
        "",
        (
            Right(SOURCE, READ, TOPIC, _OF_FLOW, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, _OF_FLOW, "snapshot"),
            Right(SOURCE, READ, TOPIC, _SYNCS, "snapshot"),
            Right(SOURCE, DESCRIBE, GROUP, "the groups", ""),
            Right(TARGET, DESCRIBE, GROUP, "the groups", "snapshot"),
            Right(TARGET, READ, TOPIC, _REMOTE, "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, _REMOTE, "snapshot"),
        ),
        _observed,
    ),
    Needs(
        "mirror_failover",
        "",
        (
            Right(SOURCE, READ, TOPIC, _OF_FLOW, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, _OF_FLOW, "snapshot"),
            Right(SOURCE, READ, TOPIC, _SYNCS, "snapshot"),
            Right(SOURCE, DESCRIBE, GROUP, "the groups", "preview"),
            Right(TARGET, READ, GROUP, "the groups", "commit"),
            Right(TARGET, READ, TOPIC, _REMOTE, "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, _REMOTE, "snapshot"),
        ),
        _observed,
    ),
    Needs(
        "mirror_failover_restore",
        "of groups that were not there",
        (
            Right(TARGET, DESCRIBE, TOPIC, _REMOTE, "restore"),
            Right(TARGET, DELETE, GROUP, "the groups", "restore"),
        ),
        _failed_over,
    ),
    Needs(
        "mirror_failback",
        "",
        (
            Right(SOURCE, READ, TOPIC, _OF_FLOW, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, _OF_FLOW, "snapshot"),
            Right(SOURCE, READ, TOPIC, _SYNCS, "snapshot"),
            Right(SOURCE, READ, GROUP, "the groups", "commit"),
            Right(SOURCE, READ, TOPIC, _COPIES, "snapshot"),
            Right(SOURCE, CONFIGS, TOPIC, _COPIES, "snapshot"),
            Right(TARGET, DESCRIBE, GROUP, "the groups", "preview"),
            Right(TARGET, READ, TOPIC, "the topics that come back", "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, "the topics that come back", "snapshot"),
            Right(TARGET, READ, TOPIC, "`mm2-offset-syncs.<source>.internal`", "snapshot"),
            Right(TARGET, READ, TOPIC, _REMOTE, "snapshot"),
            Right(TARGET, CONFIGS, TOPIC, _REMOTE, "snapshot"),
        ),
        _failing_back,
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
