"""Downtime of a change through Strimzi's resources, compared with the same change over REST.

A real API server and a real Connect worker; between them the operator of the tests, which acts on events at once and
has nothing else to do. All ways move the same partition of the same connector in turn; prints the ratio of their
medians to REST's for a sink and for a MirrorSource::

    make bench
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from pyspark import SparkConf
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.connect.strimzi.with_rest import StrimziWithRest
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.parameters.connections import Control
from sandbox import Broker, Sandbox
from sandbox.kubernetes import ApiServer, Cluster, Release, crds, missing
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


@dataclass(frozen=True, kw_only=True)
class Way(Changer):
    """Applies changes by one ``control``, with the rights of our Role only."""

    control: Control
    strimzi: Strimzi = field(repr=False)

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
            resources = stack.enter_context(
                ConnectStrimzi(kubernetes.client, namespace=self.strimzi.namespace, timeout=self.timeout)
            )
            if self.control is Control.STRIMZI:
                yield replace(over_rest, offsets=resources, control=resources, origin=Origin.STRIMZI)
                return
            rest = stack.enter_context(ConnectRest(ConnectEndpoint((self.worker,)), timeout=self.timeout))
            yield replace(over_rest, offsets=rest, control=StrimziWithRest(resources, rest))


def main() -> int:
    """Print a line for each kind of connector and way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if reason := missing():
        print(reason)
        return 0
    spark = SparkSession.builder.master("local[2]").config(conf=SparkConf().setAll(list(SPARK.items()))).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with (
        Sandbox() as sandbox,
        tempfile.TemporaryDirectory() as scratch,
        ApiServer(users=[AIRFLOW]) as server,
    ):
        server.admin.install(crds(Release.V1))
        with started(server, Release.V1, sandbox) as strimzi, strimzi.without_intervals():
            owned = Owned(strimzi)
            for kind, kafka in ((SinkFlow, sandbox.target), (MirrorFlow, sandbox.source)):
                flow = kind.start(sandbox, create=owned.create)
                ways = _ways(spark, Path(scratch).as_uri(), strimzi, sandbox.connect.url, kafka)
                _print(kind.__name__.removesuffix("Flow"), _measure(flow, ways, options.runs), options.runs)
    spark.stop()
    return 0


def _ways(spark: SparkSession, workspace: str, strimzi: Strimzi, worker: str, kafka: Broker) -> dict[Control, Way]:
    return {
        control: Way(spark, workspace, worker, kafka, control=control, strimzi=strimzi, timeout=300.0)
        for control in WAYS
    }


def _measure(flow: SinkFlow | MirrorFlow, ways: Mapping[Control, Way], runs: int) -> dict[Control, float]:
    """Median downtime of each way, in seconds."""
    run, _summary = ways[Control.REST].plan(flow.name, "offset", "10", partitions="0")
    taken: dict[Control, list[float]] = {control: [] for control in ways}
    for _ in range(runs):
        for control, way in ways.items():
            flow.wait_until_caught_up()
            taken[control].append(way.apply(run, name=f"bench/{uuid4().hex}").downtime_seconds or 0.0)
    return {control: statistics.median(seconds) for control, seconds in taken.items()}


def _print(kind: str, medians: Mapping[Control, float], runs: int) -> None:
    rest = medians[Control.REST]
    print(f"{kind}: rest {rest:.3f} s (medians of {runs})")
    for control, seconds in medians.items():
        if control is not Control.REST:
            print(f"{kind}: {control.value} {seconds / rest:.2f} times rest ({seconds:.3f} s)")


if __name__ == "__main__":
    sys.exit(main())
