"""The command ``connect-offsets recover``, which settles what a dead run has left, and the options that it takes."""

from __future__ import annotations

from pathlib import Path

import click

from airflow_provider_connect_offsets.cli.options import CONFIG, FLOW, FORCE, with_options

# What is recovered → the options that it takes, and the message for any other.
_TAKES = {
    "lists": ({"workspace"}, "--list takes --workspace only."),
    "config": (
        {"workspace", "flow", "force"},
        "--config takes --workspace, --flow and --force only: an import is undone.",
    ),
    "groups": (
        {"workspace", "target_kafka", "run"},
        "--groups takes --target-kafka, the cluster that they were moved on, and --run.",
    ),
    "group": (
        {"workspace", "kafka", "forward", "run"},
        "--group takes --kafka, the cluster of the consumer group, and --forward and --run.",
    ),
    "offsets_topic": ({"workspace", "url", "kafka", "run"}, "--offsets-topic takes --url and --kafka, and --run."),
    "connector": (
        {
            *("workspace", "url", "strimzi_cluster", "namespace", "kafka", "source_kafka", "target_kafka"),
            *("forward", "run"),
        },
        "A connector takes neither --flow nor --force, which belong to an import (--config).",
    ),
}


@click.command()
@click.argument("connector", required=False)
@click.option(
    "--workspace", metavar="URI", help="Where Airflow's tasks, or commands of the shell, keep their journals."
)
@click.option("--list", "lists", is_flag=True, help="Show what is unfinished, under way or left behind.")
@click.option("--url", metavar="URL", help="A worker's REST API.")
@click.option(
    "--strimzi-cluster",
    metavar="NAME",
    help="The KafkaConnect or KafkaMirrorMaker2 of the connector, by KUBECONFIG; with --url if it was strimzi+rest.",
)
@click.option("--namespace", metavar="NAME", help="Its namespace; without it that of the current context.")
@click.option("--kafka", metavar="HOST:PORT|FILE", help="The Kafka whose logs the positions refer to, if it matters.")
@click.option("--source-kafka", metavar="HOST:PORT|FILE", help="Of a reset: the flow's source; FILE: client settings.")
@click.option("--target-kafka", metavar="HOST:PORT|FILE", help="Of a reset, or of groups: the flow's target.")
@click.option("--groups", is_flag=True, help="What a failover or its restore has left of consumer groups.")
@click.option("--group", metavar="NAME", help="What group_offsets_change has left of this consumer group.")
@click.option("--offsets-topic", metavar="TOPIC", help="What a removal of orphaned offsets has left of this topic.")
@click.option(
    "--forward", is_flag=True, help="Finish the operation if all that it wrote is proved; otherwise it is undone."
)
@click.option("--run", metavar="DAG/RUN", help="The run that left it, if its lease has not run out yet.")
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
        recovering.recover_groups(workspace, _given(systems["target_kafka"], "groups"), run=run)
    elif group:
        recovering.recover_group(workspace, group, _given(systems["kafka"], "group"), toward=toward, run=run)
    elif offsets_topic:
        where = {name: _given(systems[name], "offsets_topic") for name in ("url", "kafka")}
        recovering.recover_orphans(workspace, offsets_topic, **where, run=run)
    elif connector is None or (systems["url"] is None and systems["strimzi_cluster"] is None):
        raise click.UsageError(
            "Name the connector and its worker (--url), or the resource of its cluster if Strimzi's operator runs it "
            "(--strimzi-cluster), or say --list. For groups of a failover, say --groups; for one whose offsets were "
            "changed, --group; for what a removal of orphaned offsets has left, --offsets-topic; for an import, "
            "--config."
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


def _given(value: str | None, mode: str) -> str:
    if value is None:
        raise click.UsageError(_TAKES[mode][1])
    return value
