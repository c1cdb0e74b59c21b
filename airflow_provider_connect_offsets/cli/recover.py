"""The command ``connect-offsets recover``, which finishes or undoes what dead runs left unfinished, and its options."""

from __future__ import annotations

from pathlib import Path

import click

from airflow_provider_connect_offsets.cli.options import CONFIG, FLOW, FORCE, NAMESPACE, with_options

# What is recovered → the options that it takes, and the message for any other.
_TAKES = {
    "lists": ({"workspace"}, "With --list, only --workspace can be given."),
    "config": (
        {"workspace", "flow", "force"},
        "With --config, which undoes an import, only --workspace, --flow and --force can be given.",
    ),
    "groups": (
        {"workspace", "target_kafka", "run"},
        "--groups needs --target-kafka, the cluster on which the groups were moved. Optional: --run.",
    ),
    "group": (
        {"workspace", "kafka", "forward", "run"},
        "--group needs --kafka, the cluster of the consumer group. Optional: --forward and --run.",
    ),
    "offsets_topic": (
        {"workspace", "url", "kafka", "run"},
        "--offsets-topic needs --url and --kafka. Optional: --run.",
    ),
    "connector": (
        {
            *("workspace", "url", "strimzi_cluster", "namespace", "kafka", "source_kafka", "target_kafka"),
            *("forward", "run"),
        },
        "--flow and --force can only be given with --config, to undo an import.",
    ),
}


@click.command()
@click.argument("connector", required=False)
@click.option(
    "--workspace",
    metavar="URI",
    help="URI of the workspace with the journals, of Airflow or of connect-offsets.",
)
@click.option("--list", "lists", is_flag=True, help="List unfinished operations, both running and left behind.")
@click.option("--url", metavar="URL", help="A worker's REST API.")
@click.option(
    "--strimzi-cluster",
    metavar="NAME",
    help="The connector's KafkaConnect or KafkaMirrorMaker2, by KUBECONFIG. If control was strimzi+rest, add --url.",
)
@with_options(NAMESPACE)
@click.option(
    "--kafka",
    metavar="HOST:PORT|FILE",
    help="Kafka cluster whose logs the positions refer to, or the cluster of --group or --offsets-topic.",
)
@click.option(
    "--source-kafka",
    metavar="HOST:PORT|FILE",
    help="For a reset: the flow's source cluster. FILE: client settings as JSON.",
)
@click.option(
    "--target-kafka",
    metavar="HOST:PORT|FILE",
    help="For a reset: the flow's target cluster. For --groups: the cluster on which the groups were moved.",
)
@click.option("--groups", is_flag=True, help="Recover consumer groups after an unfinished failover or its restore.")
@click.option("--group", metavar="NAME", help="Recover this consumer group after an unfinished group_offsets_change.")
@click.option("--offsets-topic", metavar="TOPIC", help="Finish a removal of orphaned offsets from this topic.")
@click.option(
    "--forward", is_flag=True, help="Finish the operation instead of undoing it, if all that it wrote can be verified."
)
@click.option("--run", metavar="DAG/RUN", help="The dead run, if its lease has not expired yet; ends that lease.")
@with_options(CONFIG, FLOW, FORCE)
def recover(  # noqa: PLR0913 - one for each option
    connector: str | None,
    *,
    workspace: str | None,
    run: str | None,
    lists: bool,
    groups: bool,
    group: str | None,
    offsets_topic: str | None,
    forward: bool,
    config: Path | None,
    flow: str | None,
    force: bool,
    **systems: str | None,
) -> None:
    """Undo, or finish, what a dead run has left of CONNECTOR.

    It does what the next run of the same DAG would do. With --groups: for the consumer groups on --target-kafka. With
    --group: for that group, whose offsets were changed on --kafka. With --offsets-topic: finish a removal of orphaned
    offsets from that topic, on --kafka. With --config: undo what an import into that storage has left; give --workspace
    if the import had it.
    """
    from airflow_provider_connect_offsets.cli import recovering
    from airflow_provider_connect_offsets.saga import Toward

    _refuse_unfit(click.get_current_context().params)
    toward = Toward.FORWARD if forward else Toward.BACK
    if lists:
        recovering.show(workspace)
    elif config is not None:
        recovering.recover_import(config, flow, workspace, forced=force)
    elif workspace is None:
        raise click.UsageError("Missing option '--workspace'.")
    elif groups:
        recovering.recover_groups(workspace, _require_value(systems["target_kafka"], "groups"), run=run)
    elif group:
        recovering.recover_group(workspace, group, _require_value(systems["kafka"], "group"), toward=toward, run=run)
    elif offsets_topic:
        where = {name: _require_value(systems[name], "offsets_topic") for name in ("url", "kafka")}
        recovering.recover_orphans(workspace, offsets_topic, **where, run=run)
    elif connector is None or (systems["url"] is None and systems["strimzi_cluster"] is None):
        raise click.UsageError(
            "Name the connector, with its worker (--url) or, if Strimzi's operator runs it, with the resource of its "
            "cluster (--strimzi-cluster). For consumer groups of a failover, give --groups. For a group whose offsets "
            "were changed, give --group. For a removal of orphaned offsets, give --offsets-topic. For an import, give "
            "--config. To see what is unfinished, give --list."
        )
    else:
        recovering.recover(workspace, connector, toward=toward, run=run, **systems)


def _refuse_unfit(given: dict[str, object]) -> None:
    """Refuse options that do not belong together."""
    named = {name for name, value in given.items() if value}
    mode = next((name for name in _TAKES if name in named), "connector")
    takes, message = _TAKES[mode]
    if named - takes - {mode}:
        raise click.UsageError(message)
    if "namespace" in named and "strimzi_cluster" not in named:
        raise click.UsageError("--namespace makes no sense without --strimzi-cluster.")


def _require_value(value: str | None, mode: str) -> str:
    if value is None:
        raise click.UsageError(_TAKES[mode][1])
    return value
