"""Advice on the settings of a MirrorMaker 2 flow that affect a failover, by Kafka's property names.

Sources: ``MirrorConnectorConfig``, ``MirrorSourceConfig``, ``MirrorCheckpointConfig``, ``DefaultGroupFilter``,
``OffsetSyncStore`` (connect-mirror 4.3), KIP-618.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.family import Config, OffsetReset, alternatives, is_default
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity

OFFSET_LAG_MAX, EMIT_SECONDS = 100, 60

_GROUPS_EXCLUDED = "console-consumer-.*, connect-.*, __.*"
_NAMES = (
    "source.cluster.alias",
    "target.cluster.alias",
    "replication.policy.class",
    "replication.policy.separator",
    "replication.policy.internal.topic.separator.enabled",
    "offset-syncs.topic.location",
)


@dataclass(frozen=True, slots=True)
class Advice:
    """One setting of a connector, and how it affects a failover.

    Attributes:
        connector: Name of the connector.
        name: The setting's name.
        value: Its effective value.
        configured: True if the value is configured, False if it is the default.
        severity: Severity of the verdict; ``info`` means that the value is fine.
        effect: What the value does to a failover.
        advice: What to do about it; empty if nothing.
        rule: Rule of the verdict.
    """

    connector: str
    name: str
    value: str
    configured: bool
    severity: Severity
    effect: str
    advice: str = ""
    rule: Rule = Rule.FAILOVER_SETTING

    @property
    def message(self) -> str:
        """The verdict's message."""
        setting = f"`{self.name}={self.value}`" + ("" if self.configured else " (the default)")
        return f"`{self.connector}`, {setting}: {self.effect} {self.advice}".strip()


@dataclass(frozen=True, slots=True)
class _Settings:
    """A connector's settings, and how to judge them one by one."""

    connector: str
    config: Config

    def find_first(self, names: tuple[str, ...], default: str) -> tuple[str, str, bool]:
        """Return the first configured name, its value and True; else the first name, the default and False."""
        name = next((name for name in names if (self.config.get(name) or "").strip()), None)
        return (names[0], default, False) if name is None else (name, self.config[name].strip(), True)

    def advise(self, *names: str, default: str, judge: dict[str, tuple[Severity, str, str]], otherwise: str) -> Advice:
        """Judge a setting's value up to a colon by ``judge``; ``otherwise`` is the effect of any other value.

        ``judge``: value → severity, effect and advice.
        """
        name, value, configured = self.find_first(names, default)
        if "${" in value:
            return self.unknown(name, value)
        severity, effect, advice = judge.get(value.lower().partition(":")[0], (Severity.INFO, otherwise, ""))
        return Advice(self.connector, name, value, configured, severity, effect, advice)

    def number(self, name: str, *, default: int, effect: str, advice: str) -> Advice:
        """Judge a number: a value above the default is a warning."""
        _, value, configured = self.find_first((name,), str(default))
        if not re.fullmatch(r"-?\d+", value):
            return self.unknown(name, value)
        severity, needed = (Severity.WARNING, advice) if int(value) > default else (Severity.INFO, "")
        return Advice(self.connector, name, value, configured, severity, effect, needed)

    def unknown(self, name: str, value: str) -> Advice:
        """Return the advice on a value that only the worker can resolve."""
        effect = "Only the worker can resolve this value, so it is not checked."
        return Advice(self.connector, name, value, configured=True, severity=Severity.INFO, effect=effect)


def advise(source: tuple[str, Config], checkpoint: tuple[str, Config] | None) -> tuple[Advice, ...]:
    """Judge the settings of a flow's connectors.

    Args:
        source: Name and configuration of the MirrorSource.
        checkpoint: Name and configuration of the MirrorCheckpoint; None if the flow has none.
    """
    advice = [*_of_source(_Settings(*source))]
    if checkpoint is not None:
        advice += [*_of_checkpoint(_Settings(*checkpoint)), *_mismatches(source, checkpoint)]
    return tuple(advice)


def mirrored_groups(config: Config) -> tuple[str, str] | None:
    """Return Java patterns of the groups that a MirrorCheckpoint includes and of those it excludes.

    None if a custom group filter decides, or only the worker can resolve a value.
    """
    if not is_default(config, "group.filter.class", "DefaultGroupFilter"):
        return None
    included, excluded = config.get("groups", ".*"), config.get("groups.exclude", _GROUPS_EXCLUDED)
    return None if "${" in included + excluded else (alternatives(included), alternatives(excluded))


