"""Files of workers and of MirrorMaker 2, read as Kafka's own classes read them, on random settings."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import javaproperties
import pytest

from airflow_provider_connect_offsets.connect.storage.java.mirror_maker_config import enabled_flows, flow_settings
from airflow_provider_connect_offsets.connect.storage.java.settings import Settings
from airflow_provider_connect_offsets.connect.storage.java.worker_config import WorkerConfig, read_worker_config
from airflow_provider_connect_offsets.exceptions import InvalidInput
from tests.support.programs.java_program import ask_java

JAVA = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.*;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.connect.mirror.*;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;

public class Program {
    interface Question { Object answer(Map<String, String> settings) throws Exception; }

    static Object mirrors(Map<String, String> settings) {
        MirrorMakerConfig config = new MirrorMakerConfig(settings);
        Map<String, Object> flows = new LinkedHashMap<>();
        for (SourceAndTarget pair : config.clusterPairs())
            if (Boolean.parseBoolean(settings.get(pair.source() + "->" + pair.target() + ".enabled")))
                flows.put(pair.source() + "->" + pair.target(), config.workerConfig(pair));
        return flows;
    }

    static Object distributed(Map<String, String> settings) {
        DistributedConfig config = new DistributedConfig(settings);
        Map<String, Object> values = new HashMap<>();
        for (String name : List.of("group.id", "offset.storage.topic", "config.storage.topic"))
            values.put(name, config.getString(name));
        values.put("exactly_once", config.exactlyOnceSourceEnabled());
        return values;
    }

    static Object standalone(Map<String, String> settings) {
        return new StandaloneConfig(settings).getString("offset.storage.file.filename");
    }

    static Object client(Map<String, String> settings) {
        AdminClientConfig config = new AdminClientConfig(settings);
        return List.of(config.getString("sasl.mechanism"), config.getPassword("ssl.key.password").value());
    }

    static List<Object> answers(List<Map<String, String>> files, Question question) {
        List<Object> answers = new ArrayList<>();
        for (Map<String, String> settings : files) {
            try {
                answers.add(question.answer(settings));
            } catch (Exception refused) {
                answers.add(null);
            }
        }
        return answers;
    }

    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, List<Map<String, String>>> asked = json.readValue(new File(files[0]), Map.class);
        System.out.println(json.writeValueAsString(Map.of(
            "mirrors", answers(asked.get("mirrors"), Program::mirrors),
            "distributed", answers(asked.get("distributed"), Program::distributed),
            "standalone", answers(asked.get("standalone"), Program::standalone),
            "client", answers(asked.get("client"), Program::client))));
    }
}
"""
STORED = ("group.id", "offset.storage.topic", "config.storage.topic")
OF_CLUSTER = (
    *STORED,
    "bootstrap.servers",
    "security.protocol",
    "sasl.mechanism",
    "ssl.key.password",
    "exactly.once.source.support",
)
SETTINGS = (*OF_CLUSTER, *(f"producer.{name}" for name in OF_CLUSTER[3:7]))
ALIASES = (("a", "b"), ("a", "b", "c"), ("eu.west", "b"), ("a", "a.b"), ("a", "b-c_d"), ("A", "a"))
CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {"bootstrap.servers": "h:1", "key.converter": CONVERTER, "value.converter": CONVERTER}


