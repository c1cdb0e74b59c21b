"""Flags as they come from forms, templates and connections: often as texts, and ``"false"`` is one that is not true."""

from __future__ import annotations

from airflow_provider_connect_offsets.exceptions import InvalidInput


def is_true(value: object) -> bool:
    """Read a flag; None and an empty text are false. Raises :class:`InvalidInput` for anything but true and false."""
    text = str(value).strip().lower()
    if text not in {"true", "false", "none", ""}:
        raise InvalidInput(f"{value!r} is neither true nor false.")
    return text == "true"
