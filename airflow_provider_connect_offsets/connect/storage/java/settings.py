"""Settings of a Java process; a reference in one is resolved only when that one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from airflow_provider_connect_offsets.connect.storage.java.config_providers import Providers
from airflow_provider_connect_offsets.connect.storage.java.properties import read_properties
from airflow_provider_connect_offsets.exceptions import InvalidInput


class Settings:
    """``values`` by name, with references for ``providers``; ``source`` tells in errors where they stand.

    It shows no value in its ``repr``: any may be a password.
    """

    def __init__(self, values: Mapping[str, str], source: str, providers: Providers | None = None) -> None:
        self.values = dict(values)
        self.source = source
        self._providers = providers or Providers(values)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a properties file; raises :class:`InvalidInput` where it can't be read."""
        return cls(read_properties(path), str(path))

    def get(self, name: str) -> str | None:
        """The value of ``name``, references resolved; None where it is not set.

        Raises :class:`InvalidInput` where a reference in it can't be resolved.
        """
        value = self.values.get(name)
        return None if value is None else self._providers.resolve(value, f"{self.source}: {name}")

    def given(self, name: str) -> str | None:
        """The value of ``name``; None where it is empty too."""
        return self.get(name) or None

    def needed(self, name: str, purpose: str) -> str:
        """The value of ``name``; raises :class:`InvalidInput`, which says what for, where there is none."""
        value = self.given(name)
        if value is None:
            raise self.refusal(f"{name} is not set, {purpose}.")
        return value

    def listed(self, name: str) -> list[str]:
        """The values of a list, as ``ConfigDef`` reads it: at commas, without the space around them."""
        return [value.strip() for value in (self.get(name) or "").split(",") if value.strip()]

    def derived(self, values: Mapping[str, str], source: str = "") -> Settings:
        """Other values, with the same providers."""
        return Settings(values, source or self.source, self._providers)

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """The values whose names begin with ``prefix``, without it and unresolved."""
        return {name.removeprefix(prefix): value for name, value in self.values.items() if name.startswith(prefix)}

    def refusal(self, text: str) -> InvalidInput:
        """An error about these settings."""
        return InvalidInput(f"{self.source}: {text}")
