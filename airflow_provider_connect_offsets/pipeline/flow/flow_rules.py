"""Verdicts on the connectors of a flow: their states, their tasks, and their configurations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_connect_offsets.offsets.advice import advise
from airflow_provider_connect_offsets.offsets.document import canonical_json
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.pipeline.plan.subjects import FAILED, RUNNING, Subject
from airflow_provider_connect_offsets.words import quantify


def flow_verdicts(source: Subject, checkpoint: Subject | None) -> Iterator[Verdict]:
    """Judge both connectors. ``checkpoint``: None if the request names none."""
    yield from _state(source, "replicates nothing")
    if checkpoint is None:
        message = (
            f"`{source.name}`: checkpoint_connector is empty, so consumer groups are not checked. Set it to the flow's "
            "MirrorCheckpointConnector."
        )
        yield Verdict(Rule.CHECKPOINT_MISSING, Severity.WARNING, source.name, None, message)
    else:
        yield from _state(checkpoint, "writes no checkpoints")
    both = None if checkpoint is None else (checkpoint.name, checkpoint.config)
    for advice in advise((source.name, source.config), both):
        if advice.severity is not Severity.INFO:
            yield Verdict(advice.rule, advice.severity, advice.connector, None, advice.message)


def kind_verdicts(checkpoint: Subject | None, snapshot: Mapping[str, Any]) -> Iterator[Verdict]:
    """Judge groups that aren't consumer groups. ``snapshot``: of the run; older snapshots name no such groups."""
    if checkpoint is None:
        return
    for group, kind in snapshot.get("unmovable", {}).items():
        message = f"it is {kind}. A failover can move only consumer groups."
        yield _of_group(Rule.UNMOVABLE_GROUP, checkpoint, group, message)
    for group, kind in snapshot.get("taken_on_target", {}).items():
        message = f"on the target it is {kind}, so neither a failover nor MirrorMaker 2 can commit its offsets there."
        yield _of_group(Rule.TARGET_GROUP, checkpoint, group, message)


def _of_group(rule: Rule, checkpoint: Subject, group: str, message: str) -> Verdict:
    where = canonical_json({"group": group})
    return Verdict(rule, Severity.WARNING, checkpoint.name, where, f"`{checkpoint.name}`, group `{group}`: {message}")


def _state(connector: Subject, effect: str) -> Iterator[Verdict]:
    failed = connector.task_states.count(FAILED)
    severity, state, restart = Severity.ERROR, connector.state, "Read the cause in its status, then restart it."
    if connector.runs:
        return
    if state != RUNNING:
        text = f", so it {effect}. {restart if state == FAILED else 'Resume it.'}"
    elif failed:
        tasks = quantify(len(connector.task_states), "task")
        text = f", but {failed} of its {tasks} failed. A failed task {effect}. {restart}"
    elif not connector.task_states:
        text = f", but has no task, because there is nothing to do. It {effect}."
    else:
        severity, text = Severity.WARNING, f", but its tasks are {', '.join(sorted(set(connector.task_states)))}."
    yield Verdict(Rule.NOT_RUNNING, severity, connector.name, None, f"`{connector.name}` is {state}{text}")
