"""The consumer of a MirrorSource: which of its settings count, compared with Kafka's own class."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.lag import isolation_of
from airflow_provider_connect_offsets.offsets.families import ConnectorType, MirrorSource
from tests.support.programs.java_program import ask_java

MIRROR = {
    "name": "mirror",
    "connector.class": MirrorSource.classes[0],
    "source.cluster.alias": "a",
    "target.cluster.alias": "b",
    "topics": "orders",
}
SETTINGS = {
    "isolation.level": ("read_committed", "read_uncommitted", " read_committed "),
    "auto.offset.reset": ("earliest", "latest", "none"),
}
PREFIXES = ("", "consumer.", "source.", "source.consumer.", "consumer.override.", "source.cluster.", "target.consumer.")
JAVA = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.*;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Program {
    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<Object> answers = new ArrayList<>();
        Class<?> source = Class.forName("org.apache.kafka.connect.mirror.MirrorSourceConfig");
        var made = source.getDeclaredConstructor(Map.class);
        var asked = source.getSuperclass().getDeclaredMethod("sourceConsumerConfig", String.class);
        asked.setAccessible(true);
        for (Map<String, String> settings : json.readValue(new File(files[0]), Map[].class)) {
            var consumer = new HashMap<>((Map<String, Object>) asked.invoke(made.newInstance(settings), "role"));
            consumer.put("bootstrap.servers", "a:1");
            consumer.put("key.deserializer", ByteArrayDeserializer.class);
            consumer.put("value.deserializer", ByteArrayDeserializer.class);
            ConsumerConfig read = new ConsumerConfig(consumer);
            answers.add(List.of(read.getString("isolation.level"), read.getString("auto.offset.reset")));
        }
        System.out.println(json.writeValueAsString(answers));
    }
}
"""


def test_kafka_reads_the_same_of_each_configuration(tmp_path: Path) -> None:
    """A configuration may have several prefixes at once, some of which mean nothing to Kafka."""
    drawn = random.Random(7)
    names = [(f"{prefix}{name}", values) for prefix in PREFIXES for name, values in SETTINGS.items()]
    configs = [
        {**MIRROR, **{name: drawn.choice(values) for name, values in drawn.sample(names, drawn.randint(0, 5))}}
        for _ in range(200)
    ]

    answers = ask_java(JAVA, tmp_path, configs)

    infos = [ConnectorInfo("mirror", ConnectorType.SOURCE, config) for config in configs]
    assert [[isolation_of(one), MirrorSource().offset_reset(one.config)] for one in infos] == answers


@pytest.mark.parametrize("setting", ["source.consumer.isolation.level", "consumer.isolation.level"])
def test_a_sink_reads_what_its_worker_overrides(setting: str) -> None:
    """MirrorSource's settings mean nothing to it."""
    override = "consumer.override.isolation.level"
    sink = ConnectorInfo("sink", ConnectorType.SINK, {"connector.class": "S", override: "read_committed"})

    assert isolation_of(sink) is Isolation.READ_COMMITTED
    assert (
        isolation_of(ConnectorInfo("s", ConnectorType.SINK, {setting: "read_committed"})) is Isolation.READ_UNCOMMITTED
    )
    mirror = ConnectorInfo("m", ConnectorType.SOURCE, {**MIRROR, override: "read_committed"})
    assert isolation_of(mirror) is Isolation.READ_UNCOMMITTED
