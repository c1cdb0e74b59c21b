"""A connector that reads one topic for each kind of change, so that one resume shows what all of them deliver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.offsets.document import Offsets, kip199_document, parse_rest
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from sandbox import Broker, Sandbox, wait_for
from sandbox.connectors import file_sink_config, mirror_source_config
from tests.support.flows.flows import Changer

#: Records in each topic, a minute apart, the position of the connector in all of them, and that of its twin.
RECORDS, POSITION, TWIN_POSITION = 20, 10, 15
_APART = timedelta(minutes=1)
_PLANS_AT_ONCE = 4


@dataclass(frozen=True)
class Kind:
    """A kind of change: ``value`` as a person types it, and the position of the first record delivered afterwards."""

    to: str
    first: int
    value: str = ""


@dataclass(frozen=True)
class Reader(ABC):
    """A connector, and a twin that is stopped at another position; values are ``topic:position``."""

    sandbox: Sandbox
    folder: Path
    mark: str = field(default_factory=lambda: uuid4().hex[:6])
    began: datetime = field(default_factory=lambda: datetime.now(tz=UTC).replace(microsecond=0) - timedelta(hours=1))

    @property
    @abstractmethod
    def broker(self) -> Broker:
        """The cluster of its topics."""

    @abstractmethod
    def config(self, name: str, topics: str) -> dict[str, str]:
        """The configuration of a connector that reads ``topics``."""

    @abstractmethod
    def entry(self, topic: str, position: int) -> dict[str, Any]:
        """The offset that it stores to resume at ``position``."""

    @abstractmethod
    def read(self, entry: dict[str, Any]) -> tuple[str, int]:
        """Topic and position of a stored offset."""

    @abstractmethod
    def delivered(self) -> dict[str, list[int]]:
        """The positions of all records that were delivered, in their order, by topic."""

    @property
    def name(self) -> str:
        return f"reader-{self.mark}"

    @property
    def twin(self) -> str:
        return f"twin-{self.mark}"

    def kinds(self) -> list[Kind]:
        """The kinds of change that are tried, from :data:`STANDS`."""
        return self.every_kind()

    def every_kind(self) -> list[Kind]:
        """Each kind of change."""
        seventh = self.began + 7 * _APART
        since_seventh = (datetime.now(tz=UTC) - seventh - _APART / 2).total_seconds()
        return [
            Kind("earliest", 0),
            Kind("latest", RECORDS),
            Kind("datetime", 7, seventh.isoformat()),
            Kind("duration", 8, f"PT{since_seventh:.0f}S"),
            Kind("shift", POSITION - 4, "-4"),
            Kind("offset", 3, "3"),
            Kind("skip", POSITION + 2, "2"),
            Kind("clear", 0),
            Kind("file", 2, self._file().as_uri()),
            Kind("connector", TWIN_POSITION, self.twin),
            Kind("current", POSITION),
        ]

    def topic(self, kind: Kind | str) -> str:
        """The topic of a kind."""
        return f"{kind if isinstance(kind, str) else kind.to}-{self.mark}"

    def start(self) -> None:
        """Create the topics and connectors, wait until they have caught up, and stop them before the change."""
        connect, topics = self.sandbox.connect, [self.topic(kind) for kind in self.kinds()]
        timestamps = [int((self.began + number * _APART).timestamp() * 1000) for number in range(RECORDS)]
        for topic in topics:
            self.broker.create_topic(topic)
            self.broker.produce(topic, [f"{topic}:{n}" for n in range(RECORDS)], timestamps=timestamps)
        connect.create(self.name, self.config(self.name, ",".join(topics)))
        self.broker.create_topic(self.topic("other"))
        connect.create(self.twin, self.config(self.twin, self.topic("other")))
        self.wait_until_caught_up(RECORDS)
        for name, position, its_topics in (
            (self.name, POSITION, topics),
            (self.twin, TWIN_POSITION, [self.topic("connector")]),
        ):
            connect.wait_state(name, "RUNNING")
            connect.stop(name)
            connect.alter(name, [self.entry(topic, position) for topic in its_topics])

    def positions(self) -> dict[str, int]:
        """The stored positions by topic; 0 without an offset."""
        stored = [self.read(entry) for entry in self.sandbox.connect.offsets(self.name) if entry["offset"] is not None]
        return {**{self.topic(kind): 0 for kind in self.kinds()}, **dict(stored)}

    def wait_until_caught_up(self, end: int) -> None:
        """Wait until it has read ``end`` records of each topic."""
        expected = {self.topic(kind): end for kind in self.kinds()}
        wait_for(self.positions, expected, 60, f"{self.name} has not caught up", progress=self.sandbox.connect.work)

    def plan(self, changer: Changer, kinds: list[Kind]) -> list[tuple[RunDirectory, dict[str, Any]]]:
        """Plan each kind for its topic, several at a time, as one Spark application does for a fleet."""
        with ThreadPoolExecutor(max_workers=_PLANS_AT_ONCE) as pool:
            planned = [
                pool.submit(changer.plan, self.name, kind.to, kind.value, topics=self.topic(kind)) for kind in kinds
            ]
            return [one.result() for one in planned]

    def stored(self) -> dict[str, str]:
        """Its offsets by the worker's REST API."""
        return parse_rest({"offsets": self.sandbox.connect.offsets(self.name)}).by_partition()

    def take_out(self, topic: str) -> dict[str, Any]:
        """Set a topic to :data:`STANDS` by hand; returns what was stored before."""
        restored = self.entry(topic, POSITION)
        found = {self.read(one)[0]: one for one in self.sandbox.connect.offsets(self.name) if one["offset"] is not None}
        self.sandbox.connect.alter(self.name, [restored])
        return found.get(topic, {"partition": restored["partition"], "offset": None})

    def close(self) -> None:
        """Delete the connectors."""
        for name in (self.name, self.twin):
            self.sandbox.connect.delete(name)

    def _file(self) -> Path:
        path = self.folder / f"{self.mark}.json"
        offsets: Offsets = parse_rest({"offsets": [self.entry(self.topic("file"), 2)]})
        path.write_text(kip199_document({self.name: offsets}))
        return path


