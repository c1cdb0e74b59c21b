"""``make up``: run the sandbox with connectors, and Airflow's UI to change their offsets, until Ctrl-C."""

from __future__ import annotations

import secrets
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

from rich.console import Console

from sandbox.airflow import DAGS, AirflowStandalone, Login
from sandbox.daemon import Daemon
from sandbox.errors import SandboxError
from sandbox.readings import SEATTLE
from sandbox.sandbox import Sandbox
from sandbox.scene import CHECKPOINTS, MIRROR, MIRRORED, READERS, SINK, TOPIC, Scene

STATE = Path(".sandbox")  # that of `python -m sandbox status` and `down`, which so work on this one too
HOME = Path("build/play")

_out = Console(highlight=False, markup=False, soft_wrap=True)


def main() -> int:
    """Start all of it, print what to try, and keep it up until TERM or INT."""
    daemon = Daemon(STATE)
    try:
        daemon.make_way()
        with daemon.hold():
            _play(daemon)
    except SandboxError as error:
        Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(str(error), style="red")
        return 1
    except SystemExit:  # TERM or Ctrl-C
        _out.print("\nEverything is stopped and its files are removed.")
    return 0


def _play(daemon: Daemon) -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    with ExitStack() as stack:
        with _out.status("Starting two Kafka clusters and a Connect worker …") as status:
            sandbox = stack.enter_context(Sandbox(keep_logs=HOME / "logs"))
            status.update("Starting Airflow, and filling Kafka …")
            # The pool is left after Airflow is closed, which ends a start that is under way.
            pool = stack.enter_context(ThreadPoolExecutor(1))
            login = Login("admin", secrets.token_urlsafe(12))
            airflow = AirflowStandalone(sandbox, workspace=HOME / "workspace", login=login)
            stack.enter_context(closing(airflow))
            started = pool.submit(airflow.start)
            scene = Scene(sandbox)
            scene.set_up()
            started.result()
            for file in DAGS.glob("*.py"):  # of each DAG one, named after it: the next form may be that of any
                airflow.wait_for_dag(file.stem)
        daemon.publish(sandbox)
        _explain(scene, airflow.url, login)
        while True:
            signal.pause()


def _explain(scene: Scene, airflow: str, login: Login) -> None:
    sandbox = scene.sandbox
    text = _WELCOME.format(
        airflow=airflow,
        user=login.username,
        password=login.password,
        connect=sandbox.connect.url,
        source=sandbox.source.bootstrap,
        target=sandbox.target.bootstrap,
        file=scene.file,
        moment=datetime(2010, 12, 1, tzinfo=SEATTLE).isoformat(),
    )
    _out.print(text)


_WELCOME = f"""\
Airflow is up: {{airflow}}
Sign in as {{user}} with the password {{password}}

What there is to play with:
  {MIRROR}  replicates {TOPIC}, a year of hourly readings, to {MIRRORED}
  {SINK}    writes that topic to {{file}}
  {CHECKPOINTS}  translates the consumer group {READERS}, which has read half of {TOPIC}
  all on Kafka Connect at {{connect}}, between the clusters {{source}} (source) and {{target}} (target)

A first change:
  1  Open {{airflow}}/dags/connector_offsets_change and click Trigger.
  2  Fill in, and leave all else as it is:
       Connector         {MIRROR}
       Resume at         datetime
       Value             {{moment}}
     Click the fold Connections open:
       Kafka connection  kafka_source
     Then click Trigger below the form.
  3  Some 30 s later it asks whether it may: open {{airflow}}/required_actions, click the subject, read the plan,
     and click Approve.
  4  The connector is stopped for a second or two. The report, with a picture, opens from the run's task "apply": tab
     Details, button Report.

Next: {SINK}, with shift and -100, or earliest; its Kafka connection is kafka_target. Or mirror_failover, for the group
{READERS}, with the MirrorSource {MIRROR} and the MirrorCheckpoint {CHECKPOINTS}.
What the connectors are doing: .venv/bin/python -m sandbox status

Ctrl-C ends all of it; so does `make down` in another terminal."""


if __name__ == "__main__":
    sys.exit(main())
