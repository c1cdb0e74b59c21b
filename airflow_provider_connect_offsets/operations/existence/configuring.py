"""Changing settings of a connector: checked before it is stopped, read back, and undone if it fails with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.family import Config
from airflow_provider_connect_offsets.offsets.redirected import find_redirecting, show_setting
from airflow_provider_connect_offsets.operations.registry import operation_on_connector
from airflow_provider_connect_offsets.operations.stages.captured import CONFIGURE
from airflow_provider_connect_offsets.operations.stages.connector_stages import StopConnector
from airflow_provider_connect_offsets.operations.stages.explained import SettingsExplained
from airflow_provider_connect_offsets.operations.stages.settings_stages import ChangeSettings, Settings, TrySettings
from airflow_provider_connect_offsets.saga import Left, Owner, Stage, operate
from airflow_provider_connect_offsets.words import join_first

# With another class or name, the stored offsets would be another connector's.
_FIXED = ("name", "connector.class")


def configure(connector: str, settings: Settings, clients: Clients, owner: Owner) -> tuple[str, ...]:
    """Stop a connector, change settings, and bring it into its prior state; or leave it as it was.

    Args:
        connector: Its name.
        settings: The new values; None removes a setting, and all others stay.
        clients: Clients of its Connect cluster.
        owner: This process.

    Returns:
        What was changed, as a person may see it; empty if the connector had these settings already.

    Raises:
        InvalidRequest: The settings can't be changed here, or the worker finds them invalid; nothing was stopped.
        Unsupported: Only its offsets are reached.
        UnknownConnector: There is no such connector.
        Overlap: Another run changes it.
        NotApplied: It fails with the new settings, or Connect refuses them; prior settings and state are restored.
        LeftStopped: Prior settings or state could not be restored.
    """

    def stages(_left: Sequence[Left]) -> list[Stage]:
        registry, info = clients.registry(), clients.control.info(connector)
        new = {name: value for name, value in settings.items() if info.config.get(name) != value}
        if not new:
            return []
        _refuse(info, new, otherwise=registry.configure_by_hand(connector))
        if problems := registry.config_problems(_with(info.config, new)):
            raise InvalidRequest(f"Nothing was changed: {connector!r}: {join_first(problems, 3, separator='; ')}")
        return [
            StopConnector(connector, clients),
            ChangeSettings(connector, clients, settings=new),
            TrySettings(connector, clients),
        ]

    how, key = SettingsExplained(connector, clients.control), f"{CONFIGURE} {owner.task}"
    name = "the change of settings"
    made = operate(operation_on_connector(clients, connector, name, stages, key=key, explanation=how), owner)
    stage = None if made.record is None else made.record.of_title(CONFIGURE)
    return () if stage is None else tuple(_describe(stage.captured["prior"], stage.spec["settings"]))


def _describe(prior: Settings, new: Settings) -> Iterator[str]:
    for name, value in new.items():
        yield f"{show_setting(name, prior[name])} → {show_setting(name, value)}"


def _refuse(info: ConnectorInfo, new: Settings, *, otherwise: str) -> None:
    """Raise :class:`InvalidRequest` for settings that can't be changed, or whose undo would need a secret.

    ``otherwise``: what a person does instead.
    """
    begin = f"Nothing was changed: {info.name!r}:"
    if fixed := next((name for name in _FIXED if name in new), None):
        raise InvalidRequest(f"{begin} {fixed} can't be changed, as its offsets would be another connector's.")
    for name, value in new.items():
        for text in filter(None, (value, info.config.get(name))):
            if show_setting(name, text) != f"{name}={text}":
                raise InvalidRequest(
                    f"{begin} {name} has, or would have, a secret. To be undone, it would have to be kept in the "
                    "journal. Use a reference to the worker's config providers (${file:…}), or "
                    f"{otherwise}."
                )
    if redirecting := find_redirecting(info.config, new):
        address, secret = redirecting
        raise InvalidRequest(
            f"{begin} {address} may send its secrets to another address, for example {secret}. If that is meant, "
            f"{otherwise}."
        )


def _with(config: Config, new: Settings) -> Mapping[str, str]:
    others = {name: value for name, value in config.items() if name not in new}
    return {**others, **{name: value for name, value in new.items() if value is not None}}
