"""Third change: a request with a wrong topic name is refused, and no connector is stopped."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.demo.stage import Stage
from sandbox.scene import MIRROR

_TITLE = "A typo in a topic's name"
_TYPO = "temperatuers"


def refuse_typo(stage: Stage) -> None:
    """Request a topic that does not exist, and compare all states and offsets before and after."""
    scene, narration = stage.scene, stage.narration
    narration.heading(f"3  {_TITLE}")
    narration.say("Connect itself would accept it, say that all went well, and change nothing.")
    before = scene.state()

    request = {"connector": MIRROR, "to": "earliest", "topics": _TYPO, "kafka_conn_id": "kafka_source"}
    ran = stage.run("3-typo", request, expect="failed")

    after = scene.state()
    narration.prove("The request", expected="refused by plan", observed=f"refused by {_name_failed(ran.tasks)}")
    narration.prove("The task that would have stopped it", expected="upstream_failed", observed=ran.tasks["apply"])
    narration.prove("States and offsets of all connectors", expected="unchanged", observed=_difference(before, after))
    stage.keep(ran, _TITLE, {"States and offsets of all connectors, before and after": _difference(before, after)})


def _name_failed(tasks: Mapping[str, str]) -> str:
    return ", ".join(task for task, state in tasks.items() if state == "failed") or "nobody"


def _difference(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    return f"changed: {', '.join(sorted(changed))}" if changed else "unchanged"
