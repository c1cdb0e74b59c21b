"""The banner of a report: how far a change has come. A change that was not applied never looks like success."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_provider_connect_offsets.offsets.family import Noun
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result


class Pending(StrEnum):
    """Why a plan without an error is not applied yet; the datasets do not show it, so callers pass it."""

    APPROVAL = "approval"
    DRY_RUN = "dry_run"
    REJECTED = "rejected"
    NOT_BEGUN = "not_begun"


class Tone(StrEnum):
    """Tone of a banner: applied, nothing done yet, not applied, or a person has to act now."""

    GOOD = "good"
    CALM = "calm"
    BAD = "bad"
    ALARM = "alarm"


@dataclass(frozen=True, slots=True)
class Standing:
    """A banner.

    Attributes:
        headline: a few words
        tone: its colour
        sentence: a sentence or two
        applied: whether the plan's offsets are stored now
    """

    headline: str
    tone: Tone
    sentence: str
    applied: bool = False


_ENDS = {
    Result.UNCHANGED: ("Unchanged: there was nothing to do", Tone.CALM),
    Result.RESTORED: ("Restored: the change was not applied", Tone.BAD),
    Result.REFUSED: ("Refused: nothing was changed", Tone.BAD),
    Result.LEFT_STOPPED: ("LEFT STOPPED: act now", Tone.ALARM),
    Result.RECORDS_DELETED: ("Applied, but records were deleted: check now", Tone.ALARM),
    Result.UNKNOWN: ("UNKNOWN: check now", Tone.ALARM),
}

_WAITS = {
    Pending.APPROVAL: ("Waiting for approval", "Nothing has been stopped or changed."),
    Pending.DRY_RUN: ("Dry run: nothing was changed", "The change was only planned and checked."),
    Pending.REJECTED: ("Rejected: nothing was changed", "The approver rejected it, or nobody answered in time."),
    Pending.NOT_BEGUN: ("Not begun: nothing was changed", "The run ended before this change began."),
    None: ("Planned, not applied", "No outcome is recorded: this is a dry run, or the change has not been made yet."),
}


def banner_of_outcome(outcome: Outcome, *, noun: Noun = Noun.CONNECTOR) -> Standing:
    """Return the banner of a change that has ended, of a connector or a consumer group (``noun``)."""
    if outcome.result is Result.APPLIED:
        return _banner_of_applied(outcome, noun)
    headline, tone = _ENDS[outcome.result]
    return Standing(headline, tone, outcome.message, applied=outcome.result is Result.RECORDS_DELETED)


def banner_of_plan(errors: int, pending: Pending | None) -> Standing:
    """Return the banner of a plan without an outcome.

    Args:
        errors: number of verdicts of severity ``error``
        pending: why it is not applied yet; None if unknown
    """
    if errors:
        sentence = f"The plan has {quantify(errors, 'error')}, so nothing was stopped."
        return Standing(_ENDS[Result.REFUSED][0], Tone.BAD, sentence)
    headline, sentence = _WAITS[pending]
    return Standing(headline, Tone.BAD if pending is Pending.NOT_BEGUN else Tone.CALM, sentence)


def banner_of_request(*, snapshot: bool) -> Standing:
    """Return the banner of a request without a plan. ``snapshot``: whether the connector was observed."""
    if snapshot:
        return Standing("Not planned yet", Tone.CALM, "The offsets were read. Nothing has been stopped or changed.")
    return Standing("Not planned yet", Tone.CALM, "Nothing has been read, stopped or changed.")


def _banner_of_applied(outcome: Outcome, noun: Noun) -> Standing:
    """Return the banner of an applied change; the connector must also be back in its prior state."""
    prior, final = outcome.prior_state, outcome.final_state
    if prior != final:
        headline = f"Applied, but the connector is not {prior or 'in its prior state'}: check now"
        return Standing(headline, Tone.ALARM, outcome.message, applied=True)
    if final is None and noun is Noun.CONNECTOR:  # a consumer group has no state that is restored
        return Standing("Applied; the connector's state is not recorded", Tone.CALM, outcome.message, applied=True)
    return Standing("Applied", Tone.GOOD, outcome.message, applied=True)
