"""A Spark that can't run a job is named before it is started, with the command that mends it."""

from __future__ import annotations

import os
import shutil
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pyspark
import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.shared.spark_installation import refuse_unfit_spark
from tests.support.airflow.orphan_runs import execute

BY_PIP = Path(sys.executable).with_name("spark-submit")


@pytest.fixture
def java(tmp_path: Path) -> Callable[[str], str]:
    """Make a Java of a version, which is never started; gives its home."""

    def made(number: str) -> str:
        home = tmp_path / f"java-{number}"
        _program(home / "bin/java")
        (home / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{number}"\n')
        return str(home)

    return made


@pytest.fixture
def spark(tmp_path: Path) -> Callable[[str], Path]:
    """Make a Spark as it is unpacked from its archive; gives its home."""

    def made(number: str) -> Path:
        home = tmp_path / f"spark-{number}"
        _program(home / "bin/spark-submit")
        (home / "jars").mkdir()
        (home / "jars" / f"spark-core_2.13-{number}.jar").touch()
        return home

    return made


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Path]:
    """Make a virtual environment with pyspark and pyspark-client, in the order in which they are installed."""

    def made(**versions: str) -> Path:
        site = tmp_path / "venv/lib/python3.11/site-packages"
        for name, number in versions.items():
            _install(site, name, number)
        jars = site / "pyspark/jars"
        jars.mkdir()
        (jars / f"spark-core_2.13-{versions['pyspark']}.jar").touch()
        return _program(tmp_path / "venv/bin/spark-submit")

    return made


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


