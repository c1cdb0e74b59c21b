"""Second change: a sink failed on a record that is no JSON; it skips that record and no other."""

from __future__ import annotations

import re
from collections import Counter

from airflow_provider_connect_offsets.report import PoisonedRecords
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory
from sandbox.demo.runs import POISON
from sandbox.demo.stage import Stage
from sandbox.kafka import Record
from sandbox.scene import SINK, Scene, is_json, of_record

_TITLE = "Skip the one record that a sink can't read"
_CUT_OFF = '{"city": "Seattle", "at": "2010-12-31T12:'
_CAUSE = re.compile(r"^Caused by: (?:\w+\.)*(.{1,100})", re.MULTILINE)


def skip_poison(stage: Stage) -> None:
    """Let the sink fail, let the DAG find the record and skip it, and prove that every other one has arrived."""
    narration = stage.narration
    narration.heading(f"2  {_TITLE}")
    poison = _fail(stage)
    own_config = stage.scene.sandbox.connect.config(SINK)
    ran = stage.run_dag("2-skip", POISON, {"connector": SINK, "kafka_conn_id": "kafka_target"}, expect="success")
    records = PoisonedRecords.read(PoisonDirectory(ran.directory.uri))
    narration.say(records.outcome.message)
    [line] = records.lines
    narration.say(f"It was kept before that, and found like this: {line.way}, {line.why}")
    with narration.step(f"{SINK} has read to the end"):
        stage.scene.wait_until_written()
    narration.prove("The offset that was skipped", expected=poison.offset, observed=line.offset)
    narration.prove("The record that was kept", expected=_CUT_OFF, observed=line.value)
    _prove_complete(stage)
    narration.prove(f"{SINK} runs", expected="RUNNING, 1 task", observed=_condition(stage.scene))
    kept = stage.scene.sandbox.connect.config(SINK) == own_config
    narration.prove("Its configuration", expected="as before", observed="as before" if kept else "changed")
    narration.say(f"The report on it: {records.directory.report}")


def _fail(stage: Stage) -> Record:
    """Produce a record that makes the sink's task fail, and return it as it is on the target."""
    scene, narration = stage.scene, stage.narration
    narration.say(f"The last day of the year arrives, and in its midst a reading that was cut off: {_CUT_OFF}")
    with narration.step(f"{SINK} has failed on it"):
        scene.produce(scene.last_day, broken=_CUT_OFF)
        scene.wait_until_mirrored()
        status = scene.sandbox.connect.wait_state(SINK, "FAILED")
    narration.say(f"Its task says: {_CAUSE.findall(status['tasks'][0]['trace'])[-1]} …")
    poison = next(record for record in scene.mirrored_records() if not is_json(record))
    good = poison.offset - scene.sink_positions()[poison.partition]
    narration.say(
        "It names neither topic nor offset, and what is committed is the start of the poll that failed: to skip one "
        f"record from there would have lost {'a good one' if good else 'the right one, this time by luck'}, as {good} "
        "good ones lie before the broken one."
    )
    return poison


def _prove_complete(stage: Stage) -> None:
    """Compare the file with the topic, record by record."""
    records = stage.scene.mirrored_records()
    good = Counter(of_record(record) for record in records if is_json(record))
    written = stage.scene.written()
    missing = len(records) - (good & written).total()
    prove = stage.narration.prove
    prove("Records never delivered, skipped and counted", expected=1, observed=missing)
    prove("Good records in the sink's file, each once", expected=good.total(), observed=(good & written).total())
    prove("Lines in the file that are none of them", expected=0, observed=(written - good).total())


def _condition(scene: Scene) -> str:
    status = scene.sandbox.connect.wait_state(SINK, "RUNNING", tasks=1)
    return f"{status['connector']['state']}, {len(status['tasks'])} task"
