"""Docstrings of the package as Markdown, parsed by griffe."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import griffe

PACKAGE = "airflow_provider_connect_offsets"
TOP = Path(__file__).parents[1]
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_TITLES = {
    griffe.DocstringSectionKind.parameters: "Arguments",
    griffe.DocstringSectionKind.attributes: "Attributes",
    griffe.DocstringSectionKind.returns: "Returns",
    griffe.DocstringSectionKind.raises: "Raises",
}
_LITERAL = re.compile(r"(?<!`)``(?!`)")


@cache
def _package() -> griffe.Object:
    """Parse the package, without importing anything."""
    loaded = griffe.load(PACKAGE, search_paths=[TOP], docstring_parser="google", allow_inspection=False)
    if not isinstance(loaded, griffe.Object):
        raise TypeError(PACKAGE)
    return loaded


def docstring(module: str, name: str = "") -> str:
    """Return the docstring of a module, or of a member of it, as it is written in the source, as Markdown.

    Raises:
        ValueError: There is none.
    """
    path = ".".join(part for part in (module.removeprefix(PACKAGE).removeprefix("."), name) if part)
    documented = _package()[path].docstring
    if documented is None:
        raise ValueError(f"{path} has no docstring")
    return "\n\n".join(_section(section) for section in documented.parsed)


def markdown(text: str) -> str:
    """Return text with reStructuredText's literals and roles replaced by Markdown."""
    return _LITERAL.sub("`", _ROLE.sub(r"`\1`", text))


def _section(section: Any) -> str:
    """Return a section: its text, or a list under its title."""
    if section.kind is griffe.DocstringSectionKind.text:
        return markdown(section.value)
    title = section.title or _TITLES[section.kind]
    return "\n".join([f"{title}:", "", *(f"- {_item(item)}" for item in section.value)])


def _item(item: Any) -> str:
    """Return an argument or attribute with its name, an error with its class, and a returned value with neither."""
    named = item.annotation if isinstance(item, griffe.DocstringRaise) else getattr(item, "name", "")
    text = " ".join(markdown(item.description).split())
    return f"`{named}`: {text}" if named else text
