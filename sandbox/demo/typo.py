"""Third act: a request that names a topic wrongly is refused while everything goes on running."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.demo.stage import Stage
from sandbox.scene import MIRROR

_TITLE = "A typo in a topic's name"
_TYPO = "temperatuers"


def refuse_typo(stage: Stage) -> None:
    """Ask for a topic that is not there, and compare all states and offsets before and after."""
    scene, telling = stage.scene, stage.telling
    telling.heading(f"3  {_TITLE}")
    telling.say("Connect itself would accept it, say that all went well, and change nothing.")
    before = scene.state()

    asked = {"connector": MIRROR, "to": "earliest", "topics": _TYPO, "kafka_conn_id": "kafka_source"}
    ran = stage.run("3-typo", asked, expect="failed")

    after = scene.state()
    telling.prove("The request", expected="refused by plan", found=f"refused by {_failed(ran.tasks)}")
    telling.prove("The task that would have stopped it", expected="upstream_failed", found=ran.tasks["apply"])
    telling.prove("States and offsets of all connectors", expected="unchanged", found=_difference(before, after))
    stage.keep(ran, _TITLE, {"States and offsets of all connectors, before and after": _difference(before, after)})


def _failed(tasks: Mapping[str, str]) -> str:
    return ", ".join(task for task, state in tasks.items() if state == "failed") or "nobody"


def _difference(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    return f"changed: {', '.join(sorted(changed))}" if changed else "unchanged"