def _of_source(settings: _Settings) -> Iterator[Advice]:
    yield settings.advise(
        "emit.offset-syncs.enabled",
        default="true",
        judge={
            "false": (
                Severity.ERROR,
                "MirrorMaker 2 writes no offset syncs, so no group's offsets can be translated.",
                "Set it to true.",
            )
        },
        otherwise="Offset syncs are written.",
    )
    yield settings.number(
        "offset.lag.max",
        default=OFFSET_LAG_MAX,
        effect="Up to this many records may be replicated before the next offset sync. A group whose offset is between "
        "two syncs resumes at the earlier sync and reads the records after it again.",
        advice=f"Set it to {OFFSET_LAG_MAX} or less; 0 gives a sync for each record.",
    )
    yield _reset(settings)
    yield settings.advise(
        "exactly.once.support",
        default="requested",
        judge={
            "required": (
                Severity.WARNING,
                "Transaction markers shift the offsets in the remote topics, so few translated offsets are exact.",
                "Let consumers on the target set isolation.level=read_committed, and expect re-reads.",
            )
        },
        otherwise="Replication is exactly-once only if the workers have exactly.once.source.support=enabled.",
    )


def _reset(settings: _Settings) -> Advice:
    advice = settings.advise(
        "source.consumer.auto.offset.reset",
        "consumer.auto.offset.reset",
        default="earliest",
        judge={
            "latest": (
                Severity.WARNING,
                "A partition without a usable offset starts at the log end. Earlier records are never replicated.",
                "Set it to earliest.",
            ),
            "by_duration": (
                Severity.WARNING,
                "A partition without a usable offset starts that far back. Older records are never replicated.",
                "Set it to earliest.",
            ),
            "none": (
                Severity.WARNING,
                "A partition whose stored offset is out of range is no longer replicated, but its task stays RUNNING.",
                "Set it to earliest.",
            ),
        },
        otherwise="If a stored offset is out of range, the whole partition is replicated once more.",
    )
    return replace(advice, rule=Rule.FROM_LATEST) if advice.value.lower() == OffsetReset.LATEST else advice


def _of_checkpoint(settings: _Settings) -> Iterator[Advice]:
    yield settings.advise(
        "emit.checkpoints.enabled",
        default="true",
        judge={
            "false": (Severity.ERROR, "No checkpoints are written, and the connector has no tasks.", "Set it to true.")
        },
        otherwise="Checkpoints are written.",
    )
    yield settings.number(
        "emit.checkpoints.interval.seconds",
        default=EMIT_SECONDS,
        effect="A checkpoint may be this old. After a failover, a group reads the records since then again.",
        advice=f"Set it to {EMIT_SECONDS} or less.",
    )
    yield settings.advise(
        "sync.group.offsets.enabled",
        default="false",
        judge={
            "true": (
                Severity.WARNING,
                "MirrorMaker 2 also commits group offsets on the target, if the group has no members there.",
                "Stop this connector before a failover. Nothing else may commit for these groups on the target.",
            )
        },
        otherwise="MirrorMaker 2 does not commit group offsets on the target, so a failover must do it.",
    )


def _mismatches(source: tuple[str, Config], checkpoint: tuple[str, Config]) -> Iterator[Advice]:
    """Yield advice on differing naming settings: one connector then reads topics that the other never writes."""
    try:
        if Flow.of(source[1]) == Flow.of(checkpoint[1]):
            return
    except InvalidInput:
        return  # raised again when the names of the flow's topics are needed
    for name in _NAMES:
        ours, theirs = source[1].get(name) or "", checkpoint[1].get(name) or ""
        if ours != theirs:
            effect = (
                f"`{source[0]}` has {ours or 'the default'}, so the two connectors belong to different flows, and the "
                "MirrorCheckpoint finds no offset syncs."
            )
            value, given = theirs or "default", bool(theirs)
            advice = "Set the same value in both connectors."
            yield Advice(checkpoint[0], name, value, given, Severity.ERROR, effect, advice, Rule.FLOW_MISMATCH)
