"""Run a one-file Java program with Kafka's jars, to compare with Java's own answer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from sandbox.jars import kafka_jars
from sandbox.java import java


def ask_java(source: str, folder: Path, question: object) -> Any:
    """Run ``source`` (class ``Program``, with Kafka's jars) on a file with ``question`` as JSON; its output is JSON."""
    program, asked = folder / "Program.java", folder / "question.json"
    program.write_text(source)
    asked.write_text(json.dumps(question))
    command = [str(java()), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dlog4j2.level=OFF"]
    ran = subprocess.run(
        [*command, "-cp", f"{kafka_jars()}/*", str(program), str(asked)], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
