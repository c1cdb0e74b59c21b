"""What of a MirrorMaker 2 flow's configuration makes a failover worse, said with Kafka's own property names.

Sources: ``MirrorConnectorConfig``, ``MirrorSourceConfig``, ``MirrorCheckpointConfig``, ``DefaultGroupFilter``,
``OffsetSyncStore`` (connect-mirror 4.3), KIP-618.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.family import Config, OffsetReset
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
    """A setting, the value found (``configured`` or by default), what it does to a failover, and what to do about it.

    ``rule`` and ``severity`` are those of its verdict; info: it is as it should be.
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
        """The verdict's sentence."""
        setting = f"`{self.name}={self.value}`" + ("" if self.configured else " (the default)")
        return f"`{self.connector}`, {setting}: {self.effect} {self.advice}".strip()


@dataclass(frozen=True, slots=True)
class _Settings:
    """A connector's settings, looked up one by one."""

    connector: str
    config: Config

    def first(self, names: tuple[str, ...], default: str) -> tuple[str, str, bool]:
        """The name under which a value is configured, the value, and whether it is."""
        name = next((name for name in names if (self.config.get(name) or "").strip()), None)
        return (names[0], default, False) if name is None else (name, self.config[name].strip(), True)

    def advise(self, names: tuple[str, ...], default: str, judge: dict[str, tuple[Severity, str, str]]) -> Advice:
        """Look a value of words up in ``judge``, where ``*`` stands for any other."""
        name, value, configured = self.first(names, default)
        if "${" in value:
            return self.unknown(name, value)
        severity, effect, advice = judge.get(value.lower(), judge["*"])
        return Advice(self.connector, name, value, configured, severity, effect, advice)

    def number(self, name: str, default: int, *, most: int, effect: str, advice: str) -> Advice:
        """Judge a number: more than ``most`` is a warning."""
        _, value, configured = self.first((name,), str(default))
        if not re.fullmatch(r"-?\d+", value):
            return self.unknown(name, value)
        severity = Severity.WARNING if int(value) > most else Severity.INFO
        return Advice(self.connector, name, value, configured, severity, effect, advice if int(value) > most else "")

    def unknown(self, name: str, value: str) -> Advice:
        """A value that only the worker can resolve."""
        effect = "Only the worker can resolve this value, so it is not judged."
        return Advice(self.connector, name, value, configured=True, severity=Severity.INFO, effect=effect)


def advise(source: tuple[str, Config], checkpoint: tuple[str, Config] | None) -> tuple[Advice, ...]:
    """Judge the settings of MirrorSource and MirrorCheckpoint, each as its name and its configuration."""
    found = [*_of_source(_Settings(*source))]
    if checkpoint is not None:
        found += [*_of_checkpoint(_Settings(*checkpoint)), *_mismatches(source, checkpoint)]
    return tuple(found)


def mirrored_groups(config: Config) -> tuple[str, str] | None:
    """Patterns of the groups that a MirrorCheckpoint takes, and of those it leaves out.

    None where a group filter of the user's own decides, or only the worker can resolve a value.
    """
    if not config.get("group.filter.class", "DefaultGroupFilter").endswith("DefaultGroupFilter"):
        return None
    taken, excluded = config.get("groups") or ".*", config.get("groups.exclude", _GROUPS_EXCLUDED)
    return None if "${" in taken + excluded else (_alternatives(taken), _alternatives(excluded))


def _of_source(settings: _Settings) -> Iterator[Advice]:
    yield settings.advise(
        ("emit.offset-syncs.enabled",),
        "true",
        {
            "false": (Severity.ERROR, "No offset sync is written, so no group can be translated.", "Set it to true."),
            "*": (Severity.INFO, "Offset syncs are written.", ""),
        },
    )
    yield settings.number(
        "offset.lag.max",
        OFFSET_LAG_MAX,
        most=OFFSET_LAG_MAX,
        effect="So many records may be replicated before the next offset sync; a group between two syncs is put back "
        "to the earlier one, and reads the records after it again.",
        advice=f"Set it to {OFFSET_LAG_MAX} or less; 0 gives a sync for each record.",
    )
    yield _reset(settings)
    yield settings.advise(
        ("exactly.once.support",),
        "requested",
        {
            "required": (
                Severity.WARNING,
                "Transaction markers in the remote topics move its offsets away from the source's: few are exact.",
                "Let consumers on the target set isolation.level=read_committed, and count with re-reads.",
            ),
            "*": (
                Severity.INFO,
                "Exactly once only where the workers have exactly.once.source.support=enabled.",
                "",
            ),
        },
    )


def _reset(settings: _Settings) -> Advice:
    found = settings.advise(
        ("source.consumer.auto.offset.reset", "consumer.auto.offset.reset"),
        "earliest",
        {
            "latest": (
                Severity.WARNING,
                "A partition without a usable offset starts at its end; what was written before is never replicated.",
                "Set it to earliest.",
            ),
            "none": (
                Severity.WARNING,
                "A partition whose stored offset is out of range stands still for good, and its task stays RUNNING.",
                "Set it to earliest.",
            ),
            "*": (Severity.INFO, "A stored offset out of range replicates the whole partition once more.", ""),
        },
    )
    return replace(found, rule=Rule.FROM_LATEST) if found.value.lower() == OffsetReset.LATEST else found


def _of_checkpoint(settings: _Settings) -> Iterator[Advice]:
    yield settings.advise(
        ("emit.checkpoints.enabled",),
        "true",
        {
            "false": (Severity.ERROR, "No checkpoint is written, and the connector has no task.", "Set it to true."),
            "*": (Severity.INFO, "Checkpoints are written.", ""),
        },
    )
    yield settings.number(
        "emit.checkpoints.interval.seconds",
        EMIT_SECONDS,
        most=EMIT_SECONDS,
        effect="A checkpoint is as old as that, and what a group has read since is read again.",
        advice=f"Set it to {EMIT_SECONDS} or less.",
    )
    yield settings.advise(
        ("sync.group.offsets.enabled",),
        "false",
        {
            "true": (
                Severity.WARNING,
                "MirrorMaker 2 commits into the target's groups too while nobody is in them.",
                "Stop this connector before a failover, and let no one else commit under these groups on the target.",
            ),
            "*": (
                Severity.INFO,
                "On the target the groups stand wherever someone has put them: a failover has to commit for them.",
                "",
            ),
        },
    )


def _mismatches(source: tuple[str, Config], checkpoint: tuple[str, Config]) -> Iterator[Advice]:
    """Settings of names in which the two differ: the one then looks for syncs or topics that the other never writes."""
    try:
        if Flow.of(source[1]) == Flow.of(checkpoint[1]):
            return
    except InvalidInput:
        return  # said where the flow's names are needed
    for name in _NAMES:
        ours, theirs = source[1].get(name) or "", checkpoint[1].get(name) or ""
        if ours != theirs:
            effect = f"`{source[0]}` has {ours or 'the default'}, so they are no one flow: checkpoints find no syncs."
            value, given = theirs or "default", bool(theirs)
            yield Advice(
                checkpoint[0], name, value, given, Severity.ERROR, effect, "Give both the same.", Rule.FLOW_MISMATCH
            )


def _alternatives(patterns: str) -> str:
    return "|".join(f"(?:{pattern.strip()})" for pattern in patterns.split(",") if pattern.strip()) or r"(?!)"
