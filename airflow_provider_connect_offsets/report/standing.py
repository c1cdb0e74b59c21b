"""How far a change has come, said first and honestly: what was not applied never looks like success."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_provider_connect_offsets.report.words import count
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result


class Pending(StrEnum):
    """Why a plan without an error is not applied yet; its datasets can't tell, so the caller may."""

    APPROVAL = "approval"
    DRY_RUN = "dry_run"
    REJECTED = "rejected"
    NOT_BEGUN = "not_begun"


class Tone(StrEnum):
    """How a banner looks: all is well, nothing was done, nothing came of it, somebody has to act now."""

    GOOD = "good"
    CALM = "calm"
    BAD = "bad"
    ALARM = "alarm"


@dataclass(frozen=True, slots=True)
class Standing:
    """A headline, its tone, and a sentence or two; ``applied``: the plan's offsets are what stands there now."""

    headline: str
    tone: Tone
    sentence: str
    applied: bool = False


_ENDS = {
    Result.UNCHANGED: ("Unchanged: there was nothing to do", Tone.CALM),
    Result.RESTORED: ("Restored: the change was not applied", Tone.BAD),
    Result.REFUSED: ("Refused: nothing was changed", Tone.BAD),
    Result.LEFT_STOPPED: ("LEFT STOPPED: act now", Tone.ALARM),
    Result.RECORDS_DELETED: ("Applied, but records were deleted: look now", Tone.ALARM),
    Result.UNKNOWN: ("UNKNOWN: look now", Tone.ALARM),
}

_WAITS = {
    Pending.APPROVAL: ("Waiting for approval", "Nothing has been stopped or changed."),
    Pending.DRY_RUN: ("Dry run: nothing was changed", "The change was planned and checked, and that was all."),
    Pending.REJECTED: ("Rejected: nothing was changed", "Whoever was asked said no, or nobody answered in time."),
    Pending.NOT_BEGUN: ("Not begun: nothing was changed", "The change of other connectors ended before its turn came."),
    None: ("Planned, not applied", "No outcome is recorded: this is a dry run, or a change that has yet to be made."),
}


def ended(outcome: Outcome) -> Standing:
    """How a change ended."""
    if outcome.result is Result.APPLIED:
        return _applied(outcome)
    headline, tone = _ENDS[outcome.result]
    return Standing(headline, tone, outcome.message, applied=outcome.result is Result.RECORDS_DELETED)


def planned(errors: int, pending: Pending | None) -> Standing:
    """A plan, with so many errors, of which no outcome is known."""
    if errors:
        sentence = f"The plan has {count(errors, 'error')}, so nothing was stopped."
        return Standing(_ENDS[Result.REFUSED][0], Tone.BAD, sentence)
    headline, sentence = _WAITS[pending]
    return Standing(headline, Tone.BAD if pending is Pending.NOT_BEGUN else Tone.CALM, sentence)


def asked(*, snapshot: bool) -> Standing:
    """A request that has no plan yet."""
    if snapshot:
        return Standing("Not planned yet", Tone.CALM, "The offsets were read; nothing has been stopped or changed.")
    return Standing("Not planned yet", Tone.CALM, "Nothing has been read, stopped or changed.")


def _applied(outcome: Outcome) -> Standing:
    """Offsets that are right are only half of it: the connector has to be back in the state it had."""
    prior, final = outcome.prior_state, outcome.final_state
    if prior != final:
        headline = f"Applied, but the connector is not {prior or 'as it was'}: look now"
        return Standing(headline, Tone.ALARM, outcome.message, applied=True)
    if final is None:
        return Standing("Applied; the connector's state is not recorded", Tone.CALM, outcome.message, applied=True)
    return Standing("Applied", Tone.GOOD, outcome.message, applied=True)
