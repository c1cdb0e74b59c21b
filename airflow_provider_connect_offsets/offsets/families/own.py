"""Families of connectors that other distributions bring, by entry points of the group ``connect_offsets.families``.

An entry point names a subclass of :class:`~airflow_provider_connect_offsets.offsets.family.Family` in a module that
imports nothing but ``offsets`` and the standard library: Spark's driver and executors import it too. For the same
reason, this module uses the standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from airflow_provider_connect_offsets.exceptions import BrokenFamily
from airflow_provider_connect_offsets.offsets.family import Family

GROUP = "connect_offsets.families"


@cache
def load_own_families(taken: frozenset[str]) -> tuple[Family, ...]:
    """Load all families that other distributions bring.

    They are loaded once per process, and not before there is a class or family that this package does not know.

    Args:
        taken: Names of other families.

    Raises:
        BrokenFamily: A family can't be loaded, or has a name that is taken.
    """
    loaded: dict[str, Family] = {}
    for point in family_points():
        family = _load(point)
        if family.name in {*loaded, *taken}:
            raise _broken(point, f"there is another family named {family.name!r}")
        loaded[family.name] = family
    return tuple(loaded.values())


def family_points() -> Iterator[EntryPoint]:
    """Yield the entry points of all families, always in the same order; loads none."""
    yield from sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def distribution_of(point: EntryPoint) -> str:
    """Return name and version of the distribution that brings an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "with an unknown name"


def _load(point: EntryPoint) -> Family:
    try:
        loaded = point.load()
    except Exception as error:
        raise _broken(point, f"{type(error).__name__}: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Family)):
        raise _broken(point, f"{point.value} is not a subclass of {Family.__module__}.{Family.__qualname__}")
    if loaded.name == Family.name or not loaded.classes:
        raise _broken(point, f"{point.value} must have a name and classes of its own")
    return loaded()


def _broken(point: EntryPoint, problem: str) -> BrokenFamily:
    return BrokenFamily(
        f"Nothing was changed: the connector family {point.name!r} of the distribution {distribution_of(point)} can't "
        f"be loaded: {problem}. Correct the distribution, or uninstall it."
    )
