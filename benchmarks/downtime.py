"""Downtime of a change, compared with a shell loop of curl: stop, wait, patch, resume, wait.

Both move the same partition of the same connector in turn, for a sink and for a MirrorSource. Downtime lasts from the
accepted stop (ours: from before it is sent) until all tasks are RUNNING.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from uuid import uuid4

from pyspark import SparkConf
from pyspark.sql import SparkSession
from rows import Row

from sandbox import Sandbox
from tests.support.faults.fault_flow import SET_TO, FaultFlow, MirrorFaults, SinkFaults
from tests.support.flows.flows import Changer

SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
}
CURL = r"""
set -euo pipefail
status() { curl -sf "$CONNECTOR/status"; }
curl -sf -X PUT "$CONNECTOR/stop"
began=$(date +%s%N)
until status | grep -q '"connector":{"state":"STOPPED".*"tasks":\[\]'; do sleep 0.1; done
$LISTED
until curl -sf -X PATCH -H 'Content-Type: application/json' -d "$BODY" "$CONNECTOR/offsets" > /dev/null
do sleep 0.1; done
$LISTED
curl -sf -X PUT "$CONNECTOR/resume"
until status | grep -q '"connector":{"state":"RUNNING".*"tasks":\[{"id":0,"state":"RUNNING"'; do sleep 0.1; done
echo $(( $(date +%s%N) - began ))
"""


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each kind of connector; five times as many runs, which take seconds."""
    del scale
    spark = SparkSession.builder.master("local[2]").config(conf=SparkConf().setAll(list(SPARK.items()))).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with Sandbox() as sandbox, tempfile.TemporaryDirectory() as scratch:
        for kind in (SinkFaults, MirrorFaults):
            flow = kind.start(sandbox)
            changer = Changer(spark, Path(scratch).as_uri(), sandbox.connect.url, flow.kafka)
            theirs, listing, ours = _measure(flow, changer, 5 * runs)
            name = f"downtime of a change, {kind.__name__.removesuffix('Faults')}"
            shows = f"a loop that also lists the offsets before and after: {median(listing):.3g} s"
            yield Row(name, ours, "a shell loop of curl", theirs, goal=1.0, shows=shows)
    spark.stop()


def _measure(flow: FaultFlow, changer: Changer, runs: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each run: theirs, theirs if it lists the offsets as we do, ours."""
    run, _summary = changer.plan(flow.name, "offset", str(SET_TO), partitions="0")
    theirs, listing, ours = [], [], []
    for _ in range(runs):
        flow.wait_until_caught_up()
        theirs.append(_curl(flow))
        flow.wait_until_caught_up()
        listing.append(_curl(flow, lists=True))
        flow.wait_until_caught_up()
        ours.append(changer.apply(run, name=f"bench/{uuid4().hex}").downtime_seconds or 0.0)
    return theirs, listing, ours


def _curl(flow: FaultFlow, *, lists: bool = False) -> float:
    connector = f"{flow.sandbox.connect.url}/connectors/{flow.name}"
    return seconds_by_curl(connector, {"offsets": [flow.entry(0, SET_TO)]}, lists=lists)


def seconds_by_curl(connector: str, body: Mapping[str, object], *, lists: bool = False) -> float:
    """Seconds from the accepted stop until all tasks are RUNNING.

    Args:
        connector: its URL
        body: of the PATCH
        lists: whether the offsets are listed before and after
    """
    listed = f"curl -sf -o /dev/null {connector}/offsets" if lists else ""
    names = {"CONNECTOR": connector, "BODY": json.dumps(body), "LISTED": listed}
    done = subprocess.run(
        ["/bin/bash", "-c", CURL],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **names, "no_proxy": "*"},
    )
    return int(done.stdout) / 1e9
