"""How a connector is copied or renamed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.parameters.fields import (
    Flag,
    Parameters,
    Section,
    Text,
    argument,
    flag,
    optional,
    required,
)

#: A mapping of settings, also as the text that templates make of it.
Settings = Annotated[Any, BeforeValidator(lambda value: "" if value is None else value)]


class CopyParams(Parameters, section=Section.WHAT):
    """Which connector is copied, and how its copy differs."""

    first: ClassVar[tuple[str, ...]] = ("connector", "new_name", "rename", "config", "stop_original")

    connector: Text = required("Connector", "Name of the connector that is copied.", example="orders-sink")
    new_name: Text = required("New name", "Name of the copy.", example="orders-sink-2")
    rename: Flag = flag(
        "Rename", "Whether the original is deleted with its offsets, once the copy has them.", default=False
    )
    config: Settings = optional(
        "Settings that differ",
        "JSON object of the settings that the copy has in place of the original's; null: it does not have that one. "
        "Give secrets as references to the worker's config providers (${file:…}): Airflow stores and shows this text.",
        example='{"topics": "orders", "consumer.override.group.id": null}',
    )
    stop_original: Flag = flag(
        "Stop the original meanwhile",
        "Whether the original is stopped for the seconds in which its offsets are copied, so that the copy begins "
        "exactly where the original has come to. Else the copy begins where the original has last committed, as a rule "
        "up to 60 s (offset.flush.interval.ms) before. A rename always stops it.",
        section=Section.SAFETY,
        default=False,
    )

    @property
    def overrides(self) -> dict[str, str | None]:
        """The settings that differ; raises :class:`InvalidRequest` if they are no JSON object of plain values."""
        given = self.config
        try:
            settings = json.loads(given or "{}") if isinstance(given, str) else given
        except ValueError as error:
            raise InvalidRequest(f"config: {given!r} is no JSON: {error}.") from error
        if not isinstance(settings, Mapping) or any(isinstance(value, dict | list) for value in settings.values()):
            raise InvalidRequest(f'config: {given!r} is no JSON object of plain values, like {{"topics": "orders"}}.')
        return {str(name): _setting(value) for name, value in settings.items()}


class CheckOnlyParams(Parameters):
    """Whether a check leaves everything as it is."""

    dry_run: Flag = argument(
        "Whether nothing is changed, not even what a dead run has left of either connector.", default=False
    )


def _setting(value: Any) -> str | None:
    """Write a value as Connect's settings have it."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
