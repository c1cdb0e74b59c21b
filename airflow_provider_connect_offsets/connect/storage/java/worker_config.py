"""Reads a Connect worker's properties file: where the worker stores offsets, and how to connect to it.

Sources: ``WorkerConfig``, ``DistributedConfig``, ``StandaloneConfig``, ``KafkaOffsetBackingStore`` and ``Worker``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airflow_provider_connect_offsets.connect.storage.java.clients import ClientSettings, client_settings
from airflow_provider_connect_offsets.connect.storage.java.listeners import rest_urls
from airflow_provider_connect_offsets.connect.storage.java.mirror_maker_config import flow_settings, is_mirror_maker
from airflow_provider_connect_offsets.connect.storage.java.settings import Settings, trim

_GROUP, _TOPIC, _FILE = "group.id", "offset.storage.topic", "offset.storage.file.filename"
_SERVERS, _TOKENS = "bootstrap.servers", "sasl.oauthbearer.token.endpoint.url"
_LOGINS = ("sasl.jaas.config", "sasl.oauthbearer.client.credentials.client.secret")
_JSON = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """Where a worker stores offsets.

    Attributes:
        path: Its properties file.
        offsets_topic: Its offsets topic; empty for a standalone worker.
        config_topic: Its config topic; empty for a standalone worker.
        group_id: Its group; empty for a standalone worker.
        offsets_file: File of a standalone worker; else None.
        exactly_once: Whether ``exactly.once.source.support`` is enabled.
        listeners: URLs of its REST API, from the same machine at least; none for a dedicated MirrorMaker 2 without a
            REST server.
    """

    path: Path
    offsets_topic: str = ""
    config_topic: str = ""
    group_id: str = ""
    offsets_file: Path | None = None
    exactly_once: bool = False
    listeners: tuple[str, ...]
    _settings: Settings = field(repr=False, compare=False)

    def client(self) -> ClientSettings:
        """Return settings of librdkafka for the cluster with the worker's topics (``KafkaOffsetBackingStore``).

        Raises:
            InvalidInput: They can't be mapped, see :func:`~.clients.client_settings`.
        """
        return client_settings(self._settings)

    def override(self, settings: Mapping[str, str], *, trusted: Collection[str] = ()) -> ClientSettings:
        """Return settings of librdkafka for the cluster to which a connector writes.

        Args:
            settings: The connector's ``producer.override.*``, without that prefix. They override the worker's
                ``producer.*``, which inherit only ``bootstrap.servers`` of the top-level settings
                (``Worker.baseProducerConfigs``). The worker's providers resolve references.
            trusted: Further brokers that may get the worker's login.

        Raises:
            InvalidInput: As :meth:`client`; or a login would be sent to a host that neither the file nor ``trusted``
                names, or without TLS although the file has it.
        """
        own = self._settings.values
        servers = {name: own[name] for name in (_SERVERS,) if name in own}
        producer = {**servers, **self._settings.with_prefix("producer.")}
        named = ",".join((own.get(_SERVERS, ""), producer.get(_SERVERS, ""), *trusted))
        self._refuse_unknown_hosts(settings, producer, {_host(server) for server in named.split(",")})
        merged = {**producer, **settings}
        return client_settings(self._settings.derive(merged, f"{self._settings.source} (producer of a connector)"))

    def _refuse_unknown_hosts(self, settings: Mapping[str, str], producer: Mapping[str, str], known: set[str]) -> None:
        """Refuse to send the worker's login to a host that only a connector's settings name, which are read from Kafka.

        Refuse also to send a login without TLS that the file has for SASL_SSL.
        """
        protocol = trim({**producer, **settings}.get("security.protocol", "")).upper()
        inherited = any(name in producer and name not in settings for name in _LOGINS)
        # The value of a reference is the worker's too.
        ours = inherited or any("${" in value for value in settings.values())
        if not ours or not ("SASL" in protocol or "${" in protocol):
            return
        requested = {_host(server) for name in (_SERVERS, _TOKENS) for server in settings.get(name, "").split(",")}
        unknown = sorted(requested - known - {""})
        if unknown:
            raise self._settings.refusal(
                f"A connector stores its offsets on {', '.join(unknown)} (producer.override settings in its "
                "configuration). The worker's login is not sent to a host that was only read from Kafka. If the host "
                "is right, add it to CONNECT_OFFSETS_BROKERS."
            )
        if protocol != "SASL_SSL" and trim(producer.get("security.protocol", "")).upper() == "SASL_SSL":
            raise self._settings.refusal(
                f"A connector's producer.override.security.protocol is {protocol}, but the file's login for SASL_SSL "
                "is not sent without TLS."
            )


def _host(server: str) -> str:
    """Return the host of a broker (``host:port``, also after a listener's name) or of a URL."""
    address = server.strip().rpartition("://")[2].partition("/")[0].rpartition("@")[2]
    host, colon, port = address.rpartition(":")
    return (host if colon and port.isdecimal() else address).lower()


def read_worker_config(path: Path, *, flow: str | None = None) -> WorkerConfig:
    """Read the file of a distributed or standalone worker, or of a dedicated MirrorMaker 2.

    Args:
        path: The properties file.
        flow: Flow of a MirrorMaker 2 file ("a->b"); None if only one is enabled, and for other files.

    Raises:
        InvalidInput: The file can't be read, is for no worker, or for one whose stored offsets can't be read.
    """
    file = Settings.read(path)
    if is_mirror_maker(file):
        worker = flow_settings(file, flow)
        has_rest = (file.get("dedicated.mode.enable.internal.rest") or "").lower() == "true"
        return _configure_distributed(path, worker, rest_urls(file) if has_rest else ())
    if flow is not None:
        raise file.refusal(
            f"This is not a file of MirrorMaker 2 (with clusters and a->b.enabled), so it has no flow {flow!r}."
        )
    if file.get_nonempty(_GROUP) and file.get_nonempty(_TOPIC):
        return _configure_distributed(path, file, rest_urls(file))
    if offsets_file := file.get_nonempty(_FILE):
        _check_converters(file)
        return WorkerConfig(
            path=path,
            offsets_file=Path(offsets_file),
            listeners=rest_urls(file),
            _settings=file,
        )
    present = [name for name in (_GROUP, _TOPIC, _FILE, "clusters") if file.get_nonempty(name)]
    raise file.refusal(
        f"This is not the file of a Connect worker. A distributed worker has {_GROUP} and {_TOPIC}, a standalone "
        f"worker has {_FILE}, and a dedicated MirrorMaker 2 has clusters with flows. Of these settings, this file has "
        f"{', '.join(present) or 'none'}."
    )


def _configure_distributed(path: Path, worker: Settings, listeners: tuple[str, ...]) -> WorkerConfig:
    _check_converters(worker)
    return WorkerConfig(
        path=path,
        offsets_topic=worker.get(_TOPIC) or "",
        config_topic=worker.get("config.storage.topic") or "",
        group_id=worker.get(_GROUP) or "",
        exactly_once=(worker.get("exactly.once.source.support") or "").lower() == "enabled",
        listeners=listeners,
        _settings=worker,
    )


def _check_converters(worker: Settings) -> None:
    """Refuse settings with which workers before Kafka 3.0 don't store offsets as plain JSON (KIP-174, KIP-738)."""
    for setting in ("internal.key.converter", "internal.value.converter"):
        converter, schemas = worker.get_nonempty(setting), worker.get(f"{setting}.schemas.enable")
        plain = (schemas or "").lower() == "false"
        if converter in (None, _JSON) and (plain or (schemas is None and converter is None)):
            continue
        raise worker.refusal(
            f"With {setting}, a worker older than Kafka 3.0 does not store its offsets as plain JSON, so they can't be "
            "read here. Newer workers ignore the setting. If your worker is newer, remove the setting from the file."
        )
