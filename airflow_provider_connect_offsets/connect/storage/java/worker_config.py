"""A Connect worker's properties file: where the worker keeps its offsets, and how to get there.

Sources: ``WorkerConfig``, ``DistributedConfig``, ``StandaloneConfig``, ``KafkaOffsetBackingStore`` and ``Worker``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from airflow_provider_connect_offsets.connect.storage.java.clients import ClientSettings, client_settings
from airflow_provider_connect_offsets.connect.storage.java.listeners import rest_urls
from airflow_provider_connect_offsets.connect.storage.java.mirror_maker_config import flow_settings, is_mirror_maker
from airflow_provider_connect_offsets.connect.storage.java.settings import Settings

_GROUP, _TOPIC, _FILE = "group.id", "offset.storage.topic", "offset.storage.file.filename"
_SERVERS, _TOKENS = "bootstrap.servers", "sasl.oauthbearer.token.endpoint.url"
_LOGINS = ("sasl.jaas.config", "sasl.oauthbearer.client.credentials.client.secret")
_JSON = "org.apache.kafka.connect.json.JsonConverter"


class WorkerMode(StrEnum):
    """Which of Connect's main classes the file is for, by where the worker keeps offsets."""

    DISTRIBUTED = "distributed"
    STANDALONE = "standalone"


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What a worker's file says of its offsets; topics and group are empty for a standalone worker.

    ``listeners`` are the URLs on which the worker of this file can be asked, from the same machine at least; none for
    a dedicated MirrorMaker 2 without a REST server.
    """

    path: Path
    mode: WorkerMode
    offsets_topic: str
    config_topic: str
    group_id: str
    offsets_file: Path | None
    exactly_once: bool
    listeners: tuple[str, ...]
    _settings: Settings = field(repr=False, compare=False)

    def client(self) -> ClientSettings:
        """Settings of librdkafka for the cluster with the worker's own topics (``KafkaOffsetBackingStore``).

        Raises :class:`InvalidInput` where they can't be mapped: see :func:`~.clients.client_settings`.
        """
        return client_settings(self._settings)

    def override(self, settings: Mapping[str, str], *, trusted: Collection[str] = ()) -> ClientSettings:
        """Settings of librdkafka for the cluster to which a connector with these overrides writes.

        ``settings`` are the connector's ``producer.override.*`` without that prefix. They lie over the worker's
        ``producer.*``, which has of the settings at its top level ``bootstrap.servers`` alone
        (``Worker.baseProducerConfigs``); references in them are resolved by the worker's providers. Raises
        :class:`InvalidInput` as :meth:`client` does, and where a login would go to hosts that neither the file names
        nor ``trusted`` does, or be readable on its way though the file has TLS.
        """
        own = self._settings.values
        servers = {name: own[name] for name in (_SERVERS,) if name in own}
        producer = {**servers, **self._settings.with_prefix("producer.")}
        named = ",".join((own.get(_SERVERS, ""), producer.get(_SERVERS, ""), *trusted))
        self._refuse_strangers(settings, producer, {_host(server) for server in named.split(",")})
        laid_over = {**producer, **settings}
        return client_settings(self._settings.derived(laid_over, f"{self._settings.source} (producer of a connector)"))

    def _refuse_strangers(self, settings: Mapping[str, str], producer: Mapping[str, str], known: set[str]) -> None:
        """A connector's settings were read from Kafka: they must not lead the worker's login anywhere."""
        protocol = {**producer, **settings}.get("security.protocol", "").upper()
        inherited = any(name in producer and name not in settings for name in _LOGINS)
        # What a reference resolves to is the worker's as well, also where the connector says where it goes.
        ours = inherited or any("${" in value for value in settings.values())
        if not ours or not ("SASL" in protocol or "${" in protocol):
            return
        asked = {_host(server) for name in (_SERVERS, _TOKENS) for server in settings.get(name, "").split(",")}
        strangers = sorted(asked - known - {""})
        if strangers:
            raise self._settings.refusal(
                f"A connector keeps its offsets on {', '.join(strangers)} (producer.override settings in its "
                "configuration): no login is sent to a host that only Kafka names. If it is right, name it in "
                "CONNECT_OFFSETS_BROKERS."
            )
        if protocol != "SASL_SSL" and producer.get("security.protocol", "").upper() == "SASL_SSL":
            raise self._settings.refusal(
                f"A connector's producer.override.security.protocol is {protocol}: the login that the file has for "
                "SASL_SSL is not sent without TLS."
            )


def _host(server: str) -> str:
    """The host of a broker (``host:port``, also with a listener's name before it) or a URL."""
    address = server.strip().rpartition("://")[2].partition("/")[0].rpartition("@")[2]
    host, colon, port = address.rpartition(":")
    return (host if colon and port.isdecimal() else address).lower()


def read_worker_config(path: Path, *, flow: str | None = None) -> WorkerConfig:
    """Read the file of a distributed or standalone worker, or of a dedicated MirrorMaker 2.

    ``flow`` ("a->b") chooses the worker in a file of MirrorMaker 2, where more than one flow is enabled. Raises
    :class:`InvalidInput` where the file can't be read, is for no worker, or is for one whose stored offsets can't be.
    """
    file = Settings.read(path)
    if is_mirror_maker(file):
        worker = flow_settings(file, flow)
        has_rest = (file.get("dedicated.mode.enable.internal.rest") or "").strip().lower() == "true"
        return _distributed(path, worker, rest_urls(file) if has_rest else ())
    if flow is not None:
        raise file.refusal(f"This is no file of MirrorMaker 2 (clusters, a->b.enabled), so it has no flow {flow!r}.")
    if file.given(_GROUP) and file.given(_TOPIC):
        return _distributed(path, file, rest_urls(file))
    if file.given(_FILE):
        return _standalone(path, file)
    found = [name for name in (_GROUP, _TOPIC, _FILE, "clusters") if file.given(name)]
    raise file.refusal(
        f"This is for no Connect worker: a distributed one has {_GROUP} and {_TOPIC}, a standalone one {_FILE}, and a "
        f"dedicated MirrorMaker 2 clusters with flows. Of these it has {', '.join(found) or 'none'}."
    )


def _distributed(path: Path, worker: Settings, listeners: tuple[str, ...]) -> WorkerConfig:
    _check_converters(worker)
    return WorkerConfig(
        path=path,
        mode=WorkerMode.DISTRIBUTED,
        offsets_topic=worker.get(_TOPIC) or "",
        config_topic=worker.get("config.storage.topic") or "",
        group_id=worker.get(_GROUP) or "",
        offsets_file=None,
        exactly_once=(worker.get("exactly.once.source.support") or "").lower() == "enabled",
        listeners=listeners,
        _settings=worker,
    )


def _standalone(path: Path, worker: Settings) -> WorkerConfig:
    _check_converters(worker)
    return WorkerConfig(
        path=path,
        mode=WorkerMode.STANDALONE,
        offsets_topic="",
        config_topic="",
        group_id="",
        offsets_file=Path(worker.get(_FILE) or ""),
        exactly_once=False,
        listeners=rest_urls(worker),
        _settings=worker,
    )


def _check_converters(worker: Settings) -> None:
    """Refuse what made workers before Kafka 3.0 store offsets in another way than as plain JSON (KIP-174, KIP-738)."""
    for setting in ("internal.key.converter", "internal.value.converter"):
        converter, schemas = worker.given(setting), worker.get(f"{setting}.schemas.enable")
        plain = (schemas or "").strip().lower() == "false"
        if converter in (None, _JSON) and (plain or (schemas is None and converter is None)):
            continue
        raise worker.refusal(
            f"By {setting} a worker before Kafka 3.0 stores its offsets in another way than as plain JSON, and they "
            "can't be read here. Workers since 3.0 ignore the setting: if yours is one, remove it from the file."
        )