class SinkReader(Reader):
    """A FileStreamSink."""

    @property
    def broker(self) -> Broker:
        return self.sandbox.target

    def config(self, name: str, topics: str) -> dict[str, str]:
        return file_sink_config(topics, self.sandbox.data / name)

    def entry(self, topic: str, position: int) -> dict[str, Any]:
        return {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": position}}

    def read(self, entry: dict[str, Any]) -> tuple[str, int]:
        return entry["partition"]["kafka_topic"], entry["offset"]["kafka_offset"]

    def delivered(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for line in (self.sandbox.data / self.name).read_text().splitlines():
            topic, _, number = line.partition(":")
            found.setdefault(topic, []).append(int(number))
        return found


class MirrorReader(Reader):
    """A MirrorSource with an alias of its own, so that nobody shares its remote topics."""

    @property
    def alias(self) -> str:
        return f"s{self.mark}"

    @property
    def broker(self) -> Broker:
        return self.sandbox.source

    def kinds(self) -> list[Kind]:
        """One of the kinds that differ only in arithmetic, as a worker sees no difference; the sink tries all."""
        return [kind for kind in self.every_kind() if kind.to not in {"duration", "skip", "current"}]

    def config(self, name: str, topics: str) -> dict[str, str]:
        del name
        return mirror_source_config(self.sandbox, topics, source_alias=self.alias)

    def entry(self, topic: str, position: int) -> dict[str, Any]:
        return {
            "partition": {"cluster": self.alias, "topic": topic, "partition": 0},
            "offset": {"offset": position - 1},
        }

    def read(self, entry: dict[str, Any]) -> tuple[str, int]:
        return entry["partition"]["topic"], entry["offset"]["offset"] + 1

    def delivered(self) -> dict[str, list[int]]:
        return {
            topic: [
                int((record.value or b"").decode().partition(":")[2])
                for record in self.sandbox.target.consume(f"{self.alias}.{topic}")
            ]
            for topic in (self.topic(kind) for kind in self.kinds())
        }
