"""Second change: a sink failed on a record that is no JSON; it skips that record and no other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.demo.stage import Stage
from sandbox.kafka import Record
from sandbox.scene import MIRRORED, SINK, Scene, is_json, of_record

_TITLE = "Skip the one record that a sink can't read"
_CUT_OFF = '{"city": "Seattle", "at": "2010-12-31T12:'
_ONE_BY_ONE = {"consumer.override.max.poll.records": "1"}
_CAUSE = re.compile(r"^Caused by: (?:\w+\.)*(.{1,100})", re.MULTILINE)


def skip_poison(stage: Stage) -> None:
    """Let the sink fail, find the record, skip it, and prove that every other one has arrived."""
    telling = stage.telling
    telling.heading(f"2  {_TITLE}")
    poison = _fail(stage)
    own_config = stage.scene.sandbox.connect.config(SINK)
    with _one_record_a_poll(stage):
        request = {
            "connector": SINK,
            "to": "skip",
            "value": "1",
            "topics": re.escape(MIRRORED),
            "partitions": str(poison.partition),
            "kafka_conn_id": "kafka_target",
        }
        ran = stage.run("2-skip", request, expect="success")
        outcome, predicted = stage.applied(ran), ran.predicted("records_skipped")
    with telling.step(f"{SINK} has its own configuration again, and has read to the end"):
        stage.scene.wait_until_written()
    telling.prove("The position that was skipped", expected=poison.offset, observed=outcome.offsets[0].before_position)
    missing = _prove_complete(stage, predicted=predicted)
    telling.prove(f"{SINK} runs", expected="RUNNING, 1 task", observed=_condition(stage.scene))
    kept = stage.scene.sandbox.connect.config(SINK) == own_config
    telling.prove("Its configuration", expected="as before", observed="as before" if kept else "changed")
    stage.keep(
        ran,
        _TITLE,
        {
            "The record that is no JSON": f"{MIRRORED}, partition {poison.partition}, offset {poison.offset}",
            "Records missing from the sink's file, counted": f"{missing}, and {predicted} was predicted",
        },
    )


def _fail(stage: Stage) -> Record:
    """Produce a record that makes the sink's task fail, and return it as it is on the target."""
    scene, telling = stage.scene, stage.telling
    telling.say(f"The last day of the year arrives, and in its midst a reading that was cut off: {_CUT_OFF}")
    with telling.step(f"{SINK} has failed on it"):
        scene.produce(scene.last_day, broken=_CUT_OFF)
        scene.wait_until_mirrored()
        status = scene.sandbox.connect.wait_state(SINK, "FAILED")
    telling.say(f"Its task says: {_CAUSE.findall(status['tasks'][0]['trace'])[-1]} …")
    poison = next(record for record in scene.mirrored_records() if not is_json(record))
    good = poison.offset - scene.sink_positions()[poison.partition]
    telling.say(
        "It names neither topic nor offset, and what is committed is the start of the poll that failed: to skip one "
        f"record from there would have lost {'a good one' if good else 'the right one, this time by luck'}, as {good} "
        "good ones lie before the broken one."
    )
    return poison


@contextmanager
def _one_record_a_poll(stage: Stage) -> Iterator[None]:
    """Let the sink run with one record a poll until it fails again: then the committed position is the record."""
    connect, telling = stage.scene.sandbox.connect, stage.telling
    own = connect.config(SINK)
    with telling.step(f"{SINK} has failed again, with max.poll.records=1: now its position is the broken record"):
        connect.stop(SINK)  # so that no task is left, and a failed one is a new one
        connect.update_config(SINK, own | _ONE_BY_ONE)
        connect.call("PUT", f"/connectors/{SINK}/resume")
        connect.wait_state(SINK, "FAILED", tasks=1)
    yield
    connect.update_config(SINK, own)


def _prove_complete(stage: Stage, *, predicted: int) -> int:
    """Compare the file with the topic, record by record; return how many records are missing from it."""
    records = stage.scene.mirrored_records()
    good = Counter(of_record(record) for record in records if is_json(record))
    written = stage.scene.written()
    missing = len(records) - (good & written).total()
    prove = stage.telling.prove
    prove("Records never delivered, predicted and counted", expected=predicted, observed=missing)
    prove("Good records in the sink's file, each once", expected=good.total(), observed=(good & written).total())
    prove("Lines in the file that are none of them", expected=0, observed=(written - good).total())
    return missing


def _condition(scene: Scene) -> str:
    status = scene.sandbox.connect.wait_state(SINK, "RUNNING", tasks=1)
    return f"{status['connector']['state']}, {len(status['tasks'])} task"
