"""Downtime of a change, compared with a shell loop of curl: stop, wait, patch, resume, wait.

Both move the same partition of the same connector in turn; prints the ratio of their medians for a sink and for a
MirrorSource. Downtime lasts from the accepted stop (ours: from before it is sent) until all tasks are RUNNING::

    make bench
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

from pyspark import SparkConf
from pyspark.sql import SparkSession

from sandbox import Sandbox

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

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
until curl -sf -X PATCH -H 'Content-Type: application/json' -d "$BODY" "$CONNECTOR/offsets" > /dev/null
do sleep 0.1; done
curl -sf -X PUT "$CONNECTOR/resume"
until status | grep -q '"connector":{"state":"RUNNING".*"tasks":\[{"id":0,"state":"RUNNING"'; do sleep 0.1; done
echo $(( $(date +%s%N) - began ))
"""


def main() -> int:
    """Print one line for each kind of connector."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").config(conf=SparkConf().setAll(list(SPARK.items()))).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with Sandbox() as sandbox, tempfile.TemporaryDirectory() as scratch:
        for kind in (SinkFaults, MirrorFaults):
            flow = kind.start(sandbox)
            changer = Changer(spark, Path(scratch).as_uri(), sandbox.connect.url, flow.kafka)
            theirs, ours = _measure(flow, changer, options.runs)
            ratio = (
                f"{ours / theirs:.2f} times a loop of curl ({ours:.3f} s, {theirs:.3f} s; medians of {options.runs})"
            )
            print(f"{kind.__name__.removesuffix('Faults')}: {ratio}")
    spark.stop()
    return 0


def _measure(flow: FaultFlow, changer: Changer, runs: int) -> tuple[float, float]:
    """Medians in seconds: theirs, ours."""
    run, _summary = changer.plan(flow.name, "offset", str(SET_TO), partitions="0")
    theirs, ours = [], []
    for _ in range(runs):
        flow.wait_until_caught_up()
        theirs.append(_curl(flow))
        flow.wait_until_caught_up()
        ours.append(changer.apply(run, name=f"bench/{uuid4().hex}").downtime_seconds or 0.0)
    return statistics.median(theirs), statistics.median(ours)


def _curl(flow: FaultFlow) -> float:
    body = json.dumps({"offsets": [flow.entry(0, SET_TO)]})
    names = {"CONNECTOR": f"{flow.sandbox.connect.url}/connectors/{flow.name}", "BODY": body}
    done = subprocess.run(
        ["/bin/bash", "-c", CURL],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **names, "no_proxy": "*"},
    )
    return int(done.stdout) / 1e9


if __name__ == "__main__":
    sys.exit(main())
