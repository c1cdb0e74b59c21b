"""docker-compose.yaml is valid, and has the same settings as the sandbox and `make up`."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import javaproperties
import pytest
import yaml  # comes with Airflow

from airflow_provider_connect_offsets.pipeline.shipping import QUICK_START
from sandbox.airflow import _standalone, airflow_environment
from sandbox.broker import Secured, _BrokerRecipe
from sandbox.connect import ConnectAt
from sandbox.jars import KAFKA_VERSION, ivy_jar, kafka_jars
from sandbox.java import java
from sandbox.kafka import KafkaAt
from sandbox.parts import PartsAt, airflow_connections
from sandbox.worker import Mode, _WorkerRecipe
from tests.support.programs.compose_file import (
    COMPOSED,
    FILE,
    SERVICES,
    TOP,
    base_image,
    command,
    dockerfile,
    environment,
    locked,
)

BROKERS = ("kafka-source", "kafka-target")
PARTS = PartsAt(
    source=KafkaAt("kafka-source:9092"),
    target=KafkaAt("kafka-target:9092"),
    connect=ConnectAt("http://connect:8083"),
    data=Path("/tmp"),  # noqa: S108 - a container's own
)
PYTHON = "3.11"
# Where a container differs from the sandbox on purpose: addresses, folders, and Airflow asks for a password.
OWN_BROKER = {"listeners", "advertised.listeners", "controller.quorum.voters", "log.dirs"}
OWN_AIRFLOW = {
    "AIRFLOW__CORE__DAGS_FOLDER": "/opt/connect-offsets/dags",
    "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": "http://localhost:8080/execution/",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": "/opt/airflow/passwords.json",
    "AIRFLOW__API__BASE_URL": "http://localhost:8080",
}
LEFT_TO_THE_IMAGE = {
    "AIRFLOW__API__HOST",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS",
    "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT",
    "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT",
}


@pytest.fixture(scope="module")
def compose() -> list[str]:
    """The command of an installed compose; in CI its absence is a failure."""
    if alone := shutil.which("docker-compose"):
        return [alone]
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        return [docker, "compose"]
    missing = "Neither docker-compose nor docker compose is installed; install it with: apt-get install docker-compose"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


def resolve(compose: list[str], file: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Have compose check a file, which needs no container engine, and print what it makes of it."""
    own = {"PATH": os.environ["PATH"], "HOME": str(file.parent), **variables}
    return subprocess.run([*compose, "-f", str(file), "config"], env=own, capture_output=True, text=True, check=False)


def test_compose_takes_it_and_ports_can_be_chosen(compose: list[str]) -> None:
    """No variable is needed; the address that Airflow shows is the one it is published at."""
    done = resolve(compose, FILE, AIRFLOW_PORT="18080")

    assert (done.returncode, done.stderr) == (0, "")
    resolved = yaml.safe_load(done.stdout)["services"]
    assert resolved.keys() == SERVICES.keys()
    assert resolved["airflow"]["environment"]["AIRFLOW__API__BASE_URL"] == "http://localhost:18080"
    assert "18080" in str(resolved["airflow"]["ports"])
    assert "8083" in str(resolved["connect"]["ports"])


def test_compose_would_refuse_a_broken_one(compose: list[str], tmp_path: Path) -> None:
    """What the test above would find, here a service that is not there."""
    file = tmp_path / "docker-compose.yaml"
    file.write_text("services:\n  one:\n    image: kafka\n    depends_on: [nobody]\n")

    done = resolve(compose, file)

    assert done.returncode != 0
    assert "nobody" in done.stderr


