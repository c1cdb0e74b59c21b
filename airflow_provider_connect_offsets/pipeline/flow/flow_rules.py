"""What is found wrong with the connectors of a flow: their states, their tasks, and their configuration."""

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
    """A connector of the flow, from its row in the dataset ``connectors``."""

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
        """It runs, and so do all its tasks; there is one at least."""
        return self.state == _RUNNING and bool(self.task_states) and set(self.task_states) == {_RUNNING}


def flow_verdicts(source: FlowConnector, checkpoint: FlowConnector | None) -> Iterator[Verdict]:
    """Judge both connectors; None: no checkpoint connector was named."""
    yield from _state(source, "Nothing is replicated meanwhile.")
    if checkpoint is None:
        message = (
            f"`{source.name}`: no checkpoint connector is named, so nothing is told of groups. Name it in "
            "checkpoint_connector."
        )
        yield Verdict(Rule.CHECKPOINT_MISSING, Severity.WARNING, source.name, None, message)
    else:
        yield from _state(checkpoint, "No checkpoint is written meanwhile.")
    both = None if checkpoint is None else (checkpoint.name, checkpoint.config)
    for advice in advise((source.name, source.config), both):
        if advice.severity is not Severity.INFO:
            yield Verdict(advice.rule, advice.severity, advice.connector, None, advice.message)


def _state(one: FlowConnector, effect: str) -> Iterator[Verdict]:
    failed = one.task_states.count(_FAILED)
    if one.state != _RUNNING:
        advice = "Its status tells why; restart it." if one.state == _FAILED else "Resume it."
        message = f"`{one.name}` is {one.state}. {effect} {advice}"
        yield Verdict(Rule.NOT_RUNNING, Severity.ERROR, one.name, None, message)
    elif failed:
        message = (
            f"`{one.name}` is {one.state}, but {failed} of its {len(one.task_states)} tasks failed. {effect} Its "
            "status tells why; restart it."
        )
        yield Verdict(Rule.NOT_RUNNING, Severity.ERROR, one.name, None, message)
    elif not one.task_states:
        message = f"`{one.name}` is {one.state} and has no task: it has found nothing to do. {effect}"
        yield Verdict(Rule.NOT_RUNNING, Severity.ERROR, one.name, None, message)
    elif not one.runs:
        states = ", ".join(sorted(set(one.task_states)))
        message = f"`{one.name}` is {one.state}, but its tasks are {states}."
        yield Verdict(Rule.NOT_RUNNING, Severity.WARNING, one.name, None, message)
