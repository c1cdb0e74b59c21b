"""How a connector is created, copied or renamed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.masking import HIDDEN_NAMES
from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    argument,
    flag,
    optional,
    required,
)
from airflow_provider_connect_offsets.offsets.requests.values import Flag, Text
from airflow_provider_connect_offsets.parameters.tasks import OneConnectorParams

# In JSON: a setting that is named like a secret, with another value than a reference or null. Only in lower case, which
# names of settings have: JSON Schema has no flags.
_PLAIN_SECRET = rf'"[^"]*(?:{HIDDEN_NAMES})[^"]*"\s*:\s*(?!\s|"\$\{{|null)'

#: A mapping of settings, or the text that a template renders it to.
Settings = Annotated[Any, lambda value, _param: "" if value is None else value]


class NewConnectorParams(OneConnectorParams):
    """A connector that is created."""

    config: Settings = argument(
        "Configuration of the connector, without ``name``: a mapping, or its JSON text. Give secrets as references to "
        "the worker's config providers (``${file:…}``), or by templates of Airflow's connections and variables, which "
        "Airflow masks."
    )
    offsets: Any = argument(
        "Offsets at which the connector begins, in the format of Connect's REST API: a list of "
        '``{"partition": {…}, "offset": {…}}``, or its JSON text.',
        default=None,
    )
    start_at: Text = argument(
        "Instead of ``offsets``: ``earliest`` or ``latest``. The connector begins at the log start or log end of each "
        "partition that it reads when it is created. Needs ``kafka_conn_id``.",
        default="",
    )
    state: Text = argument("State of the new connector: RUNNING, PAUSED or STOPPED.", default="RUNNING")
    inherit: Flag = argument(
        "Whether to keep offsets that an earlier connector of this name has left; otherwise they are removed.",
        default=False,
    )

    @property
    def settings(self) -> dict[str, str]:
        """The configuration; raises :class:`InvalidRequest` if it is no JSON object of plain values."""
        return {name: value for name, value in settings_of(self.config).items() if value is not None}


class CopyParams(Parameters, section=Section.WHAT):
    """Which connector is copied, and how its copy differs."""

    first: ClassVar[tuple[str, ...]] = ("connector", "new_name", "rename", "config", "stop_original")

    connector: Text = required("Connector", "Name of the connector that is copied.", example="orders-sink")
    new_name: Text = required("New name", "Name of the copy.", example="orders-sink-2")
    rename: Flag = flag(
        "Rename", "Whether to delete the original and its offsets, once the copy has the offsets.", default=False
    )
    config: Settings = optional(
        "Settings that differ",
        "JSON object of the settings in which the copy differs from the original; null removes a setting. "
        "Airflow stores and shows this text, so a run is refused if the text has a secret in plain. Give a reference "
        "to the worker's config providers instead (${file:…}).",
        refused=_PLAIN_SECRET,
        example='{"topics": "orders", "consumer.override.group.id": null}',
    )
    stop_original: Flag = flag(
        "Stop the original meanwhile",
        "Whether to stop the original for the seconds in which its offsets are copied, so that the copy begins "
        "exactly where the original has stopped. Otherwise, the copy begins at the last committed offsets, which are "
        "usually up to 60 s old (offset.flush.interval.ms). A rename always stops the original.",
        section=Section.SAFETY,
        default=False,
    )

    @property
    def overrides(self) -> dict[str, str | None]:
        """The settings that differ; raises :class:`InvalidRequest` if they are not a JSON object of plain values."""
        return settings_of(self.config)


class ChangedSettingsParams(Parameters):
    """Settings of a connector that are changed."""

    config: Settings = argument(
        "Settings to change: a mapping, or its JSON text. null removes a setting; settings that are not named stay."
    )

    @property
    def settings(self) -> dict[str, str | None]:
        """The settings; raises :class:`InvalidRequest` if they are no JSON object of plain values, or empty."""
        if settings := settings_of(self.config):
            return settings
        raise InvalidRequest('Nothing was changed: config names no setting. For example: {"tasks.max": 4}.')


class CheckOnlyParams(Parameters):
    """Whether a check leaves everything as it is."""

    dry_run: Flag = argument(
        "Whether to change nothing, not even what a dead run has left unfinished on either connector.", default=False
    )


def settings_of(config: Any) -> dict[str, str | None]:
    """Return the settings of ``config``, an object or its JSON, in Connect's form; None: without that setting.

    Raises :class:`InvalidRequest` if it is not a JSON object of plain values.
    """
    try:
        settings = json.loads(config or "{}") if isinstance(config, str) else config
    except ValueError as error:
        raise InvalidRequest(
            f"config is not valid JSON: {error}. It is not shown here, because it may have secrets."
        ) from error
    if not isinstance(settings, Mapping) or any(isinstance(value, dict | list) for value in settings.values()):
        raise InvalidRequest(
            'config is not a JSON object of plain values, like {"topics": "orders"}. It is not shown here, because it '
            "may have secrets."
        )
    return {str(name): _write_setting(value) for name, value in settings.items()}


def _write_setting(value: Any) -> str | None:
    """Write a value in the form of Connect's settings."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
