"""What can be imported from the public packages, and what editors and type checkers read of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("griffe", reason="the stubs are made with the dependency group docs")

from airflow_provider_connect_offsets import operators, sensors
from docs import reference_pages, stubs


@pytest.mark.parametrize("public", sorted(stubs.FILES))
def test_a_stub_is_current(public: str) -> None:
    """`make reference` writes it; mypy and pyright then find each of tests/airflow/mistakes.py (`make lint`)."""
    assert stubs.stub(public) == stubs.FILES[public].read_text()


def test_operators_can_be_imported_from_one_place() -> None:
    """All that the reference lists, under the name of their class, and nothing else."""
    listed = [name for names in reference_pages.OPERATORS.values() for name in names]

    assert sorted(dir(operators)) == sorted(operators.__all__) == sorted(listed)
    assert [getattr(operators, name).__name__ for name in listed] == listed
    assert [getattr(sensors, name).__name__ for name in sensors.__all__] == sensors.__all__
    with pytest.raises(AttributeError, match=r"operators' has no attribute 'StopOperator'$"):
        _ = operators.StopOperator  # type: ignore[attr-defined]


def test_what_a_dag_file_does_not_use_is_not_imported() -> None:
    """Spark's operator needs a second, which each DAG file with a single step would take to parse."""
    program = """if True:
        import sys
        from airflow_provider_connect_offsets.operators import StopConnectorOperator
        print([name for name in sys.modules if name.endswith((".spark_submit", ".operators.plan"))])
    """

    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert found.stdout.splitlines()[-1] == "[]"
