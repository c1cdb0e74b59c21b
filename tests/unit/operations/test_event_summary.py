"""What an asset event says of a change."""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType, family_of
from airflow_provider_connect_offsets.operations.connector.event_summary import MOST_TOPICS, list_moved, summary_of
from airflow_provider_connect_offsets.operations.stages.captured import Alteration
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset


def moved(topic: str | None, partition: int, before: int | None, after: int | None) -> MovedOffset:
    """A partition of a sink that was moved; None: no offset."""
    texts = ["stored" if position is not None else None for position in (before, after)]
    named = f"{topic}-{partition}"
    return MovedOffset(named, topic, partition, texts[0], before, texts[1], after, texts[1], after)


def test_it_counts_directions_and_names_the_ends_of_each_topic() -> None:
    """Positions are those before the change and those that were read back."""
    rows = [
        moved("orders", 0, 60, 5),
        moved("orders", 1, 20, 30),
        moved("orders", 2, None, 7),
        moved("bills", 0, 4, None),
    ]

    assert summary_of(rows) == {
        "partitions": 4,
        "moved_back": 1,
        "moved_forward": 1,
        "removed": 1,
        "before": {
            "orders": {"partitions": 2, "lowest": 20, "highest": 60},
            "bills": {"partitions": 1, "lowest": 4, "highest": 4},
        },
        "after": {"orders": {"partitions": 3, "lowest": 5, "highest": 30}},
        "more_topics": 0,
    }


def test_it_stays_small_however_many_topics_there_are() -> None:
    """The first topics by name are shown, the others counted; partitions of all of them are counted."""
    summary = summary_of([moved(f"topic-{number:03}", 0, 9, 3) for number in range(100)])

    assert list(summary["after"]) == [f"topic-{number:03}" for number in range(MOST_TOPICS)]
    assert (summary["partitions"], summary["moved_back"], summary["more_topics"]) == (100, 100, 100 - MOST_TOPICS)


def test_offsets_without_positions_are_only_counted() -> None:
    """A file source stores bytes of a file, which neither go back nor forward on a log."""
    partition = '{"filename":"a.txt"}'
    prior = Offsets.of([Entry(partition, '{"position":9}')])
    alteration = Alteration(State.STOPPED, prior, prior.removals())
    files = family_of(ConnectorType.SOURCE, "org.apache.kafka.connect.file.FileStreamSourceConnector")

    assert summary_of(list_moved(alteration, files)) == {
        "partitions": 1,
        "moved_back": 0,
        "moved_forward": 0,
        "removed": 1,
        "before": {},
        "after": {},
        "more_topics": 0,
    }


def test_what_was_written_without_a_plan_is_compared_with_what_was_stored() -> None:
    """A partition that had no offset counts, too."""
    sink = family_of(ConnectorType.SINK, "any.Sink")
    entries = [
        Entry.of({"kafka_topic": "orders", "kafka_partition": number}, {"kafka_offset": 50}) for number in (0, 1)
    ]
    prior = Offsets.of([Entry(entries[0].partition, '{"kafka_offset":80}')])

    summary = summary_of(list_moved(Alteration(State.STOPPED, prior, Offsets.of(entries)), sink))

    assert (summary["moved_back"], summary["before"]["orders"]["lowest"]) == (1, 80)
    assert summary["after"] == {"orders": {"partitions": 2, "lowest": 50, "highest": 50}}
