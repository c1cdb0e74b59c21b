"""What a run of each ready DAG works on where its rights are taken away, and the words for it in the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Sandbox, wait_until
from tests.support.faults.orphan_cell import Cell
from tests.support.faults.reset_cell import ResetCell
from tests.support.flows.failing_back import Leading, away_positions, merged, produce
from tests.support.flows.failing_over import Flowing
from tests.support.flows.flows import Changer, MirrorFlow, SinkFlow
from tests.support.flows.group_changer import PlainGroup
from tests.support.flows.groups import commit_groups
from tests.support.flows.poisoned import JSON, KEYS_ARE_TEXT, Poisoned, rows

# Which topics and groups, as the table says it.
OF_TOPICS, OF_SINK = "the connector's topics", "the sink's group, `connect-<name>`"
SYNCS, CHECKPOINTS = "`mm2-offset-syncs.<target>.internal`", "`<source>.checkpoints.internal`"
OF_FLOW, REMOTE = "the flow's topics", "`<source>.*`, the remote topics and the checkpoints"
COPIES = "`<target>.*`, their copies"


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


def sink(sandbox: Sandbox, **params: Any) -> Scene:
    flow = SinkFlow.start(sandbox)
    names = {OF_TOPICS: (flow.topic,), OF_SINK: (f"connect-{flow.name}",)}
    which = "connector" if "to" in params else "connectors"
    return Scene({which: flow.name, **params}, names, lambda: sandbox.connect.delete(flow.name))


def skipping(sandbox: Sandbox, _workspace: str) -> Scene:
    scene = sink(sandbox, to="skip", value="1")
    sandbox.connect.pause(scene.params["connector"])
    [topic] = scene.names[OF_TOPICS]
    sandbox.target.produce(topic, ["more"] * 50, partition=0)
    return scene


def mirror(sandbox: Sandbox, _workspace: str) -> Scene:
    flow = MirrorFlow.start(sandbox)
    params = {"connector": flow.name, "to": "earliest", "kafka_conn_id": "kafka_source"}
    return Scene(params, {OF_TOPICS: (flow.topic,)}, lambda: sandbox.connect.delete(flow.name))


def group(sandbox: Sandbox, _workspace: str) -> Scene:
    group = PlainGroup.start(sandbox.target)
    names = {"the group": (group.name,), "its topics": (group.topic, group.other)}
    return Scene({"groups": group.name, "to": "earliest"}, names)


def poisoned(sandbox: Sandbox, workspace: str) -> Scene:
    changer = Changer(None, workspace, sandbox.connect.url, sandbox.target, str(sandbox.target.cluster_id()))  # type: ignore[arg-type]
    sink = Poisoned.start(sandbox, changer, [*rows(0, 2), "{", *rows(2, 2)], {**JSON, **KEYS_ARE_TEXT}, position=0)
    names = {
        "the sink's topics": (sink.topic,),
        OF_SINK: (f"connect-{sink.name}",),
        "`connect-offsets-poison-*`": ("connect-offsets-poison-*",),
    }
    return Scene({"connector": sink.name, "kafka_conn_id": "kafka_target"}, names, sink.remove)


def reset(sandbox: Sandbox, _workspace: str) -> Scene:
    cell = ResetCell.start(sandbox)
    names = {
        OF_FLOW: cell.topics,
        REMOTE: (cell.flow.target_topic("*"),),
        SYNCS: (cell.flow.offset_syncs_topic,),
        CHECKPOINTS: (cell.flow.checkpoints_topic,),
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
        OF_FLOW: (flowing.topic,),
        REMOTE: (flowing.flow.target_topic("*"),),
        SYNCS: (flowing.flow.offset_syncs_topic,),
        CHECKPOINTS: (checkpoints,),
    }


def observed(sandbox: Sandbox, _workspace: str) -> Scene:
    flowing, names = _flowing(sandbox)
    connectors = {"source_connector": flowing.source_connector, "checkpoint_connector": flowing.checkpoint_connector}
    return Scene({**connectors, "groups": f"{flowing.mark}-.*"}, names, flowing.close)


def failed_over(sandbox: Sandbox, workspace: str) -> Scene:
    return replace(observed(sandbox, workspace), after="mirror_failover")


def failing_back(sandbox: Sandbox, _workspace: str) -> Scene:
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
        COPIES: (back.target_topic("*"),),
    }

    def close() -> None:
        leading.close()
        flowing.close()

    return Scene({**connectors, "rewind": ".*", "groups": f"{flowing.mark}-.*"}, {**names, **more}, close)


def orphans(sandbox: Sandbox, _workspace: str) -> Scene:
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
