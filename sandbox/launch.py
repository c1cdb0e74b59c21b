"""How a Kafka server is called on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sandbox.jars import kafka_jars
from sandbox.java import java

# Small heap, no second compiler tier and the collector with the least threads: quick to start, three fit in 1 GB.
# No performance data: the JVM keeps it in a file outside the sandbox that a killed process leaves behind.
_OPTIONS = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Djava.awt.headless=true")


def kafka_command(main_class: str, arguments: Sequence[str], *, home: Path) -> list[str]:
    """The command that runs one of Kafka's main classes, with its logging and scratch files in ``home``."""
    scratch = home / "tmp"
    scratch.mkdir(exist_ok=True)
    logging = home / "log4j2.properties"
    logging.write_text(_LOGGING)
    return [
        str(java()),
        *_OPTIONS,
        f"-Djava.io.tmpdir={scratch}",
        f"-Dlog4j2.configurationFile={logging}",
        "-cp",
        f"{kafka_jars()}/*",
        main_class,
        *arguments,
    ]


_LOGGING = """\
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
