"""The scene of the demo and ``make up``: real readings, replicated by MirrorMaker 2, written to a file by a sink."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from sandbox.connectors import file_sink_config, mirror_checkpoint_config, mirror_source_config
from sandbox.kafka import Record
from sandbox.parts import Parts
from sandbox.readings import Reading, seattle_2010
from sandbox.waiting import wait_for

TOPIC = "temperatures"
MIRRORED = f"source.{TOPIC}"
MIRROR = "temperatures-mirror"
SINK = "temperatures-sink"
CHECKPOINTS = "temperatures-checkpoints"
READERS = "temperatures-readers"
PARTITIONS = 3
_TIMEOUT = 90.0

# Otherwise a year of records would roll a new segment for each week.
_TOPIC_CONFIG = {"segment.ms": str(100 * 365 * 24 * 3600 * 1000)}
# JSON without schemas: a value that is no JSON fails the task, as in production.
_JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@dataclass(frozen=True)
class Scene:
    """Topics, records and connectors in a sandbox. The records of the last day of the year are produced later."""

    sandbox: Parts
    readings: Sequence[Reading] = field(default_factory=seattle_2010)

    @property
    def first_readings(self) -> list[Reading]:
        """The readings that are produced at the start."""
        return [reading for reading in self.readings if reading.key != self.readings[-1].key]

    @property
    def last_day(self) -> list[Reading]:
        """The readings of the last day, which are produced later."""
        return [reading for reading in self.readings if reading.key == self.readings[-1].key]

    @property
    def file(self) -> Path:
        """The file that the sink writes."""
        return self.sandbox.data / "temperatures.txt"

    def set_up(self) -> None:
        """Create all of it; existing connectors stay as they are."""
        connect, source = self.sandbox.connect, self.sandbox.source
        if MIRROR not in connect.connectors():
            if TOPIC in source.topics():  # left by an interrupted attempt, and perhaps incomplete
                source.delete_topic(TOPIC)
            self.create_topic()
            self.produce(self.last_day)
            self.start_mirror()
        if SINK not in connect.connectors():
            self.start_sink()
        if CHECKPOINTS not in connect.connectors():
            self.start_checkpoints()

    def produce(self, readings: Iterable[Reading], *, broken: str | None = None) -> None:
        """Write readings to the source cluster; ``broken``, a value that is no JSON, comes among them."""
        records = [(reading.key, reading.value, reading.timestamp_ms) for reading in readings]
        if broken is not None:
            key, _, timestamp = records[len(records) // 2]
            records.insert(len(records) // 2, (key, broken, timestamp))
        keys, values, timestamps = zip(*records, strict=True)
        self.sandbox.source.produce(TOPIC, values, keys=keys, timestamps=timestamps)

    def create_topic(self) -> None:
        """Create the topic and fill it with all but the last day."""
        self.sandbox.source.create_topic(TOPIC, partitions=PARTITIONS, config=_TOPIC_CONFIG)
        self.produce(self.first_readings)

    def start_mirror(self) -> None:
        """Replicate the topic and wait until all of it is on the target."""
        self.sandbox.connect.create(MIRROR, mirror_source_config(self.sandbox, TOPIC))
        self.wait_until_mirrored()

    def start_sink(self) -> None:
        """Write the replicated topic to a file and wait until all of it is there."""
        self.sandbox.connect.create(SINK, file_sink_config(MIRRORED, self.file, overrides=_JSON))
        self.wait_until_written()

    def start_checkpoints(self) -> None:
        """Commit half of the topic for a consumer group, and translate its offsets to the target."""
        ends = _ends(self.sandbox.source.log_bounds(TOPIC))
        self.sandbox.source.commit_group(READERS, TOPIC, {number: end // 2 for number, end in ends.items()})
        self.sandbox.connect.create(CHECKPOINTS, mirror_checkpoint_config(self.sandbox, groups=READERS))
        self.sandbox.connect.wait_state(CHECKPOINTS, "RUNNING", tasks=1)

    def mirrored_ends(self) -> dict[int, int]:
        """Log ends of the replicated topic."""
        return _ends(self.sandbox.target.log_bounds(MIRRORED))

    def mirror_positions(self) -> dict[int, int]:
        """Where the mirror resumes, by partition."""
        return {
            entry["partition"]["partition"]: entry["offset"]["offset"] + 1
            for entry in self.sandbox.connect.offsets(MIRROR)
            if entry["offset"] is not None
        }

    def sink_positions(self) -> dict[int, int]:
        """Where the sink resumes, by partition."""
        return {
            entry["partition"]["kafka_partition"]: entry["offset"]["kafka_offset"]
            for entry in self.sandbox.connect.offsets(SINK)
        }

    def wait_until_mirrored(self) -> None:
        """Wait until the mirror's stored positions are the source's log ends."""
        ends = _ends(self.sandbox.source.log_bounds(TOPIC))
        late, work = f"{MIRROR} has not caught up", self.sandbox.connect.work
        wait_for(self.mirror_positions, ends, _TIMEOUT, late, progress=work, interval=0.2)

    def wait_until_written(self) -> None:
        """Wait until the sink's committed positions are the target's log ends."""
        ends = self.mirrored_ends()
        late, work = f"{SINK} has not caught up", self.sandbox.connect.work
        wait_for(self.sink_positions, ends, _TIMEOUT, late, progress=work, interval=0.2)

    def mirrored_records(self) -> list[Record]:
        """All records of the replicated topic."""
        return self.sandbox.target.consume(MIRRORED)

    def written(self) -> Counter[tuple[str, str]]:
        """Moment and temperature of each line of the sink's file, and how many times it is there."""
        return Counter(_of_line(line) for line in self.file.read_text().splitlines())

    def state(self) -> dict[str, Any]:
        """State, tasks and offsets of all connectors, which a refused request must not change."""
        connect = self.sandbox.connect
        return {name: (_states(connect.status(name)), connect.offsets(name)) for name in connect.connectors()}


def is_json(record: Record) -> bool:
    """Whether a record holds a complete reading."""
    try:
        json.loads(record.value or b"")
    except ValueError:
        return False
    return True


def of_record(record: Record) -> tuple[str, str]:
    """Moment and temperature of a record, as :meth:`Scene.written` returns those of a line."""
    reading = json.loads(record.value or b"")
    return reading["at"], str(reading["fahrenheit"])


def _of_line(line: str) -> tuple[str, str]:
    """Read a line as Java writes a map: ``{key=value, key=value}``."""
    fields = dict(re.findall(r"(\w+)=([^,}]*)", line))
    return fields.get("at", line), fields.get("fahrenheit", "")


def _ends(bounds: dict[int, tuple[int, int]]) -> dict[int, int]:
    return {partition: end for partition, (_start, end) in bounds.items()}


def _states(status: dict[str, Any]) -> list[str]:
    return [part["state"] for part in chain([status["connector"]], status["tasks"])]
