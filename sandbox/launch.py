"""Command lines of Kafka's servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sandbox.jars import KAFKA_VERSION, class_archive, kafka_jars, logs_by_log4j2
from sandbox.java import java

# Small heap, no second compiler tier and the collector with the least threads: quick to start, three fit in 1 GB.
# No performance data: the JVM keeps it in a file outside the sandbox that a killed process leaves behind.
OPTIONS = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Djava.awt.headless=true")


def kafka_command(
    main_class: str,
    arguments: Sequence[str],
    *,
    home: Path,
    version: str = KAFKA_VERSION,
    options: Sequence[str] = (),
) -> list[str]:
    """The command that runs one of Kafka's main classes with its log settings and scratch files in ``home``.

    ``options`` are further options of the JVM.
    """
    scratch = home / "tmp"
    scratch.mkdir(exist_ok=True)
    archive = class_archive(version)
    return [
        str(java()),
        *OPTIONS,
        *([f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []),
        f"-Djava.io.tmpdir={scratch}",
        _logging(home, version),
        *options,
        "-cp",
        f"{kafka_jars(version)}/*",
        main_class,
        *arguments,
    ]


def _logging(home: Path, version: str) -> str:
    """Write the settings of the version's logging library, and return the option that names them."""
    if logs_by_log4j2(version):
        path, text, option = home / "log4j2.properties", _LOG4J2, "log4j2.configurationFile={}"
    else:
        path, text, option = home / "log4j.properties", _RELOAD4J, "log4j.configuration=file:{}"
    path.write_text(text)
    return f"-D{option.format(path)}"


_LOG4J2 = """\
appenders = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %-5p %m (%c{1})%n%throwable
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
# Each client writes its whole configuration at INFO, some hundred lines a connector.
logger.config.name = org.apache.kafka.common.config
logger.config.level = WARN
"""

_RELOAD4J = """\
log4j.rootLogger = INFO, out
log4j.appender.out = org.apache.log4j.ConsoleAppender
log4j.appender.out.layout = org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern = %d{ISO8601} %-5p %m (%c{1})%n
log4j.logger.org.apache.kafka.common.config = WARN
"""