def test_a_broker_gets_the_settings_of_the_sandbox(tmp_path: Path) -> None:
    """The image's own program makes the same properties of the environment, and formats its storage with them."""
    sandbox, final, default = tmp_path / "sandbox", tmp_path / "final", tmp_path / "default"
    for folder in (sandbox, final, default):
        folder.mkdir()
    recipe = _BrokerRecipe("unused", Secured(), KAFKA_VERSION)
    recipe.prepare(sandbox, [1, 2])
    expected = javaproperties.loads((sandbox / "broker.properties").read_text())

    program = [str(java()), "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", f"{kafka_jars()}/*"]
    folders = {"default": default, "mounted": tmp_path / "mounted", "final": final}
    options = [f"--{kind}-configs-dir={folder}" for kind, folder in folders.items()]
    subprocess.run(
        [*program, "kafka.docker.KafkaDockerWrapper", "setup", *options],
        env={**environment("kafka-source"), "KAFKA_LOG_DIRS": str(tmp_path / "data")},
        check=True,
        capture_output=True,
    )

    found = javaproperties.loads((final / "server.properties").read_text())
    assert without(found, OWN_BROKER) == without(expected, OWN_BROKER)
    assert found["advertised.listeners"] == f"PLAINTEXT://{PARTS.source.bootstrap}"
    stored = javaproperties.loads((tmp_path / "data" / "meta.properties").read_text())
    assert stored["cluster.id"] == environment("kafka-source")["CLUSTER_ID"]