def _install(site: Path, name: str, number: str) -> None:
    """Write a module and its record, as pip does with both distributions: over each other."""
    module, info = Path("pyspark/sql/udf.py"), Path(f"{name}-{number}.dist-info")
    content = f"version = {number!r}\n".encode()
    digest = urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")
    for path in (module, info / "METADATA"):
        (site / path).parent.mkdir(parents=True, exist_ok=True)
    (site / module).write_bytes(content)
    (site / info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
    (site / info / "RECORD").write_text(f"{module},sha256={digest},{len(content)}\n{info}/METADATA,,\n")


def _refused(program: Path | str, **environment: str) -> str:
    with pytest.raises(InvalidInput, match=r"^Nothing was changed, and Spark was not started: ") as refused:
        refuse_unfit_spark(str(program), environment)
    return str(refused.value)


def test_the_installed_one_is_fit() -> None:
    """The one with which the tests run, with the same Java."""
    refuse_unfit_spark(str(BY_PIP), os.environ)
    refuse_unfit_spark("spark-submit", {**os.environ, "PATH": f"{BY_PIP.parent}{os.pathsep}{os.environ['PATH']}"})


def test_no_program(tmp_path: Path) -> None:
    """It says what to install."""
    assert "there is no spark-submit on the path of this Airflow worker. Install Spark there: pip install" in _refused(
        "spark-submit", PATH=str(tmp_path)
    )


def test_no_java(tmp_path: Path) -> None:
    """JAVA_HOME comes first, as for Spark, even if a Java is on the path."""
    assert "it is not on the path. Install Java" in _refused(BY_PIP, PATH=str(tmp_path))
    assert f"it is not in JAVA_HOME ({tmp_path}). Install Java" in _refused(
        BY_PIP, PATH=os.environ["PATH"], JAVA_HOME=str(tmp_path)
    )


@pytest.mark.parametrize(("number", "major"), [("1.8.0_392", 8), ("11.0.21", 11), ("16", 16)])
def test_an_old_java(java: Callable[[str], str], number: str, major: int) -> None:
    """A Java before 17 is refused, and the error names its version."""
    home = java(number)

    assert f"Spark needs Java 17 or later, but {home}/bin/java is Java {major}." in _refused(BY_PIP, JAVA_HOME=home)


@pytest.mark.parametrize("number", ["17.0.9", "21", "25.0.1"])
def test_a_java_that_will_do(java: Callable[[str], str], number: str) -> None:
    """Later versions are accepted, too; Spark says what it does not support."""
    refuse_unfit_spark(str(BY_PIP), {"JAVA_HOME": java(number)})


def test_what_conf_chooses_is_not_judged(spark: Callable[[str], Path], tmp_path: Path) -> None:
    """``spark-env.sh`` may set JAVA_HOME."""
    program = spark("4.0.1") / "bin/spark-submit"
    (tmp_path / "spark-env.sh").touch()

    refuse_unfit_spark(str(program), {"PATH": str(tmp_path), "SPARK_CONF_DIR": str(tmp_path)})
    assert "it is not on the path" in _refused(program, PATH=str(tmp_path))


def test_an_old_spark(spark: Callable[[str], Path], java: Callable[[str], str]) -> None:
    """Of the folder that the program is in, or of SPARK_HOME."""
    old, home = spark("3.5.1"), java("17")

    assert f"Spark in {old} is 3.5.1, but the jobs need 4.0.0 or later." in _refused(
        old / "bin/spark-submit", JAVA_HOME=home
    )
    assert f"Spark in {old} is 3.5.1" in _refused(BY_PIP, JAVA_HOME=home, SPARK_HOME=str(old))
    refuse_unfit_spark(str(spark("4.1.0") / "bin/spark-submit"), {"JAVA_HOME": home})


def test_pyspark_client_over_pyspark(environment: Callable[..., Path], java: Callable[[str], str]) -> None:
    """What a plain installation gives: the client comes last, in another version."""
    said = _refused(environment(pyspark="4.3.0", pyspark_client="4.2.0"), JAVA_HOME=java("17"))

    assert "files of pyspark-client 4.2.0 have replaced files of pyspark 4.3.0" in said
    assert said.endswith("pip install --force-reinstall --no-deps pyspark==4.2.0 pyspark-client==4.2.0")


def test_pyspark_over_pyspark_client(environment: Callable[..., Path], java: Callable[[str], str]) -> None:
    """Then all files are pyspark's own, and it works."""
    refuse_unfit_spark(str(environment(pyspark_client="4.2.0", pyspark="4.3.0")), {"JAVA_HOME": java("17")})


def test_the_task_fails_in_one_sentence(
    workspace: str, connection: Callable[..., None], spark: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not tried again, as nothing changes by itself."""
    connection("spark_default", conn_type="spark", host="local[1]")
    monkeypatch.setenv("SPARK_HOME", str(spark("3.5.1")))
    plan = PlanConnectorOffsetsOperator(task_id="plan", run_uri=f"{workspace}/run")

    with pytest.raises(AirflowFailException, match=r"Spark in .* is 3\.5\.1, but the jobs need 4\.0\.0 or later"):
        execute(plan)


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str | None, dict[str, str]]]:
    """The program and the variables of each spark-submit, none of which is on the path, and none of which runs."""
    seen: list[tuple[str | None, dict[str, str]]] = []
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/java").symlink_to(str(shutil.which("java")))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("SPARK_HOME", raising=False)

    def execute_nothing(operator: SparkSubmitOperator, context: object) -> None:
        del context
        seen.append((operator._spark_binary, dict(operator.env_vars or {})))
        raise AirflowFailException("not started")

    monkeypatch.setattr(SparkSubmitOperator, "execute", execute_nothing)
    return seen


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_the_spark_of_pip_needs_no_path(
    workspace: str,
    connection: Callable[..., None],
    submitted: list[tuple[str | None, dict[str, str]]],
    mode: str,
) -> None:
    """Its spark-submit would ask the first python3 on the path where Spark is, and run the driver with it."""
    connection("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": mode})

    with pytest.raises(AirflowFailException, match="not started"):
        execute(PlanConnectorOffsetsOperator(task_id="plan", run_uri=f"{workspace}/run"))

    [(program, variables)] = submitted
    assert program == str(BY_PIP)
    assert variables["SPARK_HOME"] == str(Path(pyspark.__file__).parent)
    assert variables.get("PYSPARK_DRIVER_PYTHON") == (sys.executable if mode == "client" else None)
    assert "PYSPARK_PYTHON" not in variables


def test_the_program_of_the_connection_comes_first(
    workspace: str,
    connection: Callable[..., None],
    submitted: list[tuple[str | None, dict[str, str]]],
) -> None:
    """Though pip has installed another one beside this Python. Here it is missing, and so it is refused."""
    connection("spark_default", conn_type="spark", host="yarn", extra={"spark-binary": "spark3-submit"})

    with pytest.raises(AirflowFailException, match="there is no spark3-submit on the path"):
        execute(PlanConnectorOffsetsOperator(task_id="plan", run_uri=f"{workspace}/run"))

    assert submitted == []
