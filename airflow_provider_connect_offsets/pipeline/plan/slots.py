"""Rules on LSNs and replication slots, for connectors of the family ``debezium_postgres``.

PostgreSQL sends a slot's reader nothing from before ``confirmed_flush_lsn``: if the reader requests an earlier LSN,
PostgreSQL starts at ``confirmed_flush_lsn``, without an error ("START_REPLICATION SLOT", PostgreSQL's manual). For an
LSN beyond the log it sends nothing until the log gets there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families.postgres import slot_of
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, make_frame
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subjects
from airflow_provider_connect_offsets.pipeline.verdicts import finding, sentence, verdicts


def slot_verdicts(snapshot: PlanFrames, subjects: Subjects, rows: DataFrame) -> DataFrame:
    """Compare the LSNs that plans set with the slots in the snapshot.

    Args:
        snapshot: the snapshot; its ``slots`` has at most one row for each connector
        subjects: the connectors
        rows: the frame of ``effects``

    Returns:
        dataset ``verdicts``
    """
    changed = rows.where(F.col("action") == Action.SET.value)
    # Another rule reports an offset without an LSN.
    lsns = changed.select("connector", "partition", _lsn("before"), _lsn("after")).where("after_lsn is not null")
    names = [(one.name, slot_of(one.config) or "in slot.name") for one in subjects.members]
    configured = make_frame(rows.sparkSession, names, "connector string, slot_name string")
    judged = lsns.join(configured, "connector").join(snapshot.slots, "connector", "left")
    return verdicts(
        judged,
        _findings(),
        connector=F.col("connector"),
        partition=F.col("partition"),
        prefix=sentence("`{connector}`, partition `{partition}`: "),
    )


def _lsn(column: str) -> Column:
    return F.get_json_object(column, "$.lsn").try_cast("long").alias(f"{column}_lsn")


def _findings() -> list[Column]:
    requested, stored = F.col("after_lsn"), F.col("before_lsn")
    confirmed, current = F.col("confirmed_flush_lsn"), F.col("current_wal_lsn")
    observed = current.isNotNull()
    lost = observed & (confirmed.isNull() | F.coalesce(F.col("wal_status") == "lost", F.expr("false")))
    behind, ahead = observed & (requested < confirmed), observed & (requested > current)
    words = {
        "slot": sentence("the replication slot `{slot_name}`"),
        "requested": _text(requested),
        "stored": _text(stored),
        "confirmed": _text(confirmed),
        "current": _text(current),
    }
    return [
        finding(
            Rule.SLOT_UNCHECKED,
            Severity.WARNING,
            ~observed,
            "no database connection is given (database_conn_id), so it is unknown whether {slot} still has the changes "
            "from LSN {requested} on. If the slot has confirmed a later LSN, the changes in between are never "
            "delivered, and no error is reported.",
            **words,
        ),
        finding(
            Rule.SLOT_LOST,
            Severity.ERROR,
            lost,
            "{slot} does not exist, or PostgreSQL has removed the log that the slot needs, so a connector that resumes "
            "misses all changes until now. Take a new snapshot instead: to=clear, with snapshot.mode=initial.",
            **words,
        ),
        finding(
            Rule.BEFORE_SLOT,
            Severity.ERROR,
            behind & ~lost,
            "LSN {requested} lies before LSN {confirmed}, which {slot} has confirmed (confirmed_flush_lsn). PostgreSQL "
            "would not send the changes in between, and would report no error. Ask for LSN {confirmed} or a later one. "
            "For earlier changes, take a new snapshot (to=clear), or an incremental snapshot with a signal.",
            **words,
        ),
        finding(
            Rule.BEYOND_WAL,
            Severity.ERROR,
            ahead,
            "LSN {requested} lies beyond the end of PostgreSQL's write-ahead log, LSN {current}. The connector would "
            "run, but deliver nothing until the log reaches LSN {requested}. Ask for LSN {current} or an earlier one.",
            **words,
        ),
        finding(
            Rule.REWIND,
            Severity.WARNING,
            (requested < stored) & ~F.coalesce(behind | lost, F.expr("false")),
            "the changes of all transactions that committed between LSN {requested} and {stored} are delivered again.",
            **words,
        ),
        finding(
            Rule.SKIP,
            Severity.WARNING,
            (requested > stored) & ~F.coalesce(ahead | lost, F.expr("false")),
            "the changes of transactions that committed between LSN {stored} and {requested} are never delivered.",
            **words,
        ),
    ]


def _text(lsn: Column) -> Column:
    """An LSN as PostgreSQL writes it."""
    return F.concat(F.hex(F.shiftright(lsn, 32)), F.lit("/"), F.hex(lsn.bitwiseAND(F.lit(0xFFFFFFFF))))
