"""``connect-offsets`` in a process that is killed or waits right before or after its first write.

usage: python -m tests.support.programs.import_process killed|waits before|after ARGUMENT...

``waits``: it says "waiting" on standard output and goes on once standard input is closed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from airflow_provider_connect_offsets.cli.main import main
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage


def started(fate: str, moment: str, *arguments: object) -> subprocess.Popen[str]:
    """Start it in the current directory."""
    command = [sys.executable, "-m", __name__, fate, moment, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def killed(moment: str, *arguments: object) -> None:
    """Run it until it is killed."""
    with started("killed", moment, *arguments) as process:
        _out, error = process.communicate()
    assert process.returncode == -signal.SIGKILL, error


def _happen(fate: str) -> None:
    if fate == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdout.write("waiting\n")
    sys.stdout.flush()
    sys.stdin.read()


def _let_it_happen(owner: type, method: str, fate: str, moment: str) -> None:
    write = getattr(owner, method)

    def written(*arguments: Any, **named: Any) -> Any:
        setattr(owner, method, write)
        if moment == "before":
            _happen(fate)
        reply = write(*arguments, **named)
        if moment == "after":
            _happen(fate)
        return reply

    setattr(owner, method, written)


if __name__ == "__main__":
    for each, name in ((TopicStorage, "write_all"), (StandaloneFile, "write_all"), (OffsetsTopic, "remove_keys")):
        _let_it_happen(each, name, sys.argv[1], sys.argv[2])
    main(sys.argv[3:])
