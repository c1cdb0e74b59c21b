"""Whether the Spark that a task is about to start can run a job at all: looked up on the disk, nothing is started.

What is not known is not judged: a program of another name or place, a Java that ``conf/spark-env.sh`` chooses.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from importlib.metadata import Distribution, PackagePath, PathDistribution
from pathlib import Path

from packaging.version import Version

from airflow_provider_connect_offsets.exceptions import InvalidInput

#: The lowest Spark whose SQL the jobs use, and the lowest Java that it runs on.
SPARK, JAVA = Version("4.0.0"), 17
_CORE = re.compile(r"spark-core_[\d.]+-(\d.*)\.jar")
_JAVA_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


def refuse_unfit_spark(program: str, environment: Mapping[str, str]) -> None:
    """Raise :class:`InvalidInput`, with the command that mends it, if ``program`` can't run a job.

    It can't if it is missing, if Java is missing or too old, if its Spark is too old, or if pip has installed another
    version of pyspark-client over its pyspark. Like ``spark-class``, this looks at SPARK_HOME and JAVA_HOME first.

    Args:
        program: ``spark-submit``, by name or path.
        environment: Variables that it will get.
    """
    binary = shutil.which(program, path=environment.get("PATH"))
    if binary is None:
        raise _unfit(
            f"there is no {program} on the path of this Airflow worker.",
            f"Install Spark there: pip install {_pair(SPARK)}",
        )
    home = _home(Path(binary), environment)
    if home is None:
        return
    _refuse_java(home, environment)
    version = _version(home)
    if version is not None and version < SPARK:
        raise _unfit(
            f"Spark in {home} is {version}, but the jobs need {SPARK} or later.",
            f"Set SPARK_HOME and PATH to such a Spark, or install it: pip install {_pair(SPARK)}",
        )
    _refuse_mixture(home)


def _home(binary: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the folder of the Spark that ``binary`` starts, which has its jars; None: unknown."""
    if environment.get("SPARK_HOME"):
        return Path(environment["SPARK_HOME"])
    above = binary.resolve().parent.parent
    homes = [above, *above.glob("lib/python*/site-packages/pyspark")]
    return next((home for home in homes if (home / "jars").is_dir()), None)


def _version(home: Path) -> Version | None:
    found = [match[1] for jar in home.glob("jars/spark-core_*.jar") if (match := _CORE.fullmatch(jar.name))]
    return Version(found[0]) if len(found) == 1 and re.fullmatch(r"\d+(\.\d+)*", found[0]) else None


def _refuse_java(home: Path, environment: Mapping[str, str]) -> None:
    conf = Path(environment.get("SPARK_CONF_DIR") or home / "conf")
    if (conf / "spark-env.sh").exists():
        return
    java_home = environment.get("JAVA_HOME")
    java = shutil.which("java", path=f"{java_home}/bin" if java_home else environment.get("PATH"))
    install = "Install Java, for example: sudo apt-get install openjdk-17-jre-headless"
    if java is None:
        where = f"it is not in JAVA_HOME ({java_home})" if java_home else "it is not on the path"
        raise _unfit(f"Spark needs Java, but on this Airflow worker {where}.", install)
    release = Path(java).resolve().parent.parent / "release"
    found = _JAVA_VERSION.search(release.read_text()) if release.is_file() else None
    if found is not None and int(found[1]) < JAVA:
        raise _unfit(
            f"Spark needs Java {JAVA} or later, but {java} is Java {found[1]}.",
            f"Set JAVA_HOME to such a Java. {install}",
        )


def _refuse_mixture(home: Path) -> None:
    """Raise if the Python files of ``home``'s pyspark are no longer its own.

    pyspark-client writes files of the same names. The Spark provider 6 requires it, and nothing holds the two at the
    same version. If pyspark was installed last, all is well.
    """
    own, other = (_find_installed(home.parent, name) for name in ("pyspark", "pyspark_client"))
    if own is None or other is None or own.version == other.version:
        return
    files = (file for file in own.files or () if file.parts[:2] == ("pyspark", "sql") and file.suffix == ".py")
    if any(_is_replaced(file) for file in files):
        raise _unfit(
            f"in {home.parent}, files of pyspark-client {other.version} have replaced files of pyspark {own.version}. "
            "A mixture of two versions fails in the middle of a job.",
            "Install the same version of both: pip install --force-reinstall --no-deps "
            f"{_pair(min(Version(own.version), Version(other.version)))}",
        )


def _find_installed(packages: Path, name: str) -> Distribution | None:
    return next((PathDistribution(path) for path in packages.glob(f"{name}-*.dist-info")), None)


def _is_replaced(file: PackagePath) -> bool:
    """Whether a file's content is no longer what its distribution has written."""
    path = Path(str(file.locate()))
    if not path.is_file():
        return True
    if file.hash is None:
        return False
    content = hashlib.new(file.hash.mode, path.read_bytes()).digest()
    return urlsafe_b64encode(content).decode().rstrip("=") != file.hash.value


def _unfit(wrong: str, mend: str) -> InvalidInput:
    return InvalidInput(f"Nothing was changed, and Spark was not started: {wrong} {mend}")


def _pair(version: Version) -> str:
    return f"pyspark=={version} pyspark-client=={version}"
