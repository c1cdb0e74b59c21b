"""Reads Java's properties files."""

from __future__ import annotations

from pathlib import Path

import javaproperties

from airflow_provider_connect_offsets.exceptions import InvalidInput


def read_properties(path: Path, *, encoding: str = "iso-8859-1") -> dict[str, str]:
    r"""Read ``path`` as Java's ``Properties.load`` does; of equal keys the last one counts.

    Args:
        path: The file.
        encoding: Kafka's ``Utils.loadProps`` reads bytes, so Java uses ISO 8859-1; ``FileConfigProvider`` reads UTF-8.

    Raises:
        InvalidInput: The file can't be read, or has a ``\u`` without four hexadecimal digits.
    """
    try:
        text = path.read_bytes().decode(encoding, errors="replace")
    except OSError as error:
        raise InvalidInput(f"Can't read the properties file {path}: {error.strerror}.") from error
    try:
        return dict(javaproperties.loads(text))
    except javaproperties.InvalidUEscapeError:
        # Without its cause, which shows the following text: that may be part of a password.
        raise InvalidInput(
            f"Java can't read the properties file {path}: it has a \\u without four hexadecimal digits. "
            "Write each backslash as two."
        ) from None
