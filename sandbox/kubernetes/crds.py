"""The definitions of Strimzi's custom resources, made by Strimzi's own generator from its API classes.

The generator was first published with Strimzi 1.2.0. It also reads the classes of older releases.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxError
from sandbox.jars import jars_of, user_cache
from sandbox.java import java_from

#: Strimzi's API group.
GROUP = "kafka.strimzi.io"
#: The custom resources that connectors are managed by, by their kind.
PLURALS = {
    "KafkaConnect": "kafkaconnects",
    "KafkaConnector": "kafkaconnectors",
    "KafkaMirrorMaker2": "kafkamirrormaker2s",
}

_GENERATOR = "io.strimzi:crd-generator:1.2.0"
_MAIN = "io.strimzi.crdgenerator.CrdGenerator"
_JAVA = 21  # of the generator's classes
_MODEL = "io.strimzi.api.kafka.model"
_CLASSES = {
    "KafkaConnect": f"{_MODEL}.connect.KafkaConnect",
    "KafkaConnector": f"{_MODEL}.connector.KafkaConnector",
    "KafkaMirrorMaker2": f"{_MODEL}.mirrormaker2.KafkaMirrorMaker2",
}


class Release(StrEnum):
    """Releases of Strimzi that differ in the versions of the resources that they serve."""

    V1BETA2 = "0.45.0"
    BOTH = "0.51.0"
    V1 = "1.2.0"

    @property
    def api_version(self) -> str:
        """The newest version of the resources that it serves."""
        return "v1beta2" if self is Release.V1BETA2 else "v1"

    @property
    def operator_version(self) -> str:
        """The version in which its operator reads and writes resources; before 1.0 v1beta2, whatever else is served."""
        return "v1" if self is Release.V1 else "v1beta2"


def missing_java() -> str | None:
    """Why the generator can't run here, as a sentence; None if it can."""
    try:
        java_from(_JAVA)
    except SandboxError as error:
        return str(error)
    return None


def crds(release: Release) -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of a release, as manifests."""
    jars = jars_of(user_cache() / f"strimzi-api-{release}", (_GENERATOR, f"io.strimzi:api:{release}"))
    with tempfile.TemporaryDirectory(prefix="strimzi-crds-") as scratch:
        files = {kind: Path(scratch, f"{kind}.json") for kind in _CLASSES}
        outputs = [f"{_CLASSES[kind]}={file}" for kind, file in files.items()]
        command = [str(java_from(_JAVA)), "-cp", f"{jars}/*", _MAIN, "--crd-api-version", "v1", *outputs]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise SandboxError(f"Strimzi's generator failed:\n{ended.stderr}")
        return [json.loads(file.read_text()) for file in files.values()]
