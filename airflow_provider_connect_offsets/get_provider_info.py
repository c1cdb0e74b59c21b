"""The metadata of this provider. Airflow reads it early, so this module imports nothing but the version."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import __version__

_PACKAGE = "airflow_provider_connect_offsets"
_INTEGRATION = "Kafka Connect"


def get_provider_info() -> dict[str, Any]:
    """Describe the provider (entry point ``apache_airflow_provider``)."""
    return {
        "package-name": "airflow-provider-connect-offsets",
        "name": "Kafka Connect Offsets",
        "description": "Change where Kafka Connect connectors and MirrorMaker 2 flows resume: planned on Spark, "
        "applied by Airflow, proved, undone if anything fails.",
        "versions": [__version__],
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": "https://kafka.apache.org/documentation/#connect",
                "tags": ["apache", "software"],
            }
        ],
        "operators": _modules(
            "operators.apply",
            "operators.connector",
            "operators.existence",
            "operators.failover",
            "operators.fleet",
            "operators.groups",
            "operators.mirror_reset",
            "operators.mirror_syncs",
            "operators.orphans",
            "operators.plan",
            "operators.poison",
            "operators.readiness",
            "operators.replay.made",
            "operators.replay.planned",
            "operators.restore",
            "operators.snapshot",
            "operators.snapshots.keep",
            "operators.snapshots.restore",
        ),
        "sensors": _modules("sensors.backfill", "sensors.connector", "sensors.group", "sensors.mirror"),
        "triggers": _modules("triggers.mirror", "triggers.waiting", "triggers.watching"),
        "hooks": _modules("hooks.kafka", "hooks.kafka_connect"),
        "connection-types": [_kafka_connect()],
        "extra-links": [f"{_PACKAGE}.operators.shared.links.ReportLink"],
        "asset-uris": [
            {
                "schemes": ["connect-offsets"],
                "handler": f"{_PACKAGE}.assets.normalize",
                "to_openlineage_converter": f"{_PACKAGE}.assets.openlineage_dataset",
            }
        ],
        "config": {"connect_offsets": {"description": "Changes of connector offsets.", "options": _options()}},
    }


def _modules(*names: str) -> list[dict[str, Any]]:
    return [{"integration-name": _INTEGRATION, "python-modules": [f"{_PACKAGE}.{name}" for name in names]}]


def _kafka_connect() -> dict[str, Any]:
    return {
        "connection-type": "kafka_connect",
        "hook-class-name": f"{_PACKAGE}.hooks.kafka_connect.KafkaConnectHook",
        "hook-name": "Kafka Connect",
        "ui-field-behaviour": {
            "hidden-fields": [],
            "relabeling": {
                "schema": "Scheme",
                "host": "Host, or several workers separated by commas",
                "login": "Login, or OAuth client id",
                "password": "Password, or OAuth client secret",
            },
            "placeholders": {"schema": "http", "host": "connect-1,connect-2", "port": "8083"},
        },
        "conn-fields": {
            "token": _field("Bearer token", "In place of login and password.", format="password"),
            "oauth_token_url": _field(
                "OAuth token URL",
                "Token endpoint for client credentials. Login and password are then the client id and secret.",
                format="url",
            ),
            "oauth_scope": _field("OAuth scope", "Scope to request, if the token endpoint needs one."),
            "ca": _field(
                "CA file",
                "Path of a PEM file with the CAs to trust. Default: REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, or certifi's.",
            ),
            "client_cert": _field("Client certificate file", "Path of the PEM file, for mutual TLS."),
            "client_key": _field("Client key file", "Path of the PEM file, if the certificate's file has no key."),
            "headers": _field("Headers", 'Extra headers as a JSON object, like {"X-Tenant": "orders"}.', format="json"),
            "offsets_topic": _field(
                "Offsets topic", "For control=storage: offset.storage.topic of the workers, or mm2-offsets.A.internal."
            ),
            "storage_kafka_conn_id": _field(
                "Kafka connection of the storage", "For control=storage: the cluster with the offsets topic."
            ),
            "group_id": _field(
                "Worker group",
                "For control=storage: group.id of the workers; not needed for a dedicated MirrorMaker 2.",
            ),
            "config_topic": _field(
                "Config topic",
                "For control=storage: config.storage.topic of the workers, which has the connectors' configurations.",
            ),
            "exactly_once": {
                "label": "Exactly once",
                "description": "For control=storage: exactly.once.source.support is enabled on the workers.",
                "schema": {"type": ["boolean", "null"]},
            },
            "offsets_file": _field(
                "Offsets file",
                "For control=storage: offset.storage.file.filename of a standalone worker, a local path.",
            ),
            "strimzi_cluster": _field(
                "Strimzi resource",
                "For control=strimzi and strimzi+rest: a KafkaConnect, like my-connect, or "
                "KafkaMirrorMaker2/my-mirror. Empty: the only cluster in the namespace.",
            ),
            "strimzi_namespace": _field(
                "Strimzi namespace",
                "For control=strimzi and strimzi+rest: namespace of that resource. Empty: the Kubernetes connection's "
                "namespace, or else the namespace default.",
            ),
            "connect_timeout": _seconds("Connect timeout", "Seconds to wait for a connection; default 5."),
            "read_timeout": _seconds(
                "Read timeout", "Seconds to wait for a complete answer; default 30. Changes get at least 100."
            ),
            "answer_limit": {
                "label": "Answer limit",
                "description": "Largest answer in MiB, decompressed; default 16. Lists of offsets: 16 times as much.",
                "schema": {"type": ["number", "null"], "exclusiveMinimum": 0},
            },
        },
    }


def _field(label: str, description: str, **schema: str) -> dict[str, Any]:
    return {"label": label, "description": description, "schema": {"type": ["string", "null"], **schema}}


def _seconds(label: str, description: str) -> dict[str, Any]:
    schema = {"type": ["number", "null"], "exclusiveMinimum": 0}
    return {"label": label, "description": description, "schema": schema}


def _options() -> dict[str, Any]:
    return {
        "workspace": {
            "description": "Where snapshots, plans, journals and reports are stored: the URI of a folder that every "
            "Airflow worker and Spark executor can reach, on any file system that fsspec and Hadoop support. Empty: "
            "the folder ``connect_offsets`` in ``AIRFLOW_HOME``, which is enough if everything runs on one machine.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "file:///var/lib/airflow/connect_offsets",
            "default": "",
        },
        "journal": {
            "description": "Where journals and leases are stored, if not in the workspace: the URI of a folder that "
            "all Airflow workers can reach. Spark's executors need not reach it.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "s3a://connect-offsets-journal/prod",
            "default": "",
        },
        "journal_key": {
            "description": "Key that signs the journals. A record that is not signed with it is refused, so that "
            "someone who can only write files can't make a run undo anything. Use the same random text of 32 "
            "characters or more on all workers. Set or change it only while ``connect-offsets recover --list`` shows "
            "nothing, together with a new ``journal``.\n",
            "version_added": "1.0.0",
            "type": "string",
            "sensitive": True,
            "example": None,
            "default": "",
        },
        "audit": {
            "description": "Where the audit log is stored, if not in the workspace: the URI of a folder that all "
            "Airflow workers can reach, and where best nobody else can write. ``connect-offsets audit verify`` finds "
            "records that were changed or removed.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "s3a://connect-offsets-audit/prod",
            "default": "",
        },
        "audit_days": {
            "description": "For how many days records of the audit log are kept, at least; they are removed a thousand "
            "at a time. 0: for ever.\n",
            "version_added": "1.0.0",
            "type": "float",
            "example": "730",
            "default": "0",
        },
        "readable": {
            "description": "URIs of directories, separated by white space. Besides files in the workspace, Params "
            "(``value`` of ``to=file``, ``snapshot_uri``, ``run_uri``) may name files in these directories. Someone "
            "who triggers a DAG can't read any other file with it.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "s3a://lake/positions file:///mnt/exports",
            "default": "",
        },
        "queries": {
            "description": "Names of the Spark catalogs, separated by white space, whose tables a query (``to=query``) "
            "may read; Spark's own is ``spark_catalog``. Empty: ``to=query`` is off. Anyone who may trigger a DAG can "
            "read these tables with the rights of the Spark application.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "spark_catalog lake",
            "default": "",
        },
        "protected": {
            "description": "Regular expressions, separated by white space. A connector, consumer group or topic whose "
            "whole name matches is never changed, whatever a Param says. ``topic=payments-.*`` applies to topics only; "
            "likewise ``connector=`` and ``group=``.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "payments-.* topic=ledger",
            "default": "",
        },
        "allowed": {
            "description": "Regular expressions as in ``protected``. Nothing else may be changed. Without an "
            "expression for topics, positions in all topics may be changed; likewise for connectors and consumer "
            "groups.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "connector=staging-.* group=staging-.*",
            "default": "",
        },
        "poison_days": {
            "description": "Days for which the content of records on which sinks have failed is kept (key, value, "
            "headers, the error's message), which may be personal data. 0: for ever. After these days, the next search "
            "of the same DAG removes the content. The place, sizes and digest of each record stay.\n",
            "version_added": "1.0.0",
            "type": "float",
            "example": "7",
            "default": "30",
        },
        "umask": {
            "description": "Umask of the files and directories of a workspace on a disk, as an octal number. With 027, "
            "their group can read them. If Spark's executors run as a user without a common group, use 022.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "022",
            "default": "027",
        },
        "four_eyes": {
            "description": "The person who triggered a run can't approve it, and each run that a person triggers needs "
            "an approval, whatever its Param ``approval`` says. An approval by the same person fails the task.\n",
            "version_added": "1.0.0",
            "type": "boolean",
            "example": None,
            "default": "False",
        },
        "serve_reports": {
            "description": "Serve reports and a page of the workspace under ``/connect-offsets/`` of the API server, "
            "to those who may read the DAGs' runs. If it is false, approvals name the report's URI instead of linking "
            "to it. Set it to the same value for API server and workers.\n",
            "version_added": "1.0.0",
            "type": "boolean",
            "example": None,
            "default": "True",
        },
        "suggest_connectors": {
            "description": "Trigger forms propose the connectors that the newest snapshots have found "
            "(``connector_offsets_snapshot`` notes them in the Airflow Variable ``connect_offsets_connectors``); "
            "another name can still be typed. Whoever may see the DAGs sees these names, and a DAG with runs gets a "
            "new version when they change. Set it to the same value for DAG processor and workers.\n",
            "version_added": "1.0.0",
            "type": "boolean",
            "example": None,
            "default": "False",
        },
        "class_archive": {
            "description": "Class-data archive with which the JVM of Spark's driver starts sooner. Write it with "
            "``python -m airflow_provider_connect_offsets.pipeline.class_archive FILE`` on each worker. If it is not "
            "set, missing, or made by another JDK or Spark, the JVM starts without it.\n",
            "version_added": "1.0.0",
            "type": "string",
            "example": "/var/lib/airflow/connect-offsets.jsa",
            "default": "",
        },
    }
