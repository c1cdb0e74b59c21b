"""Resolves references ``${provider:path:key}`` with the providers that Kafka includes.

Sources: ``ConfigTransformer``, ``AbstractConfig.resolveConfigVariables``, ``AllowedPaths``, and the three providers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from airflow_provider_connect_offsets.connect.storage.java.properties import read_properties
from airflow_provider_connect_offsets.exceptions import InvalidInput

_REFERENCE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."


# Returns the value of a key at a path; raises :class:`InvalidInput` with the reason and a remedy.
_Provider: TypeAlias = Callable[[str, str], str]


class Providers:
    """The providers that ``config.providers`` declares among ``values``.

    A declared provider without a class is ignored, as in Kafka; a provider of an unknown class fails when it is used.
    Space around the names is ignored, as for connectors and MirrorMaker 2.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        names = [name.strip() for name in values.get("config.providers", "").split(",")]
        classes = {name: values.get(f"config.providers.{name}.class") for name in names if name}
        self._providers: dict[str, _Provider] = {
            name: _provider(kind.strip(), _parameters(values, name)) for name, kind in classes.items() if kind
        }

    def resolve(self, value: str, setting: str) -> str:
        """Return ``value`` with each reference to a declared provider replaced once; other references stay.

        Raises:
            InvalidInput: A reference can't be resolved (Kafka leaves it then); the message names it and ``setting``.
        """
        return _REFERENCE.sub(lambda reference: self._replacement(reference, setting), value)

    def _replacement(self, reference: re.Match[str], setting: str) -> str:
        provider = self._providers.get(reference[1])
        if provider is None:
            return reference[0]
        try:
            return provider(reference[3] or "", reference[4])
        except InvalidInput as error:
            raise InvalidInput(f"{setting} refers to {reference[0]}, which can't be resolved: {error}") from error


def _parameters(values: Mapping[str, str], name: str) -> dict[str, str]:
    prefix = f"config.providers.{name}.param."
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def _provider(kind: str, parameters: Mapping[str, str]) -> _Provider:
    match kind.removeprefix(_PACKAGE):
        case "FileConfigProvider":
            return partial(_of_file, allowed=parameters.get("allowed.paths", ""))
        case "DirectoryConfigProvider":
            return partial(_of_directory, allowed=parameters.get("allowed.paths", ""))
        case "EnvVarConfigProvider":
            return partial(_of_environment, pattern=parameters.get("allowlist.pattern", ".*"))
        case _:
            return partial(_refuse_provider, kind=kind)


def _of_file(path: str, key: str, *, allowed: str) -> str:
    """Return a value from a properties file."""
    if not path:
        raise InvalidInput("it has no path of a file. Write it as ${provider:/path/of/file:key}.")
    value = read_properties(_require_allowed(path, allowed), encoding="utf-8").get(key)
    if value is None:
        raise InvalidInput(f"{path} has no key {key!r}. Correct the key, or add it to the file.")
    return value


def _of_directory(path: str, key: str, *, allowed: str) -> str:
    """Return the content of the file that has the key's name."""
    if not path:
        raise InvalidInput("it has no path of a directory. Write it as ${provider:/path/of/directory:file}.")
    directory = _require_allowed(path, allowed)
    if not key or key in {".", ".."} or "/" in key:
        raise InvalidInput(f"{key!r} can't be the name of a file in {path}.")
    try:
        return (directory / key).read_bytes().decode(errors="replace")
    except OSError as error:
        raise InvalidInput(f"{directory / key} can't be read: {error.strerror}.") from error


def _of_environment(path: str, key: str, *, pattern: str) -> str:
    """Return an environment variable of this process, which may differ from the worker's."""
    if path:
        raise InvalidInput("environment variables have no path. Write it as ${provider:NAME}.")
    try:
        allowed = re.search(pattern, key)
    except re.error as error:
        raise InvalidInput(f"allowlist.pattern of the provider isn't a regular expression: {error}.") from error
    if not allowed:
        raise InvalidInput("allowlist.pattern of the provider does not allow this environment variable.")
    value = os.environ.get(key)
    if value is None:
        raise InvalidInput(f"the environment variable {key} is not set here. Set it to the value that the worker has.")
    return value


def _refuse_provider(_path: str, _key: str, *, kind: str) -> str:
    """Refuse a provider that only the worker can use."""
    raise InvalidInput(
        f"the provider has the class {kind}, but only Kafka's FileConfigProvider, DirectoryConfigProvider and "
        "EnvVarConfigProvider are supported. Use a copy of the file with the value instead of the reference."
    )


def _require_allowed(path: str, allowed: str) -> Path:
    """Return ``path``, which must be in one of the ``allowed`` directories, if there are any."""
    folders = [Path(os.path.normpath(folder)) for folder in allowed.rstrip(",").split(",")] if allowed else []
    for folder in folders:
        if not folder.is_absolute() or not folder.exists():
            raise InvalidInput(f"allowed.paths of the provider has {folder}, which must be absolute and exist.")
    normal = Path(os.path.normpath(path))
    if folders and not any(normal.is_relative_to(folder) for folder in folders):
        raise InvalidInput(f"{path} is outside of the provider's allowed.paths.")
    return normal if folders else Path(path)
