"""What a failover replaces: kept once for its own offsets, and again for other users' offsets."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.flow.observed_groups import Group
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.stages.groups.prior_groups import (
    Replaced,
    Replacements,
    add_replaced,
    read_replaced,
    write_replaced,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
PRIOR = Committed(3, "noted")


def add_commit(
    earlier: Replacements, due: int, present_offset: Committed | None, *, digest: str = "two"
) -> Replacements:
    """Record what a commit of ``due`` to partition 0 of ``g`` replaces, and return all replaced offsets."""
    present = {"g": Group("Empty", 0, {} if present_offset is None else {ZERO: present_offset})}
    return add_replaced(earlier, {"g": {ZERO: due}}, present, {"g"} if present_offset else set(), digest=digest)


def test_what_is_replaced_is_kept() -> None:
    """Its metadata is kept, too; a group that does not exist has no offset, and is marked so."""
    assert add_commit({}, 30, PRIOR) == {"g": {ZERO: Replaced(PRIOR, 30, existed=True, digest="two")}}
    assert add_commit({}, 30, None) == {"g": {ZERO: Replaced(None, 30, existed=False, digest="two")}}


def test_what_the_run_has_committed_itself_is_not_kept_as_prior() -> None:
    """Neither a retry nor a run that is cleared and translates again keeps it; the group's own progress is kept."""
    earlier = {
        "g": {
            ZERO: Replaced(PRIOR, 30, existed=True, digest="one"),
            ONE: Replaced(None, 7, existed=True, digest="one"),
        }
    }

    assert add_commit(earlier, 40, Committed(30))["g"][ZERO].prior == PRIOR
    assert add_commit(earlier, 40, Committed(35, "read on"))["g"][ZERO].prior == Committed(35, "read on")
    assert add_commit(earlier, 30, PRIOR, digest="one") == earlier
    assert add_commit(earlier, 40, None)["g"][ZERO].prior is None


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    """All that Kafka keeps of an offset, and the absence of one."""
    directory = FailoverDirectory(tmp_path.as_uri())
    assert read_replaced(directory) is None
    kept = {
        "g": {
            ZERO: Replaced(Committed(3, "ä\n", 7), 30, existed=True, digest="one"),
            ONE: Replaced(None, 0, existed=True, digest="one"),
        }
    }

    write_replaced(directory, kept)
    found = read_replaced(directory)

    assert found == kept
    assert found["g"][ZERO].prior.leader_epoch == 7  # type: ignore[union-attr]
    write_replaced(directory, {})
    assert read_replaced(directory) == {}
