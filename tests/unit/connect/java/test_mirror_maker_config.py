"""The file of a dedicated MirrorMaker 2, with the worker of each flow as MirrorMaker 2 derives it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import javaproperties
import pytest

from airflow_provider_connect_offsets.connect.storage.java.mirror_maker_config import flow_settings
from airflow_provider_connect_offsets.connect.storage.java.settings import Settings
from airflow_provider_connect_offsets.connect.storage.java.worker_config import (
    WorkerConfig,
    read_worker_config,
)
from airflow_provider_connect_offsets.exceptions import InvalidInput
from tests.support.programs.java_program import ask_java

MIRRORS = {
    "clusters": "a, b",
    "a.bootstrap.servers": "a:1",
    "b.bootstrap.servers": "b:1",
    "a->b.enabled": "true",
    "b->a.enabled": "false",
}
BOTH = {**MIRRORS, "b->a.enabled": "TRUE"}
JAVA = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.*;
import org.apache.kafka.connect.mirror.*;

public class Program {
    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<Object> answers = new ArrayList<>();
        for (Map<String, String> settings : json.readValue(new File(files[0]), Map[].class)) {
            answers.add(new MirrorMakerConfig(settings).workerConfig(new SourceAndTarget("a", "b")));
        }
        System.out.println(json.writeValueAsString(answers));
    }
}
"""
FILES: list[dict[str, str]] = [
    {},
    {"security.protocol": "SSL", "ssl.key.password": "x", "sasl.mechanism": "PLAIN", "bootstrap.servers": "top:1"},
    {"security.protocol": "SSL", "b.security.protocol": "SASL_SSL", "a.security.protocol": "PLAINTEXT"},
    {"b.producer.security.protocol": "SSL", "b.security.protocol": "SASL_SSL", "producer.security.protocol": "SSL"},
    {"offset.storage.topic": "top", "b.offset.storage.topic": "own", "b.config.storage.topic": "configs"},
    {"b.group.id": "own", "group.id": "top", "replication.policy.separator": "_"},
    {"b.exactly.once.source.support": "enabled", "exactly.once.source.support": "disabled"},
    {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "b.ssl.key.password": "${env:HOME}",
        "b.group.id": "${env:HOME}-group",
    },
]
SETTINGS = [
    "group.id",
    "offset.storage.topic",
    "config.storage.topic",
    "exactly.once.source.support",
    *(
        f"{client}{name}"
        for client in ("", "producer.")
        for name in ("bootstrap.servers", "security.protocol", "ssl.key.password", "sasl.mechanism")
    ),
]


def read(folder: Path, settings: Mapping[str, str], flow: str | None = None) -> WorkerConfig:
    path = folder / "mm2.properties"
    path.write_text(javaproperties.dumps(settings), encoding="latin-1")
    return read_worker_config(path, flow=flow)


def test_a_worker_has_what_mirror_maker_gives_it(tmp_path: Path) -> None:
    """MirrorMaker 2's own class agrees on every setting that is used."""
    quick = {"plugin.discovery": "service_load"}  # instead of looking into every jar, for each file
    files = [{**MIRRORS, **quick, **more} for more in FILES]

    answers = ask_java(JAVA, tmp_path, files)

    for file, answer in zip(files, answers, strict=True):
        worker = flow_settings(Settings(file, "mm2.properties"), None)
        assert {name: worker.get(name) for name in SETTINGS} == {name: answer.get(name) for name in SETTINGS}, file


def test_the_worker_of_the_only_flow(tmp_path: Path) -> None:
    """It stores its offsets on the target, and has no REST API unless enabled."""
    worker = read(tmp_path, {**MIRRORS, "listeners": "http://h:1"})

    assert (worker.offsets_file, worker.group_id) == (None, "a-mm2")
    assert (worker.offsets_topic, worker.config_topic) == ("mm2-offsets.a.internal", "mm2-configs.a.internal")
    assert worker.client().settings == {"bootstrap.servers": "b:1", "security.protocol": "PLAINTEXT"}
    assert worker.override({}) == worker.client()
    assert worker.listeners == ()
    with_rest = {**MIRRORS, "listeners": "http://h:1", "dedicated.mode.enable.internal.rest": "true"}
    assert read(tmp_path, with_rest).listeners == ("http://h:1",)


def test_one_flow_of_many_is_named(tmp_path: Path) -> None:
    """Spaces around the arrow make no difference."""
    assert read(tmp_path, BOTH, "b->a").client().settings["bootstrap.servers"] == "a:1"
    assert read(tmp_path, BOTH, "a -> b").group_id == "a-mm2"


def test_a_flow_that_is_not_clear_is_named(tmp_path: Path) -> None:
    """The error lists the enabled flows, in the order of the clusters."""
    with pytest.raises(InvalidInput, match="Give an enabled flow with --flow: a->b, b->a"):
        read(tmp_path, BOTH)
    with pytest.raises(InvalidInput, match=r"'b->a' is not an enabled flow\. Enabled flows: a->b\."):
        read(tmp_path, MIRRORS, "b->a")
    with pytest.raises(InvalidInput, match="Give an enabled flow with --flow: none"):
        read(tmp_path, {**MIRRORS, "a->b.enabled": "no"})


def test_an_error_names_the_flow(tmp_path: Path) -> None:
    """A file has many workers."""
    worker = read(tmp_path, {**MIRRORS, "b.security.protocol": "TLS"})

    with pytest.raises(InvalidInput, match=r"mm2\.properties \(a->b\): security\.protocol is 'TLS'"):
        worker.client()
