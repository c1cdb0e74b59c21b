"""Downtime of a change through Strimzi's resources, compared with the same change over REST and with the manual one.

A real API server and a real Connect worker; between them the operator of the tests, which acts on events at once and
has nothing else to do. All ways move the same partition of the same connector in turn, at two distances from the API
server.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import SparkConf
from pyspark.sql import SparkSession
from rows import Row
from strimzi_by_hand import ByHand, Distance

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.connect.strimzi.with_rest import StrimziWithRest
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.parameters.connections import Control
from sandbox import Broker, Sandbox
from sandbox.kubernetes import ApiServer, Cluster, Release, crds, why_missing
from tests.support.flows.flows import Changer, MirrorFlow, SinkFlow
from tests.support.strimzi.owned import Owned
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.starting import AIRFLOW, started

SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
}
WAYS = (Control.REST, Control.STRIMZI, Control.STRIMZI_REST)
DISTANCES = (0.005, 0.045)  # seconds of a call
MIRROR_COST = 1.0  # seconds of the real operator for each pass over a KafkaMirrorMaker2, which is a whole one
FLOW = "flow"  # name of the KafkaMirrorMaker2
FIRST, OTHER = 10, 11  # offsets that are set in turn


@dataclass(frozen=True, kw_only=True)
class Way(Changer):
    """Applies changes by one ``control``, with the rights of our Role only."""

    control: Control
    strimzi: Strimzi = field(repr=False)
    resource: str
    distance: Distance

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """Open the clients."""
        with ExitStack() as stack:
            over_rest = stack.enter_context(super().clients())
            if self.control is Control.REST:
                yield over_rest
                return
            kubernetes = Cluster(self.strimzi.kubeconfig)
            stack.callback(kubernetes.close)
            self.distance.to(kubernetes.client)
            resources = stack.enter_context(
                ConnectStrimzi(
                    kubernetes.client,
                    namespace=self.strimzi.namespace,
                    cluster=self.resource,
                    timeout=self.timeout,
                )
            )
            if self.control is Control.STRIMZI:
                yield replace(over_rest, offsets=resources, control=resources, origin=Origin.STRIMZI)
                return
            rest = stack.enter_context(ConnectRest(ConnectEndpoint((self.worker,)), timeout=self.timeout))
            yield replace(over_rest, offsets=rest, control=StrimziWithRest(resources, rest))


@dataclass(frozen=True)
class Case:
    """A connector in a resource, and which partition of it is set.

    Attributes:
        title: What the lines begin with.
        flow: The connector.
        kafka: The cluster of its positions.
        resource: Kind and name of its resource.
        cluster: Name of its cluster, in the form that a Connect connection takes.
        offset: Returns what Connect stores of its partition 0.
    """

    title: str
    flow: SinkFlow | MirrorFlow
    kafka: Broker
    resource: tuple[str, str]
    cluster: str
    offset: Callable[[int], Mapping[str, Any]]


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each kind of connector, distance and way; none without Go and Java 21."""
    del scale
    if reason := why_missing():
        print(reason)
        return
    spark = SparkSession.builder.master("local[2]").config(conf=SparkConf().setAll(list(SPARK.items()))).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with (
        Sandbox() as sandbox,
        tempfile.TemporaryDirectory() as scratch,
        ApiServer(users=[AIRFLOW]) as server,
    ):
        server.admin.install(crds(Release.V1))
        with started(server, Release.V1, sandbox) as strimzi, strimzi.without_intervals() as operator:
            operator.settings.mirror_cost = MIRROR_COST
            for case in _cases(sandbox, strimzi):
                for seconds in DISTANCES:
                    changer = Changer(spark, Path(scratch).as_uri(), sandbox.connect.url, case.kafka, timeout=300.0)
                    yield from _rows(case, seconds, _measure(case, changer, strimzi, server, seconds, runs))
            strimzi.delete("KafkaMirrorMaker2", FLOW)
    spark.stop()


def _cases(sandbox: Sandbox, strimzi: Strimzi) -> Iterator[Case]:
    owned = Owned(strimzi)
    sink = SinkFlow.start(sandbox, create=owned.create)
    where = {"kafka_topic": sink.topic, "kafka_partition": 0}
    yield Case(
        "sink",
        sink,
        sandbox.target,
        ("KafkaConnector", sink.name),
        strimzi.connect_name,
        lambda offset: {"partition": where, "offset": {"kafka_offset": offset}},
    )
    mirror = MirrorFlow.start(sandbox, create=owned.create)
    yield _mirror_case("MirrorSource", mirror, sandbox, ("KafkaConnector", mirror.name), strimzi.connect_name)
    owned.delete(mirror.name)
    name = "source->target.MirrorSourceConnector"
    flow = MirrorFlow.start(sandbox, create=owned.mirror_maker(FLOW), name=name)
    yield _mirror_case("KafkaMirrorMaker2", flow, sandbox, ("KafkaMirrorMaker2", FLOW), f"KafkaMirrorMaker2/{FLOW}")


def _mirror_case(title: str, flow: MirrorFlow, sandbox: Sandbox, resource: tuple[str, str], cluster: str) -> Case:
    where = {"cluster": "source", "topic": flow.topic, "partition": 0}
    return Case(
        title,
        flow,
        sandbox.source,
        resource,
        cluster,
        lambda offset: {"partition": where, "offset": {"offset": offset - 1}},
    )


def _measure(
    case: Case, changer: Changer, strimzi: Strimzi, server: ApiServer, seconds: float, runs: int
) -> dict[str, tuple[list[float], int]]:
    """Return the downtimes of each way, in seconds, and its calls of the API server meanwhile."""
    distances = {way: Distance(seconds) for way in ("by hand", *WAYS)}
    by_hand = Cluster(server.kubeconfig())
    distances["by hand"].to(by_hand.client)
    manual = ByHand(by_hand.client, strimzi.namespace, *case.resource, case.flow.name, case.flow.sandbox.connect)
    manual.prepare()
    run, _summary = changer.plan(case.flow.name, "offset", str(FIRST), partitions="0")
    taken: dict[str, list[float]] = {way: [] for way in distances}
    for _ in range(runs):
        for control in WAYS:
            case.flow.wait_until_caught_up()
            way = _way(changer, control, strimzi, case.cluster, distances[control])
            taken[control].append(way.apply(run, name=f"bench/{uuid4().hex}").downtime_seconds or 0.0)
        case.flow.wait_until_caught_up()
        taken["by hand"].append(manual.change([case.offset(OTHER)]))
    manual.clean()
    by_hand.close()
    return {way: (taken[way], distances[way].down) for way in taken}


def _way(changer: Changer, control: Control, strimzi: Strimzi, cluster: str, distance: Distance) -> Way:
    return Way(
        changer.spark,
        changer.workspace,
        changer.worker,
        changer.kafka,
        control=control,
        strimzi=strimzi,
        resource=cluster,
        distance=distance,
        timeout=300.0,
    )


def _rows(case: Case, seconds: float, measured: Mapping[str, tuple[list[float], int]]) -> Iterator[Row]:
    by_hand, calls_by_hand = measured["by hand"]
    for way in WAYS:
        ours, calls = measured[way]
        name = f"downtime of a change by Strimzi, {case.title}, {seconds * 1000:g} ms a call, {way}"
        shows = f"{calls} calls while down, {calls_by_hand} by hand"
        yield Row(name, ours, "the same by hand", by_hand, goal=1.0, shows=shows)
