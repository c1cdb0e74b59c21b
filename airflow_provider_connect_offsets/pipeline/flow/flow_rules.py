"""Verdicts on the connectors of a flow: their states, their tasks, and their configurations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.offsets.advice import advise
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict

_RUNNING, _FAILED = "RUNNING", "FAILED"


@dataclass(frozen=True, slots=True)
class FlowConnector:
    """A connector of the flow, from its row in dataset ``connectors``.

    Attributes:
        name: the connector
        state: its state
        task_states: states of its tasks
        config: its configuration, secrets masked
    """

    name: str
    state: str
    task_states: tuple[str, ...]
    config: Mapping[str, str]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> FlowConnector:
        """Read the row."""
        tasks = json.loads(row["tasks"])
        return cls(row["connector"], row["state"], tuple(task["state"] for task in tasks), json.loads(row["config"]))

    @property
    def runs(self) -> bool:
        """Whether it and all its tasks are RUNNING, and it has at least one task."""
        return self.state == _RUNNING and bool(self.task_states) and set(self.task_states) == {_RUNNING}


def flow_verdicts(source: FlowConnector, checkpoint: FlowConnector | None) -> Iterator[Verdict]:
    """Judge both connectors. ``checkpoint``: None if the request names none."""
    yield from _state(source, "Nothing is replicated meanwhile.")
    if checkpoint is None:
        message = (
            f"`{source.name}`: no checkpoint connector is named, so groups are not judged. Name it in "
            "checkpoint_connector."
        )
        yield Verdict(Rule.CHECKPOINT_MISSING, Severity.WARNING, source.name, None, message)
    else:
        yield from _state(checkpoint, "No checkpoint is written meanwhile.")
    both = None if checkpoint is None else (checkpoint.name, checkpoint.config)
    for advice in advise((source.name, source.config), both):
        if advice.severity is not Severity.INFO:
            yield Verdict(advice.rule, advice.severity, advice.connector, None, advice.message)


def _state(connector: FlowConnector, effect: str) -> Iterator[Verdict]:
    failed = connector.task_states.count(_FAILED)
    if connector.state != _RUNNING:
        advice = "Read the cause in its status, and restart it." if connector.state == _FAILED else "Resume it."
        message = f"`{connector.name}` is {connector.state}. {effect} {advice}"
        yield Verdict(Rule.NOT_RUNNING, Severity.ERROR, connector.name, None, message)
    elif failed:
        message = (
            f"`{connector.name}` is {connector.state}, but {failed} of its {len(connector.task_states)} tasks failed. "
            f"{effect} Read the cause in its status, and restart it."
        )
        yield Verdict(Rule.NOT_RUNNING, Severity.ERROR, connector.name, None, message)
    elif not connector.task_states:
        message = f"`{connector.name}` is {connector.state} and has no task: it has nothing to do. {effect}"
        yield Verdict(Rule.NOT_RUNNING, Severity.ERROR, connector.name, None, message)
    elif not connector.runs:
        states = ", ".join(sorted(set(connector.task_states)))
        message = f"`{connector.name}` is {connector.state}, but its tasks are {states}."
        yield Verdict(Rule.NOT_RUNNING, Severity.WARNING, connector.name, None, message)
