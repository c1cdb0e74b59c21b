"""Settings of a Java process, with references that are resolved when a setting is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from airflow_provider_connect_offsets.connect.storage.java.config_providers import Providers
from airflow_provider_connect_offsets.connect.storage.java.properties import read_properties
from airflow_provider_connect_offsets.exceptions import InvalidInput

# What ``String.trim`` removes.
_BLANKS = "".join(map(chr, range(0x21)))


def trim(value: str) -> str:
    """Return a value as ``ConfigDef.parseType`` reads it."""
    return value.strip(_BLANKS)


class Settings:
    """Settings by name; its ``repr`` shows no value, because any may be a password.

    Args:
        values: Values by name, with references.
        source: Their file, for messages.
        providers: Resolve the references; None for the providers that ``values`` declares.
    """

    def __init__(self, values: Mapping[str, str], source: str, providers: Providers | None = None) -> None:
        self.values = dict(values)
        self.source = source
        self._providers = providers or Providers(values)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a properties file; raises :class:`InvalidInput` if it can't be read."""
        return cls(read_properties(path), str(path))

    def get(self, name: str) -> str | None:
        """Return the value of ``name`` as ``ConfigDef`` reads it, without spaces around it; None if it is not set.

        Raises:
            InvalidInput: A reference in it can't be resolved.
        """
        value = self.get_untrimmed(name)
        return None if value is None else trim(value)

    def get_untrimmed(self, name: str) -> str | None:
        """Return the untrimmed value of ``name``, as code without ``ConfigDef`` reads it; raises as :meth:`get`."""
        value = self.values.get(name)
        return None if value is None else self._providers.resolve(value, f"{self.source}: {name}")

    def get_nonempty(self, name: str) -> str | None:
        """Return the value of ``name``; None if it is not set or empty."""
        return self.get(name) or None

    def require(self, name: str, purpose: str) -> str:
        """Return the value of ``name``; raises :class:`InvalidInput` with ``purpose`` if it is not set or empty."""
        value = self.get_nonempty(name)
        if value is None:
            raise self.refusal(f"{name} is not set, {purpose}.")
        return value

    def get_list(self, name: str) -> list[str]:
        """Return the values of a list as ``ConfigDef`` does: split at commas and stripped."""
        return [value.strip() for value in (self.get(name) or "").split(",") if value.strip()]

    def derive(self, values: Mapping[str, str], source: str = "") -> Settings:
        """Return settings with other values and the same providers."""
        return Settings(values, source or self.source, self._providers)

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """Return the unresolved values whose names start with ``prefix``, by name without it."""
        return {name.removeprefix(prefix): value for name, value in self.values.items() if name.startswith(prefix)}

    def refusal(self, text: str) -> InvalidInput:
        """Return an error about these settings."""
        return InvalidInput(f"{self.source}: {text}")
