"""A dedicated MirrorMaker 2: ``connect-mirror-maker`` with its properties, one flow from the source to the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.broker import Broker
from sandbox.jars import KAFKA_VERSION
from sandbox.launch import kafka_command
from sandbox.process import ServerProcess


class MirrorMaker:
    """A process of its own that replicates ``topics`` (with commas between) and listens nowhere.

    It counts as ready as soon as it runs: tests observe on the target what it has replicated. Its flow is
    ``source->target``.
    """

    def __init__(
        self, home: Path, *, source: Broker, target: Broker, topics: str, version: str = KAFKA_VERSION
    ) -> None:
        self.settings = home / "mm2.properties"
        recipe = _MirrorMakerRecipe(lambda: (source.bootstrap, target.bootstrap), topics, version)
        self.process = ServerProcess("mirror maker", home, recipe)


@dataclass(frozen=True, slots=True)
class _MirrorMakerRecipe:
    clusters: Callable[[], tuple[str, str]]
    topics: str
    version: str
    ports: int = 0

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        del ports
        source, target = self.clusters()
        (home / "mm2.properties").write_text(_SETTINGS.format(source=source, target=target, topics=self.topics))
        return []

    def command(self, home: Path) -> list[str]:
        main_class, settings = "org.apache.kafka.connect.mirror.MirrorMaker", str(home / "mm2.properties")
        return kafka_command(main_class, [settings], home=home, version=self.version)

    def is_ready(self, ports: Sequence[int]) -> bool:
        del ports
        return True


_SETTINGS = """\
clusters = source, target
source.bootstrap.servers = {source}
target.bootstrap.servers = {target}
source->target.enabled = true
source->target.topics = {topics}
target->source.enabled = false
source->target.emit.heartbeats.enabled = false
target->source.emit.heartbeats.enabled = false

replication.factor = 1
offset-syncs.topic.replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
offset.storage.replication.factor = 1
config.storage.replication.factor = 1
status.storage.replication.factor = 1
offset.storage.partitions = 3

refresh.topics.interval.seconds = 5
sync.topic.acls.enabled = false
# What its workers are told goes by the cluster on which they work.
target.offset.flush.interval.ms = 2000
target.session.timeout.ms = 6000
target.heartbeat.interval.ms = 2000
target.plugin.discovery = service_load
"""
