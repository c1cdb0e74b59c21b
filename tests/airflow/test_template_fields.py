"""Each argument of an operator or sensor may be a template, except those that configure its waiting."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from importlib import import_module

import pytest
from airflow.sdk import BaseOperator, TaskGroup

from airflow_provider_connect_offsets import operators, sensors
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.operators.apply import ApproveOffsetPlanOperator
from airflow_provider_connect_offsets.operators.fleet import ApplyFleetPlansOperator
from airflow_provider_connect_offsets.parameters.change import FleetLimitsParams
from airflow_provider_connect_offsets.parameters.tasks import QuestionParams
from airflow_provider_connect_offsets.task_groups import bounded_replay, guarded_fleet_change, guarded_offset_change

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
def test_airflow_can_make_a_task_of_each(name: str) -> None:
    """It wraps the ``__init__`` that a class has of its own; one that only a mixin has would fail in every DAG."""
    assert hasattr(OPERATORS[name].__init__, "__wrapped__")


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_template_fields_are_complete(name: str) -> None:
    """A form, an XCom or a variable may give any of them."""
    operator = OPERATORS[name]

    assert arguments(operator) - _NEVER <= set(operator.template_fields)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_each_argument_is_described(name: str) -> None:
    """``help()`` of a class says what each of its arguments means."""
    described = set(re.findall(r"^    (\w+): .+$", OPERATORS[name].__doc__ or "", re.MULTILINE))

    assert arguments(OPERATORS[name]) - _NEVER <= described


def test_a_value_that_does_not_fit_is_refused_in_one_sentence() -> None:
    """The error names the argument: a template may give any string."""
    apply = ApplyFleetPlansOperator(task_id="apply", run_uri="file:///run", digest="d", max_down="many")

    with pytest.raises(InvalidInput, match=r"^max_down: 'many' is not a whole number from 1 to 999999999999999\.$"):
        apply.parse_as(FleetLimitsParams)


def test_a_flag_that_is_none_is_refused_by_its_name() -> None:
    """An operator has several flags."""
    approve = ApproveOffsetPlanOperator(task_id="approve", summary={}, approval="maybe", defaults="Reject")

    with pytest.raises(InvalidInput, match=r"^approval: 'maybe' is neither true nor false\.$"):
        approve.parse_as(QuestionParams)


def test_a_replay_takes_no_partitions() -> None:
    """Connect assigns whole topics to the clone, so an argument would promise what nothing keeps."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'partitions'"):
        bounded_replay(connector="orders", begins="", ends="", partitions="0")  # type: ignore[call-arg]


@pytest.mark.parametrize("group", [guarded_offset_change, guarded_fleet_change])
def test_a_change_says_where_to(group: Callable[..., TaskGroup]) -> None:
    """Left out by mistake, nothing would change, and the run would be a success."""
    with pytest.raises(TypeError, match="'to'"):
        group(connector="c") if group is guarded_offset_change else group(connectors="c")
