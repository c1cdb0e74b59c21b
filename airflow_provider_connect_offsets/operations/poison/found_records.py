"""Sentences about the poison records that a search has found, and about those that were skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_connect_offsets.observe.failed_records import FailedRecord, FailedSink, Place, Way, name_record
from airflow_provider_connect_offsets.words import join_first, quantify


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """What a search has found.

    Attributes:
        sink: The sink as it was observed.
        records: The records on which it has failed; empty if it has not failed. A dry run may list unproven records, or
            ones with undelivered records before them.
    """

    sink: FailedSink
    records: tuple[FailedRecord, ...] = ()

    @property
    def sentence(self) -> str:
        """A sentence about the records that were found."""
        name = repr(self.sink.name)
        if not self.records and not self.sink.has_failed:
            return f"{name} is {self.sink.status.state}, and no task has failed: there is nothing to skip."
        if not self.records:
            return (
                f"{name} has failed on a record, but reading its topics did not find the record. Run this again "
                "without dry_run: then the sink runs with one record a poll until it fails again."
            )
        return " ".join(f"{name} {_describe_found(one)}" for one in self.records)


@dataclass(frozen=True, slots=True)
class SkippedRecords:
    """What a run has skipped: the places, and the sink as it is now."""

    places: tuple[Place, ...]
    sink: FailedSink

    @property
    def sentence(self) -> str:
        """A sentence about the records that were skipped."""
        name, state = repr(self.sink.name), self.sink.status.state
        if not self.places:
            return f"{name} is {state}, and no task has failed: nothing was skipped."
        return f"{name_skipped(self.places)} {name} is {state}."


def _describe_found(one: FailedRecord) -> str:
    """Say where a record is, how it was found, and how sure that is."""
    by = "read from the committed position" if one.way is Way.READ else "reported by Connect with one record a poll"
    likely = "" if one.certain else ", or on an earlier record, which only a run of the sink can show"
    passed = f" Before it, the sink must still deliver {quantify(one.passed, 'record')}." if one.passed else ""
    return f"fails on {one} ({one.why}; {by}){likely}.{passed}"


def name_skipped(places: Sequence[Place]) -> str:
    """Name the records that were skipped; empty if there are none."""
    if not places:
        return ""
    named = join_first([name_record(place) for place in places], 5, separator="; ")
    return f"Skipped: {named}."
