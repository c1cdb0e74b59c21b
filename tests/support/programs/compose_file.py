"""Services of docker-compose.yaml, and the Dockerfiles that it builds."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import yaml  # comes with Airflow, without types

TOP = Path(__file__).parents[3]
FILE = TOP / "docker-compose.yaml"
COMPOSED: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSED["services"]


def environment(service: str) -> dict[str, str]:
    """The environment of a service, unless the shell has variables of its own."""
    return {name: _defaulted(value) for name, value in SERVICES[service].get("environment", {}).items()}


def command(service: str) -> list[str]:
    """The whole command of a service; compose splits text as a shell does."""
    given = SERVICES[service]["command"]
    words = shlex.split(given) if isinstance(given, str) else given
    return [*SERVICES[service].get("entrypoint", ()), *words]


def health_check(service: str) -> list[str]:
    """The command of a service's health check, as the container runs it."""
    kind, *words = SERVICES[service]["healthcheck"]["test"]
    own = [word.replace("$$", "$") for word in words]
    return own if kind == "CMD" else ["/bin/sh", "-c", *own]


def dockerfile(service: str) -> str:
    """The text of the Dockerfile that a service is built from."""
    return Path(TOP, SERVICES[service]["build"]["dockerfile"]).read_text()


def base_image(service: str) -> str:
    """The image that a service runs, or that its Dockerfile starts from."""
    if "build" not in SERVICES[service]:
        return str(SERVICES[service]["image"])
    found = re.search(r"^FROM (\S+)$", dockerfile(service), re.MULTILINE)
    assert found
    return found[1]


def locked(package: str) -> str:
    """A package's version in requirements.lock."""
    found = re.search(rf"^{package}==(\S+)", (TOP / "requirements.lock").read_text(), re.MULTILINE)
    assert found
    return found[1]


def _defaulted(value: str) -> str:
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)
