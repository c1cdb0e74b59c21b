"""What tasks of a run hand on to each other, and what only code gives."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, argument
from airflow_provider_connect_offsets.offsets.requests.values import ALL, Flag, PatternOrAll, Text, Uri


class PartParams(Parameters):
    """Which directory of the run a task writes to."""

    part: Text = argument("Name that keeps several operations of one DAG run apart.", default="")


class RunParams(Parameters):
    """The run's datasets."""

    run_uri: Uri = argument("URI of the run's directory, which the snapshot returned.")


class ApprovedParams(Parameters):
    """The plan that was approved."""

    digest: Text = argument("Digest of the plan that was approved; any other plan is refused.")


class WaitingParams(Parameters):
    """How long a state is awaited."""

    timeout: float | None = argument(
        "Seconds to wait for each state of a connector. None: 120, or 300 with control strimzi and strimzi+rest, "
        "because Strimzi's operator may act only at its next reconciliation, by default every 120 s.",
        default=None,
    )


class SyncsAwaitedParams(Parameters):
    """How long new offset syncs are awaited."""

    sync_timeout: float = argument(
        "Seconds to wait for the first new offset syncs once the flow runs again. Workers with a long "
        "offset.flush.interval.ms need more.",
        default=180.0,
    )


class PlanAgeParams(Parameters):
    """How old a plan may be."""

    plan_ttl: float = argument("Seconds after which a plan is refused as stale.", default=3600.0)


class FoundParams(Parameters):
    """What a Spark job found."""

    summary: Any = argument("What the task of the Spark job returned.")


class QuestionParams(FoundParams):
    """What a person is asked."""

    approval: Flag = argument("Whether a person is asked; if not, the run goes on at once.", default=True)
    plan_only: Flag = argument("Whether to skip the tasks that follow (dry run).", default=False)


class StepLeaseParams(Parameters):
    """How long the run keeps its lease of a connector between single steps."""

    hold: float | None = argument(
        "Seconds for which the connector is reserved for the run's next tasks. Single-step changes need this. None: "
        "it is not reserved.",
        default=None,
    )


class OneConnectorParams(Parameters):
    """The connector of a single step or a sensor."""

    connector: Text = argument("Name of the connector.")


class ListedGroupsParams(Parameters):
    """The consumer groups that are listed."""

    groups: PatternOrAll = argument("Regular expression that matches whole names of groups.", default=ALL)


class OneGroupParams(Parameters):
    """The consumer group of a single step or a sensor."""

    group: Text = argument("Name of the consumer group.")


class RequestedStateParams(Parameters):
    """The state that a connector is brought into, or awaited in."""

    state: Text = argument("RUNNING, PAUSED or STOPPED. A sensor can also wait for FAILED.", default="RUNNING")


class RestartParams(Parameters):
    """What of a connector is restarted."""

    failed_only: Flag = argument(
        "Whether to restart only tasks that have failed, and the connector if it has failed.", default=True
    )


class OffsetsFileParams(Parameters):
    """Where offsets are written to, and which plan they are compared with."""

    uri: Text = argument(
        "URI of the KIP-199 JSON file; empty: ``<workspace>/<dag_id>/<run_id>/<task_id>.json``.", default=""
    )
    run_uri: Uri = argument(
        "URI of the run's directory. If given, the task proves that the offsets planned there are stored.", default=""
    )


class WrittenOffsetsParams(Parameters):
    """The offsets that are written: given here, or by a plan."""

    offsets: Any = argument(
        "Offsets in the format of Connect's REST API: a list of "
        '``{"partition": {…}, "offset": {…} or null}``, or its JSON text.',
        default=None,
    )
    run_uri: Uri = argument("URI of the run whose plan is written, instead of ``offsets``.", default="")
    digest: Text = argument("Digest of that plan; any other plan is refused.", default="")


class PreviewParams(Parameters):
    """The preview that limits a final translation: no other group, and no more re-reads."""

    preview_uri: Uri = argument("``run_uri`` of the preview; empty: this is the preview.", default="")
