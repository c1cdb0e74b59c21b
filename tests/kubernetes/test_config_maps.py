"""ConfigMaps that resources name themselves have their earlier content again when a client ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.strimzi.config_maps import Documents
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import ConfigMap
from airflow_provider_connect_offsets.connect.strimzi.places import Place, find_place
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource, ResourceKind
from airflow_provider_connect_offsets.exceptions import Unreachable

pytestmark = pytest.mark.kubernetes


class Api:
    """An API server with ConfigMaps."""

    def __init__(self, *names: str) -> None:
        self.texts = dict.fromkeys(names, "theirs")
        self.silent_about = ""

    def config_map(self, name: str) -> ConfigMap:
        return ConfigMap(name, {"offsets.json": self.texts[name]})

    def write_texts(self, name: str, texts: Mapping[str, str]) -> None:
        if name == self.silent_about:
            raise Unreachable(f"no answer about {name}.")
        self.texts[name] = texts["offsets.json"]


def connector(name: str) -> Place:
    """A connector that lets its offsets be altered from a ConfigMap of its own name."""
    metadata = {"name": name, "namespace": "ns", "uid": "u", "resourceVersion": "7"}
    spec = {"class": "com.example.Source", "alterOffsets": {"fromConfigMap": {"name": name}}}
    return find_place(CustomResource(ResourceKind.CONNECTOR, {"metadata": metadata, "spec": spec}), name)


def test_one_that_fails_does_not_keep_others_from_it(caplog: pytest.LogCaptureFixture) -> None:
    """A fleet's client has written to many; the log names the one that is left."""
    api = Api("a", "b", "c")
    documents = Documents(cast("Any", api))
    for name in api.texts:
        documents.write(connector(name), "ours")
    api.silent_about = "b"

    documents.restore()

    assert api.texts == {"a": "theirs", "b": "ours", "c": "theirs"}
    warning = "no answer about b. The earlier content of the ConfigMap under 'offsets.json' was not restored."
    assert warning in caplog.text
