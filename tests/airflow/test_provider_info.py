"""What Airflow reads about the provider fits Airflow's schemas, and everything it names can be imported."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from airflow import __version__ as airflow_version
from packaging.version import Version

from airflow_provider_connect_offsets import __version__, hooks
from airflow_provider_connect_offsets.get_provider_info import get_provider_info
from airflow_provider_connect_offsets.hooks.connect_endpoint import EXTRA_FIELDS
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook

INFO = get_provider_info()
MODULES = sorted(
    module
    for kind in ("operators", "sensors", "hooks", "triggers")
    for item in INFO.get(kind, ())
    for module in item["python-modules"]
)
CLASSES = sorted(
    [connection["hook-class-name"] for connection in INFO["connection-types"]] + INFO.get("extra-links", [])
)


def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(files("airflow").joinpath(name).read_text())
    return schema


def test_it_fits_the_runtime_schema() -> None:
    """Airflow validates what a provider says about itself when it starts."""
    jsonschema.validate(INFO, _schema("provider_info.schema.json"))


@pytest.mark.skipif(Version(airflow_version) < Version("3.2"), reason="conn-fields are read since Airflow 3.2")
@pytest.mark.parametrize("key", ["connection-types", "config", "integrations"])
def test_connection_fields_fit_the_schema_of_provider_files(key: str) -> None:
    """The form's fields are described as Airflow's own providers describe theirs."""
    schema = _schema("provider.yaml.schema.json")

    jsonschema.validate(INFO[key], {**schema["properties"][key], "definitions": schema["definitions"]})


@pytest.mark.parametrize("module", MODULES)
def test_every_module_it_names_can_be_imported(module: str) -> None:
    """A module that isn't there would be listed in Airflow's registry all the same."""
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_it_names_can_be_imported(name: str) -> None:
    """Hooks and links are found under their names."""
    module, _, attribute = name.rpartition(".")

    assert isinstance(getattr(importlib.import_module(module), attribute), type)


def test_connection_type_and_hook_agree() -> None:
    """The form shows the fields that the hook reads, no more and no less, under the hook's own names."""
    (connection,) = INFO["connection-types"]

    assert connection["connection-type"] == KafkaConnectHook.conn_type
    assert connection["hook-name"] == KafkaConnectHook.hook_name
    read = "".join(module.read_text() for module in Path(hooks.__path__[0]).glob("*.py"))
    assert [name for name in connection["conn-fields"] if f'"{name}"' not in read] == []
    assert set(connection["conn-fields"]) == EXTRA_FIELDS
    assert "__" not in connection["connection-type"]


def test_secrets_are_password_fields() -> None:
    """A token isn't shown in the form."""
    assert INFO["connection-types"][0]["conn-fields"]["token"]["schema"]["format"] == "password"


def test_it_states_the_package_version() -> None:
    """The version is written in one place only."""
    assert INFO["versions"] == [__version__]


def test_airflow_finds_it_under_its_entry_point() -> None:
    """The installed distribution tells Airflow where to look."""
    (found,) = [
        entry
        for entry in entry_points(group="apache_airflow_provider")
        if entry.dist and entry.dist.name == INFO["package-name"]
    ]

    assert found.load() is get_provider_info


def test_the_config_option_has_its_default() -> None:
    """Airflow reads ``[connect_offsets] workspace`` without anyone having set it."""
    option = INFO["config"]["connect_offsets"]["options"]["workspace"]

    assert (option["type"], option["default"]) == ("string", "")


@pytest.mark.parametrize(
    ("statement", "banned"),
    [
        ("import airflow_provider_connect_offsets", ["airflow"]),
        ("import airflow_provider_connect_offsets.get_provider_info as g; g.get_provider_info()", ["airflow"]),
        ("import airflow_provider_connect_offsets.connect.rest.client", ["airflow", "confluent_kafka", "pyspark"]),
        ("import airflow_provider_connect_offsets.kafka.logs", ["airflow", "requests", "pyspark"]),
    ],
)
def test_nothing_else_is_imported(statement: str, banned: list[str]) -> None:
    """Airflow imports package and metadata while it reads its configuration; stores know nothing of Airflow."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()

    assert [name for name in loaded if name.partition(".")[0] in banned] == []


def test_the_hook_is_cheap_to_import() -> None:
    """The provider manager imports the hook's module in every process; HTTP and Kafka clients wait for their use."""
    code = (
        "import sys, airflow.sdk.bases.hook, airflow.sdk.definitions.connection, airflow.providers.common.compat.sdk\n"
        "before = set(sys.modules)\n"
        "import airflow_provider_connect_offsets.hooks.kafka_connect\n"
        "print(*(set(sys.modules) - before))"
    )

    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()

    heavy = {"requests", "confluent_kafka", "pyspark", "airflow_provider_connect_offsets.connect.rest.client"}
    assert heavy & set(loaded) == set()
