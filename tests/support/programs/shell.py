"""``connect-offsets`` called in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from airflow_provider_connect_offsets.cli.main import main


@dataclass(frozen=True)
class Ended:
    """The result of a call: exit code and output."""

    code: int
    out: str
    err: str


Shell = Callable[..., Ended]


def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Return a function that calls the command; ``stdin`` is its standard input."""

    def call(*arguments: object, stdin: str = "") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Ended(int(ended.value.code or 0), written.out, written.err)

    return call
