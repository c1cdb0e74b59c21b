"""Keep a server from outliving its owner. Run as a script, with nothing but the standard library.

The owner starts ``tether.py OWNER_PID GRACE HOME`` and talks to it in lines of JSON:

    to the tether      {"run": [command, …], "log": path}    {"signal": number}
    from the tether    {"home": path} (it is there)    {"pid": number}    {"exit": code}    {"error": message}

Standard input is a pipe whose other end only the owner holds. When it closes, because the owner closed it or died
in any way, the tether ends the server and removes HOME; the last of its siblings removes all of the sandbox.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_STDIN, _STDOUT = 0, 1
#: The directory between a sandbox's root and the directories of its servers.
PROCESSES = "processes"


def main(arguments: list[str]) -> None:
    """Run the owner's commands until it is gone, then end the server and remove its files."""
    owner, grace, home = int(arguments[0]), float(arguments[1]), Path(arguments[2])
    leaving = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Only noted, as an exception could strike while a server is being started, and leave it running.
        signal.signal(number, lambda _number, _frame: leaving.set())
    home.mkdir(parents=True, exist_ok=True)
    _say({"home": str(home)})
    server: subprocess.Popen[bytes] | None = None
    try:
        for order in _orders(owner, leaving):
            if "run" in order:
                server = _run(order["run"], Path(order["log"]), home) or server
            elif server is not None:
                server.send_signal(order["signal"])
    finally:
        if server is not None:
            _end(server, grace)
        _remove(home)


def _orders(owner: int, leaving: threading.Event) -> Iterator[dict[str, Any]]:
    rest = b""
    # Check the parent's id too: a child that the owner forked keeps the pipe open after the owner's death.
    while os.getppid() == owner and not leaving.is_set():
        if not select.select([_STDIN], [], [], 0.5)[0]:
            continue
        chunk = os.read(_STDIN, 65536)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        yield from map(json.loads, lines)


def _run(command: list[str], log: Path, home: Path) -> subprocess.Popen[bytes] | None:
    try:
        with log.open("ab") as output:
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=home)
    except OSError as error:
        _say({"error": str(error)})
        return None
    _say({"pid": server.pid})
    threading.Thread(target=lambda: _say({"exit": server.wait()}), daemon=True).start()
    return server


def _say(event: dict[str, Any]) -> None:
    try:
        os.write(_STDOUT, json.dumps(event).encode() + b"\n")
    except BrokenPipeError:
        return  # nobody is left to hear it; standard input tells the same, and acts on it


def _end(server: subprocess.Popen[bytes], grace: float) -> None:
    server.terminate()
    server.send_signal(signal.SIGCONT)  # a suspended process would not see the first signal
    try:
        server.wait(grace)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _remove(home: Path) -> None:
    """Remove this directory, and the sandbox's root once no sibling is left: removing a non-empty root fails."""
    shutil.rmtree(home, ignore_errors=True)
    try:
        home.parent.rmdir()
    except OSError:
        return  # a sibling is still there, and will come here too
    shutil.rmtree(home.parent.parent, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