class Files:
    """Random files; the same for every run."""

    def __init__(self) -> None:
        self.random = random.Random(3)

    def likely(self, share: float) -> bool:
        """True in so many of all cases."""
        return self.random.random() < share

    def blank(self, value: str) -> str:
        """The value, often with spaces around it, or nothing but spaces, or empty."""
        one = self.random.choice([value, value, f"{value} ", f"{value}\t", f" {value}", "", " "])
        return one if self.likely(0.3) else value

    def mirrors(self) -> dict[str, str]:
        """A file of MirrorMaker 2."""
        of = self.random
        aliases = of.choice(ALIASES)
        settings = {"clusters": self.blank(of.choice([", ", ",", " , "]).join(aliases))}
        settings["plugin.discovery"] = "service_load"  # instead of looking into every jar, for each file
        for alias in aliases:
            named = {name: of.choice(["SSL", "own", "", "own "]) for name in SETTINGS if self.likely(0.12)}
            settings |= {f"{alias}.bootstrap.servers": f"{alias}:1"} if self.likely(0.9) else {}
            settings |= {f"{alias}.{name}": value for name, value in named.items()}
        settings |= {name: of.choice(["SSL", "top", "", " top"]) for name in SETTINGS if self.likely(0.12)}
        for source in aliases:
            for target in aliases:
                if source != target and self.likely(0.7):
                    enabled = of.choice(["true", "TRUE", "true", " true", "true ", "yes", "false", ""])
                    settings[f"{source}->{target}.enabled"] = enabled
                    settings |= {f"{source}->{target}.{name}": "flow" for name in SETTINGS if self.likely(0.05)}
        return settings

    def worker(self, names: Mapping[str, str]) -> dict[str, str]:
        """A file of a worker with these settings, some of which it lacks."""
        settings = {name: self.blank(value) for name, value in names.items() if self.likely(0.98)}
        if self.likely(0.5):
            support = self.random.choice(["enabled", "ENABLED", " enabled", "enabled ", "disabled", "preparing"])
            settings["exactly.once.source.support"] = support
        return {**WORKER, **settings}

    def client(self) -> dict[str, str]:
        """Settings of a client."""
        return {
            "bootstrap.servers": "h:1",
            "sasl.mechanism": self.blank("PLAIN"),
            "ssl.key.password": self.blank("p w"),
        }


@pytest.fixture(scope="module")
def asked() -> dict[str, list[dict[str, str]]]:
    """All files."""
    files = Files()
    return {
        "mirrors": [files.mirrors() for _ in range(250)],
        "distributed": [
            files.worker({**dict.fromkeys(STORED, "name"), "status.storage.topic": "s"}) for _ in range(150)
        ],
        "standalone": [files.worker({"offset.storage.file.filename": "/var/offsets"}) for _ in range(60)],
        "client": [files.client() for _ in range(60)],
    }


@pytest.fixture(scope="module")
def answers(asked: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What Kafka's classes make of each; None if they refuse it."""
    found: dict[str, list[Any]] = ask_java(JAVA, tmp_path_factory.mktemp("files"), asked)
    return found


def read(folder: Path, settings: Mapping[str, str]) -> WorkerConfig | None:
    """A worker's file; None if it is refused."""
    path = folder / "worker.properties"
    path.write_text(javaproperties.dumps(settings), encoding="latin-1")
    try:
        return read_worker_config(path)
    except InvalidInput:
        return None


def test_the_flows_of_mirror_maker_and_their_workers(asked: Any, answers: Any) -> None:
    """Which flows are enabled, and each setting of the worker of each."""
    for settings, flows in zip(asked["mirrors"], answers["mirrors"], strict=True):
        if flows is None:
            continue
        file = Settings(settings, "mm2.properties")
        assert sorted(enabled_flows(file)) == sorted(flows), settings
        for flow, worker in flows.items():
            own = flow_settings(file, flow).values
            assert {name: own.get(name) for name in SETTINGS} == {name: worker.get(name) for name in SETTINGS}, flow


def test_where_a_distributed_worker_stores_offsets(asked: Any, answers: Any, tmp_path: Path) -> None:
    """Spaces around a value are none of it; a file without a group or topic is for no worker here."""
    for settings, answer in zip(asked["distributed"], answers["distributed"], strict=True):
        worker = None if answer is None else read(tmp_path, settings)
        if worker is not None:
            here = (worker.group_id, worker.offsets_topic, worker.config_topic, worker.exactly_once)
            assert here == (*(answer[name] for name in STORED), answer["exactly_once"]), settings
        elif answer is not None:
            assert "" in {answer["group.id"], answer["offset.storage.topic"]}, settings


def test_where_a_standalone_worker_stores_offsets(asked: Any, answers: Any, tmp_path: Path) -> None:
    """The file has no spaces around its name."""
    for settings, answer in zip(asked["standalone"], answers["standalone"], strict=True):
        worker = read(tmp_path, settings)
        if answer is not None:
            assert (str(worker.offsets_file) if worker else "") == answer, settings


def test_settings_of_clients_have_no_spaces_around_them(asked: Any, answers: Any) -> None:
    """That holds for names and for passwords."""
    for settings, answer in zip(asked["client"], answers["client"], strict=True):
        file = Settings(settings, "client.properties")
        if answer is not None:
            assert [file.get("sasl.mechanism"), file.get("ssl.key.password")] == answer, settings