def test_the_clusters_differ_in_their_name_alone() -> None:
    """Each also has its own id, by which two clusters can be told apart."""
    source, target = (environment(name) for name in BROKERS)
    own = {"CLUSTER_ID", "KAFKA_ADVERTISED_LISTENERS"}

    assert without(source, own) == without(target, own)
    assert target["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{PARTS.target.bootstrap}"
    ids = {settings["CLUSTER_ID"] for settings in (source, target)}
    assert [len(base64.urlsafe_b64decode(f"{one}==")) for one in ids] == [16, 16]


def test_the_worker_gets_the_settings_of_the_sandbox(tmp_path: Path) -> None:
    """But for its address, and the FileStream connectors, which Kafka's scripts leave off the class path."""
    _WorkerRecipe(lambda: PARTS.target.bootstrap, Mode.DISTRIBUTED, KAFKA_VERSION).prepare(tmp_path, [8083])
    expected = javaproperties.loads((tmp_path / "worker.properties").read_text())
    file, target = SERVICES["connect"]["volumes"][0].split(":")[:2]
    found = javaproperties.loads((TOP / file).read_text())

    assert command("connect") == ["/opt/kafka/bin/connect-distributed.sh", target]
    assert found == {
        **expected,
        "listeners": "http://:8083",
        "rest.advertised.host.name": "connect",
        "plugin.path": f"/opt/kafka/libs/connect-file-{KAFKA_VERSION}.jar",
    }
    assert (kafka_jars() / f"connect-file-{KAFKA_VERSION}.jar").exists()


def test_airflow_has_the_connections_of_the_sandbox() -> None:
    """The same names and types, to the services of this file."""
    found = {name: value for name, value in environment("airflow").items() if name.startswith("AIRFLOW_CONN_")}
    expected = airflow_connections(PARTS, spark={"host": "spark://spark-master", "port": 7077})

    assert {name: json.loads(value) for name, value in found.items()} == {
        name: json.loads(value) for name, value in expected.items()
    }


def test_airflow_has_the_settings_of_make_up() -> None:
    """Each of them, but for those that a container needs otherwise, which are named above."""
    up = airflow_environment(Path("/home"), sandbox_env={}, workspace=Path("/workspace")) | _standalone([8080, 1, 2])
    expected = {name: value for name, value in up.items() if name.startswith("AIRFLOW__")}
    found = {name: value for name, value in environment("airflow").items() if name.startswith("AIRFLOW__")}

    assert found == {**without(expected, LEFT_TO_THE_IMAGE), **OWN_AIRFLOW}


def test_spark_starts_as_quickly_as_in_make_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the options that the package gives to short jobs; in `make up`, the user's own come after them and win."""
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dmine=1")
    up = airflow_environment(Path("/home"), sandbox_env={}, workspace=Path("/workspace"))

    assert environment("airflow")["SPARK_SUBMIT_OPTS"] == QUICK_START
    assert up["SPARK_SUBMIT_OPTS"] == f"{QUICK_START} -Dmine=1"


def test_the_scene_is_set_at_the_same_addresses() -> None:
    """Its command names the clusters and the worker that Airflow's connections lead to."""
    assert command("scene") == [
        *("python", "-m", "sandbox.compose", "scene"),
        f"--source={PARTS.source.bootstrap}",
        f"--target={PARTS.target.bootstrap}",
        f"--connect={PARTS.connect.url}",
        f"--data={PARTS.data}",
    ]


def test_images_are_pinned_to_the_locked_versions() -> None:
    """Kafka is the sandbox's; Airflow and Spark are those of requirements.lock."""
    assert {name: base_image(name) for name in SERVICES} == {
        **dict.fromkeys((*BROKERS, "connect"), f"apache/kafka:{KAFKA_VERSION}"),
        **dict.fromkeys(("scene", "airflow"), f"apache/airflow:slim-{locked('apache-airflow')}-python{PYTHON}"),
        **dict.fromkeys(
            ("spark-master", "spark-worker"), f"apache/spark:{locked('pyspark')}-scala2.13-java17-python3-ubuntu"
        ),
    }


def test_executors_run_the_python_of_the_driver() -> None:
    """Functions of the jobs go from one to the other, which Spark allows within one minor version."""
    assert environment("airflow")["PYSPARK_PYTHON"] == f"python{PYTHON}"
    spark = dockerfile("spark-worker")
    assert f"/usr/local/bin/python{PYTHON}" in spark
    assert re.findall(r"uv python install .* (\d+\.\d+)\.\d+", spark) == [PYTHON]
    assert f"uv=={locked('uv')} " in spark


@pytest.mark.parametrize("name", ["spark-master", "spark-worker"])
def test_spark_takes_the_command(name: str) -> None:
    """Spark's own parser takes every word, prints its usage at the last, and ends; with 1 where it met a wrong one."""
    spark_class, *words = command(name)
    assert spark_class == "/opt/spark/bin/spark-class"
    home = ivy_jar().parents[1]  # where pyspark is

    done = subprocess.run(
        [str(home / "bin" / "spark-class"), *words, "--help"],
        env={**os.environ, **environment(name), "SPARK_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_the_workspace_is_shared_by_one_user() -> None:
    """Driver and executors find it at one path, and each may change what the other has written."""
    uri = environment("airflow")["AIRFLOW__CONNECT_OFFSETS__WORKSPACE"]
    for name in ("airflow", "spark-worker"):
        assert f"workspace:{uri.removeprefix('file://')}" in SERVICES[name]["volumes"]
        assert "install --directory --owner=50000 --group=0 --mode=0775 /workspace" in dockerfile(name)
    assert dockerfile("spark-worker").splitlines()[-1] == "USER 50000:0"  # `airflow` in Airflow's image
    assert "workspace" in COMPOSED["volumes"]


def test_the_image_gets_what_it_installs_and_no_more() -> None:
    """What is not named here, like .venv or .git, stays out of the image."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())
    hatch = project["tool"]["hatch"]
    packages = hatch["build"]["targets"]["wheel"]["packages"]
    first, *lines = [line for line in (TOP / ".dockerignore").read_text().splitlines() if not line.startswith("#")]

    assert first == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == {
        *packages,
        *project["project"]["license-files"],
        *(one["path"] for one in hatch["metadata"]["hooks"]["fancy-pypi-readme"]["fragments"]),
        *("pyproject.toml", "requirements.lock", "dags", "sandbox"),
    }


def test_up_wait_ends_once_all_is_there() -> None:
    """What runs on has a health check. What ends is waited for, or `up --wait` would call its end a failure."""
    conditions = [one for service in SERVICES.values() for one in service.get("depends_on", {}).items()]
    awaited = {name: {one["condition"] for other, one in conditions if other == name} for name in SERVICES}
    for name, service in SERVICES.items():
        lasting = "healthcheck" in service
        assert awaited[name] <= {"service_healthy" if lasting else "service_completed_successfully"}, name
        assert lasting or awaited[name], name
    assert "scene" in SERVICES["airflow"]["depends_on"]


def test_it_has_no_secret_and_listens_on_this_machine_alone() -> None:
    """Keys and the password are generated at the first start; nobody else in the network reaches a port."""
    names = [name for service in SERVICES for name in environment(service)]
    secret = re.compile(r"PASSWORD(?!S_FILE)|SECRET|TOKEN|FERNET|_KEY")
    assert [name for name in names if secret.search(name)] == []
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def without(settings: dict[str, str], names: set[str]) -> dict[str, str]:
    """Settings other than these."""
    return {name: value for name, value in settings.items() if name not in names}
