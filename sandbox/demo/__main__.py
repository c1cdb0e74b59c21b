"""The whole demo: real parts, three changes, one report. Exit code 0 only if all of it was proved."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from airflow_provider_connect_offsets.report import Change, render
from sandbox.airflow import airflow_environment
from sandbox.demo.narration import Narration
from sandbox.demo.poison import skip_poison
from sandbox.demo.rewind import rewind
from sandbox.demo.runs import DagRuns
from sandbox.demo.stage import Stage
from sandbox.demo.typo import refuse_typo
from sandbox.errors import SandboxError
from sandbox.sandbox import Sandbox
from sandbox.scene import MIRROR, MIRRORED, PARTITIONS, SINK, TOPIC, Scene

_PROVED, _FAILED, _INTERRUPTED = 0, 1, 130


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.demo", description="Three changes on real parts.")
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="default: %(default)s")
    output: Path = parser.parse_args(arguments).output
    signal.signal(signal.SIGTERM, _interrupt)
    narration, logs = Narration(), output / "logs"
    try:
        _clear(output)
        with _stage(narration, output, logs) as stage:
            for act in (rewind, skip_poison, refuse_typo):
                act(stage)
        return _end(narration, output, stage.changes)
    except KeyboardInterrupt:
        narration.complain("Interrupted; nothing is left running.")
        return _INTERRUPTED
    except SandboxError as error:
        narration.complain(f"The demo failed: {error}")
    except Exception as error:  # noqa: BLE001 - any error becomes one sentence; details are in a file
        narration.complain(f"The demo failed: {type(error).__name__}: {error}")
        with suppress(OSError):
            (logs / "demo.log").write_text(traceback.format_exc())
    narration.say(f"All logs are in {logs}")
    return _FAILED


@contextmanager
def _stage(narration: Narration, output: Path, logs: Path) -> Iterator[Stage]:
    """All parts that the three changes need, running until the block is left."""
    narration.heading("Real Kafka, Kafka Connect, MirrorMaker 2, Airflow and Spark")
    workspace = output / "workspace"
    with ExitStack() as stack:
        with narration.step("Two Kafka clusters and a Connect worker are up"):
            sandbox = stack.enter_context(Sandbox(keep_logs=logs))
        own = airflow_environment(sandbox.data / "airflow", sandbox_env=sandbox.to_connections(), workspace=workspace)
        # Airflow is imported and its database made while the scene is set.
        dag_runs = stack.enter_context(DagRuns(environment=own, workspace=workspace, logs=logs))
        yield Stage(_scene(sandbox, narration), dag_runs, narration)
        narration.heading("Done")
        with narration.step("Everything is stopped and its files are removed"):
            stack.close()


def _scene(sandbox: Sandbox, narration: Narration) -> Scene:
    scene = Scene(sandbox)
    with narration.step(
        f"{len(scene.first_readings)} hourly temperatures of Seattle are in {TOPIC}, in {PARTITIONS} partitions"
    ):
        scene.create_topic()
    with narration.step(f"{MIRROR}, a MirrorSourceConnector, has replicated them to {MIRRORED}"):
        scene.start_mirror()
    with narration.step(f"{SINK}, a FileStreamSinkConnector, has written them to a file"):
        scene.start_sink()
    return scene


def _end(narration: Narration, output: Path, changes: list[Change]) -> int:
    """Write the report, and sum up."""
    report = output / "report.html"
    report.write_text(render(changes, title="Changes of connector offsets"), encoding="utf-8")
    proved = narration.verdict()
    narration.say("")
    narration.say(f"The report on the planned changes: {report.absolute().as_uri()}")
    narration.say(f"Open it in a browser, for example: {_opener()} {report}")
    if not proved:
        narration.complain(f"Not all of it could be proved. The logs are in {output / 'logs'}")
        return _FAILED
    narration.say(f"All of it was proved, in {narration.seconds:.0f} s.")
    return _PROVED


def _opener() -> str:
    return "open" if sys.platform == "darwin" else "xdg-open"


def _clear(output: Path) -> None:
    """Remove what an earlier demo has left."""
    for name in ("workspace", "logs"):
        shutil.rmtree(output / name, ignore_errors=True)
    (output / "report.html").unlink(missing_ok=True)
    (output / "logs").mkdir(parents=True)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt  # the way out that Ctrl-C takes


if __name__ == "__main__":
    sys.exit(main())
