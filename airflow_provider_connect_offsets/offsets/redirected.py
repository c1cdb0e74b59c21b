"""Whether changed settings would send a connector's secrets to another address, and what a person may see of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_provider_connect_offsets.masking import HIDDEN_NAMES, MASK, mask_text
from airflow_provider_connect_offsets.offsets.family import Config

# Names of settings whose values are secrets, of any class. Treating one name too many as a secret does no harm.
_SECRET = re.compile(rf"{HIDDEN_NAMES}|private|keystore", re.IGNORECASE)
# Names of settings that say where something is sent to, or how it is protected on its way there.
_ADDRESS = re.compile(
    r"servers?\b|hosts?\b|hostname|url|uri|endpoint|address|broker|proxy|domain|region|port\b|connection.?string|"
    r"security\.protocol|\bssl\.|\bsasl\.mechanism|tls|verif|truststore|topology|contact.?points|nodes?\b",
    re.IGNORECASE,
)
# A value that is an address whatever its setting is called: a URL, or a host with its port.
_LIKE_AN_ADDRESS = re.compile(r"\w://|(?<![\w.-])[\w-]+(?:\.[\w-]+)*:\d{2,5}(?!\d)")
_REFERENCE = re.compile(r"\$\{[^}]+\}")


def is_secret(name: str, value: str) -> bool:
    """Whether a setting is a secret, or may refer to one."""
    return bool(_SECRET.search(name) or _REFERENCE.search(value)) or mask_text(value) != value


def show_setting(name: str, value: str | None) -> str:
    """Return a setting as a person may see it: ``topics=orders``, ``a.password=********``, ``transforms unset``."""
    if value is None:
        return f"{name} unset"
    return f"{name}={show_value(name, value)}"


def show_value(name: str, value: str) -> str:
    """Return the value of a setting as a person may see it; a reference to a config provider is no secret."""
    return MASK if _SECRET.search(name) and not _is_reference(value) else mask_text(value)


def find_redirecting(config: Config, overrides: Mapping[str, str | None]) -> tuple[str, str] | None:
    """Return an override that might make a copy send an inherited secret elsewhere, and that secret's setting.

    Args:
        config: The settings of the original.
        overrides: Settings that the copy has instead; None: it lacks that setting.

    Returns:
        None if no address is changed, or the copy inherits no secret.
    """
    changed = (name for name, value in overrides.items() if value != config.get(name))
    address = next((one for one in changed if _is_address(one, config.get(one), overrides[one])), None)
    inherited = (name for name, value in config.items() if name not in overrides and is_secret(name, value))
    secret = next(inherited, None)
    return None if address is None or secret is None else (address, secret)


def _is_address(name: str, before: str | None, after: str | None) -> bool:
    return bool(_ADDRESS.search(name) or any(value and _LIKE_AN_ADDRESS.search(value) for value in (before, after)))


def _is_reference(value: str) -> bool:
    """Whether a value is nothing but references to a config provider, which reveal no secret."""
    return bool(_REFERENCE.search(value)) and not _REFERENCE.sub("", value).strip()
