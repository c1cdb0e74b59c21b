"""Parsers of what others write, with inputs that a fuzzer makes up: only documented errors, and no input that hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
PARSERS = ["document", "properties", "java_stream", "records", "answer", "token", "mask"]


@pytest.mark.fuzz
@pytest.mark.parametrize("parser", PARSERS)
def test_no_input_breaks_a_parser(parser: str, tmp_path: Path) -> None:
    """The fuzzer prints the input that does; make it a test of that parser."""
    command = [sys.executable, "-m", "tests.support.programs.fuzzed", parser, str(tmp_path)]
    limits = [f"-max_total_time={SECONDS}", "-timeout=10", "-rss_limit_mb=1024", "-max_len=2000"]

    ended = subprocess.run([*command, *limits], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    assert "Done " in ended.stderr
