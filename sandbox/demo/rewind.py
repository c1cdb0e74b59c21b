"""First change: a MirrorSource replicates again what was written since a moment."""

from __future__ import annotations

from datetime import UTC, datetime

from sandbox.demo.stage import Stage
from sandbox.readings import SEATTLE
from sandbox.scene import MIRROR, MIRRORED, SINK, TOPIC

_TITLE = "Rewind a MirrorSource to a moment"
_MOMENT = datetime(2010, 12, 1, tzinfo=SEATTLE)


def rewind(stage: Stage) -> None:
    """Rewind the mirror, count the records that arrive on the target, and check the first of them."""
    scene, narration = stage.scene, stage.narration
    narration.heading(f"1  {_TITLE}")
    narration.say(f"The target lost December. {MIRROR} is to replicate {TOPIC} again from {_MOMENT.isoformat()} on.")
    ends = scene.mirrored_ends()

    request = {"connector": MIRROR, "to": "datetime", "value": _MOMENT.isoformat(), "kafka_conn_id": "kafka_source"}
    ran = stage.run("1-rewind", request, expect="success")
    outcome, predicted = stage.show_applied(ran), ran.predicted_count("records_again")

    with narration.step(f"{MIRROR} has caught up again, and {SINK} has written what came"):
        scene.wait_until_mirrored()
        scene.wait_until_written()
    again = scene.sandbox.target.consume(MIRRORED, start=ends)
    earliest = datetime.fromtimestamp(min(record.timestamp_ms for record in again) / 1000, tz=UTC).astimezone(SEATTLE)
    narration.prove("Records delivered again, predicted and counted", expected=predicted, observed=len(again))
    narration.prove("The first of them", expected=_MOMENT.isoformat(), observed=earliest.isoformat())
    narration.prove(f"State of {MIRROR}", expected="RUNNING", observed=outcome.final_state)
    stage.keep(
        ran,
        _TITLE,
        {
            f"Records that {MIRRORED} got again, counted": f"{len(again)}, and {predicted} were predicted",
            "The first of them was written at": earliest.isoformat(),
        },
    )
