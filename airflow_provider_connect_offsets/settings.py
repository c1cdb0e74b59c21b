"""Options of ``[connect_offsets]`` as Airflow finds them, for code that runs without Airflow: files and the shell."""

from __future__ import annotations

import os
from configparser import Error, RawConfigParser
from functools import lru_cache
from pathlib import Path

from airflow_provider_connect_offsets.exceptions import InvalidInput

_SECTION = "connect_offsets"


def option(name: str, default: str = "") -> str:
    """Return an option from its variable, else ``airflow.cfg``; raises :class:`InvalidInput` for an unreadable file."""
    variable = os.environ.get(f"AIRFLOW__{_SECTION.upper()}__{name.upper()}")
    if variable is not None:
        return variable or default
    home = os.environ.get("AIRFLOW_HOME") or "~/airflow"
    file = Path(os.environ.get("AIRFLOW_CONFIG") or Path(home, "airflow.cfg")).expanduser()
    try:
        changed = file.stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return default
    except OSError as error:
        raise _unreadable_error(file, error) from error
    return dict(_section(file, changed)).get(name) or default


def umask() -> int:
    """Return the permission bits that new files and directories of a workspace don't get (``umask``).

    Raises :class:`InvalidInput` if the option isn't an octal number.
    """
    text = option("umask", "027")
    try:
        bits = int(text, 8)
    except ValueError:
        bits = -1
    if not 0 <= bits <= 0o777:
        raise InvalidInput(f"[connect_offsets] umask is {text!r}, which is not an octal number like 027.")
    return bits


def parse_days(text: str, *, option: str) -> float | None:
    """Read an option that is a number of days; None for 0 or nothing, which is for ever.

    Raises :class:`InvalidInput` if it is something else.
    """
    try:
        days = float(text or 0)
    except ValueError:
        days = -1
    if not 0 <= days < 36_500:
        raise InvalidInput(
            f"[connect_offsets] {option} is {text!r}, but must be a number of days, like 30, or 0 for ever."
        )
    return days or None


@lru_cache(maxsize=4)
def _section(file: Path, _changed: int) -> tuple[tuple[str, str], ...]:
    """Read the options of a file, and again only after it changes: Airflow's file has two thousand lines."""
    parser = RawConfigParser()
    try:
        with file.open(encoding="utf-8") as lines:  # parser.read would pass over a file that this user may not read
            parser.read_file(lines)
    except (Error, OSError, UnicodeDecodeError) as error:
        raise _unreadable_error(file, error) from error
    return tuple(parser.items(_SECTION)) if parser.has_section(_SECTION) else ()


def _unreadable_error(file: Path, error: Exception) -> InvalidInput:
    return InvalidInput(f"{file} can't be read, so it is unknown which changes are allowed: {error}")
