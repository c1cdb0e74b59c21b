"""Each argument of an operator or sensor may be a template, but for those that decide how it waits."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest
from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets import operators, sensors

# Read before templates are rendered.
_NEVER = {"deferrable", "response_timeout"}
_OWN = operators.__name__.partition(".")[0]


def classes() -> Iterator[type[BaseOperator]]:
    """All operators and sensors of the package."""
    for room in (operators, sensors):
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for one in vars(import_module(found.name)).values():
                if inspect.isclass(one) and issubclass(one, BaseOperator) and one.__module__ == found.name:
                    yield one


def arguments(operator: type[BaseOperator]) -> set[str]:
    """The arguments that the package adds to those of Airflow."""
    own = [one.__dict__["__init__"] for one in operator.__mro__ if one.__module__.startswith(_OWN) and _inits(one)]
    named = [inspect.signature(inspect.unwrap(one)).parameters.values() for one in own]
    return {one.name for some in named for one in some if one.kind is inspect.Parameter.KEYWORD_ONLY}


def _inits(one: type) -> bool:
    return "__init__" in one.__dict__


OPERATORS = {one.__name__: one for one in classes()}


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_template_fields_are_complete(name: str) -> None:
    """A form, an XCom or a variable may give any of them."""
    operator = OPERATORS[name]

    assert arguments(operator) - _NEVER <= set(operator.template_fields)
