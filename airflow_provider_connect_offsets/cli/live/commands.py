"""The commands ``list``, ``show``, ``lag``, ``plan``, ``stop``, ``pause``, ``resume`` and ``restart``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from airflow_provider_connect_offsets.cli.live.tables import Format, write, write_json
from airflow_provider_connect_offsets.cli.messages import tell
from airflow_provider_connect_offsets.cli.options import CONFIG, FLOW, NAMESPACE, WORKSPACE, with_options
from airflow_provider_connect_offsets.words import trigger_command

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.clients import Clients

# Seconds that a question waits for workers and brokers that do not answer, or that a rebalance keeps from answering.
_TIMEOUT = 15.0

_URL = click.option("--url", metavar="URL", envvar="CONNECT_OFFSETS_URL", show_envvar=True, help="A worker's REST API.")
_CLUSTER = click.option(
    "--strimzi-cluster",
    metavar="NAME",
    help="The KafkaConnect or KafkaMirrorMaker2, by KUBECONFIG. With --url, offsets are read by Connect's REST API.",
)
_KAFKA = click.option(
    "--kafka",
    metavar="HOST:PORT|FILE",
    envvar="CONNECT_OFFSETS_KAFKA",
    show_envvar=True,
    required=True,
    help="The cluster that the connectors read: of a sink its own, of a MirrorSource the source. "
    "FILE: client settings as JSON.",
)
_FORMAT = click.option(
    "--format", "form", type=click.Choice([one.value for one in Format]), default=Format.TABLE.value, show_default=True
)
_SYSTEMS = (_URL, _CLUSTER, NAMESPACE)
_READ = (*_SYSTEMS, CONFIG, FLOW)
_CONNECTOR = click.argument("connector")


@click.command("list")
@with_options(*_READ, _FORMAT)
def list_(form: str, **systems: Any) -> None:
    """List all connectors with their states."""
    from airflow_provider_connect_offsets.cli.live import answers

    with _open(**systems) as clients:
        rows = answers.list_connectors(clients)
    write(rows, Format(form), columns=answers.LISTED, nothing="There are no connectors.")


@click.command()
@_CONNECTOR
@with_options(*_READ, _FORMAT)
def show(connector: str, form: str, **systems: Any) -> None:
    """Show state, tasks and stored offsets of CONNECTOR.

    As CSV: only the offsets.
    """
    from airflow_provider_connect_offsets.cli.live import answers

    with _open(**systems) as clients:
        shown = answers.describe(clients, connector)
    if form == Format.JSON:
        write_json(shown)
        return
    if form == Format.TABLE:
        click.echo(f"{connector} is {shown['state']} ({shown['type']}, {shown['class']}) on {shown['worker']}.")
        if shown["cause"]:
            click.echo(shown["cause"])
        write(shown["tasks"], Format.TABLE, columns=answers.TASKS, nothing="It has no tasks.")
    rows = answers.offset_rows(shown["offsets"])
    write(rows, Format(form), columns=answers.OFFSETS, nothing="It has no stored offsets.")


@click.command()
@click.argument("connectors", metavar="CONNECTOR...", nargs=-1, required=True)
@with_options(_KAFKA, *_READ, _FORMAT)
def lag(connectors: tuple[str, ...], form: str, **systems: Any) -> None:
    """Show how far CONNECTORs are behind, by partition.

    Records that a connector has read, but whose offsets it has not stored yet, count as left to read. The lag is 0 if
    only transaction markers and removed records are left.
    """
    from airflow_provider_connect_offsets.cli.live import answers

    with _open(**systems) as clients:
        rows = list(answers.list_lags(clients, connectors))
    write(rows, Format(form), columns=answers.LAGS, nothing="They read no partition of this cluster, by their offsets.")
    known = [row["lag"] for row in rows if row["lag"] is not None]
    unknown = f" Of {len(rows) - len(known)}, the lag is unknown." if len(known) < len(rows) else ""
    tell(f"Left to read: {sum(known):,} offsets in {sum(map(bool, known))} of {len(rows)} partitions.{unknown}")


def _of_state(name: str, requested: str, text: str) -> click.Command:
    """Make the command that brings a connector into a state."""

    @click.command(name, help=text)
    @_CONNECTOR
    @with_options(*_SYSTEMS, WORKSPACE)
    def command(connector: str, workspace: str | None, **systems: str | None) -> None:
        from airflow_provider_connect_offsets.cli.journals import shell_owner
        from airflow_provider_connect_offsets.cli.live import answers
        from airflow_provider_connect_offsets.connect.protocols import State

        with _open_to_change(workspace, **systems) as clients:
            tell(answers.request(clients, connector, State(requested), shell_owner(name)))

    return command


stop = _of_state(
    "stop",
    "STOPPED",
    "Stop CONNECTOR, and wait until it is STOPPED. Then it has no tasks, and its offsets can be changed.",
)
pause = _of_state("pause", "PAUSED", "Pause CONNECTOR, and wait until it is PAUSED, with its tasks.")
resume = _of_state("resume", "RUNNING", "Resume CONNECTOR, and wait until its tasks run.")


@click.command()
@_CONNECTOR
@click.option("--all", "everything", is_flag=True, help="Restart the parts that run, too.")
@with_options(*_SYSTEMS, WORKSPACE)
def restart(connector: str, workspace: str | None, *, everything: bool, **systems: str | None) -> None:
    """Restart what of CONNECTOR has failed.

    That may be the connector itself and any of its tasks. Waits until they run.
    """
    from airflow_provider_connect_offsets.cli.journals import shell_owner
    from airflow_provider_connect_offsets.cli.live import answers

    with _open_to_change(workspace, **systems) as clients:
        tell(answers.restart(clients, connector, shell_owner("restart"), failed_only=not everything))


@click.command()
@_CONNECTOR
def plan(connector: str) -> None:
    """Say where a change of CONNECTOR's offsets is planned.

    A plan is made by a Spark job in a run of Airflow, where it can be reported, approved and applied.
    """
    params = {"connector": connector, "to": "shift", "value": "-100", "dry_run": True}
    raise click.UsageError(
        f"Nothing was planned: a plan for {connector!r} is made in a run of Airflow. To plan, for example, that it "
        "resumes 100 offsets back, and change nothing:\n"
        f"{trigger_command('connector_offsets_change', params)}"
    )


COMMANDS = (list_, show, lag, plan, stop, pause, resume, restart)


@contextmanager
def _open(**systems: Any) -> Iterator[Clients]:
    """Open clients that only read."""
    from airflow_provider_connect_offsets.cli.recovering import open_clients

    with open_clients("", _TIMEOUT, **_checked(systems)) as clients:
        yield clients


@contextmanager
def _open_to_change(workspace: str | None, **systems: str | None) -> Iterator[Clients]:
    """Open clients that may change what is allowed here."""
    from airflow_provider_connect_offsets.cli.configured import guards
    from airflow_provider_connect_offsets.cli.journals import own_workspace
    from airflow_provider_connect_offsets.cli.recovering import open_clients

    with open_clients(workspace or own_workspace(), **_checked(systems)) as clients:
        yield replace(clients, guards=guards())


def _checked(systems: dict[str, Any]) -> dict[str, Any]:
    cluster = systems["strimzi_cluster"]
    if systems["namespace"] is not None and cluster is None:
        raise click.UsageError("--namespace makes no sense without --strimzi-cluster.")
    if systems.get("config") is not None:
        typed = click.get_current_context().get_parameter_source("url") is ParameterSource.COMMANDLINE
        if typed or cluster is not None:
            raise click.UsageError("--config reads the worker's storage, so leave out --url and --strimzi-cluster.")
        return {name: value for name, value in systems.items() if name in {"config", "flow", "kafka"}}
    if systems.get("flow") is not None:
        raise click.UsageError("--flow makes no sense without --config.")
    if systems["url"] is None and cluster is None:
        storage = ", or --config to read the storage of workers that are down" if "config" in systems else ""
        raise click.UsageError(
            f"Name the Connect cluster: --url, or --strimzi-cluster if Strimzi's operator runs it{storage}."
        )
    return systems
