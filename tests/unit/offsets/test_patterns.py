"""Invalid regular expressions, and those that only Java knows: one readable error, wherever they come from."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest

import airflow_provider_connect_offsets
from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidRequest, UnreadablePattern
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.observe.waiting import consumes
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanSearch
from airflow_provider_connect_offsets.offsets.requests.patterns import NamePattern, configured_pattern, typed_pattern
from airflow_provider_connect_offsets.offsets.requests.place import Awaited, AwaitedLag
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.fleet import select
from sandbox.java import java

NOW = datetime(2026, 1, 31, tzinfo=UTC)
MIRROR = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"}


def failover(**patterns: Any) -> FailoverRequest:
    return FailoverRequest.parse(planned=True, flow=Flow(), source_connector="m", **({"groups": ".*"} | patterns))


TYPED: dict[str, Callable[[str], object]] = {
    "topics": lambda text: Request.parse(connector="c", to="earliest", topics=text, now=NOW),
    "topics of a sensor": lambda text: Awaited.parse(topics=text),
    "topics of a lag": lambda text: AwaitedLag.parse(topics=text),
    "topics of a failover": lambda text: failover(topics=text),
    "groups of a failover": lambda text: failover(groups=text),
    "rewind": lambda text: failover(rewind=text),
    "groups": lambda text: ReadinessRequest.parse(
        source_connector="m", checkpoint_connector="", groups=text, thresholds={}
    ),
    "groups of a cluster": lambda text: ConsumerGroups({"bootstrap.servers": "127.0.0.1:1"}).list_groups(text),
    "connectors": lambda text: select(["c"], text),
}


@pytest.mark.parametrize("param", TYPED)
@pytest.mark.parametrize(
    "text",
    [
        "a(",
        r"\p{Alpha}+",
        "a{99999999999}",
        "(" * 5000 + ")" * 5000,
        "(?P<n>a)",
        "(?#c)a",
        "(?ia)b",
        "a{,3}",
        "a{e}",
        "[[a]]",
    ],
)
def test_an_invalid_typed_pattern_is_refused_in_one_sentence(param: str, text: str) -> None:
    """It names the parameter; nothing is touched before."""
    with pytest.raises(InvalidRequest, match="is not a regular expression: ") as caught:
        TYPED[param](text)

    assert str(caught.value).startswith(f"{param.split(maxsplit=1)[0]}: {text!r}")


def test_a_pattern_for_orphans_may_be_javas() -> None:
    """Only Spark matches their names."""
    assert OrphanSearch.parse(connectors=r"\p{Alpha}+").connectors == r"\p{Alpha}+"


@pytest.mark.parametrize("text", [r"\p{Alpha}+", r"\Qa.b\E", "(?<name>a)", "[a-z&&[^b]]", "[a[bc]]", r"a\h"])
def test_a_connectors_pattern_that_only_java_knows_is_named(text: str) -> None:
    """The error is neither Python's nor a guess: the topics are unknown."""
    info = ConnectorInfo("mirror", ConnectorType.SOURCE, {**MIRROR, "topics": f"orders,{text}"})

    with pytest.raises(UnreadablePattern, match=r"'mirror' is configured to choose topics by .* Nothing was changed"):
        consumes(info)
    with pytest.raises(UnreadablePattern, match="Java can match this pattern"):
        configured_pattern(text, connector="mirror")


@pytest.mark.parametrize(
    "text", [r"a\.b", "[a-z]+", r"\[a", "[^]a]", "[a]|[b]", "(?:a|b)*+", r"[\[]", "[{]", r"\{\(\?#", "[]{(?#]"]
)
def test_a_pattern_that_both_read_alike_is_used(text: str) -> None:
    """A bracket counts only if it opens a class."""
    assert configured_pattern(text, connector="c").pattern == text


@pytest.mark.parametrize("param", ["topics", "connectors"])
def test_a_pattern_that_takes_too_long_is_refused(param: str) -> None:
    """It must not hold the interpreter: other threads go on meanwhile, such as the task's heartbeat."""
    ticks: list[float] = []
    done = Event()

    def tick() -> None:
        while not done.wait(0.01):
            ticks.append(monotonic())

    others = Thread(target=tick)
    others.start()
    try:
        with pytest.raises(InvalidRequest, match=rf"^{param}: '\(a\|a\)\+b' can't be matched with 'a+' within 1 s"):
            typed_pattern("(a|a)+b", param=param).matches("a" * 60)
    finally:
        done.set()
        others.join()
    assert len(ticks) > 10


def test_so_is_that_of_a_configuration() -> None:
    """As one that can't be read: its topics are unknown."""
    selects = consumes(ConnectorInfo("mirror", ConnectorType.SOURCE, {**MIRROR, "topics": "(a|a)+b"}))
    assert selects is not None
    with pytest.raises(UnreadablePattern, match="the topics of 'mirror'"):
        selects("a" * 60)


PIECES = [
    *(
        "a",
        "b",
        ".",
        "[ab]",
        "[^b]",
        "[]a]",
        "(a|b)",
        "(?:ab?)",
        "(?=a)",
        "(?!b)",
        "(?<=a)",
        r"\1",
        r"\.",
        r"\w",
        "^",
        "$",
    ),
    *(
        "*",
        "+",
        "?",
        "{2}",
        "{1,2}",
        "{,2}",
        "{",
        "}",
        "|",
        "(?i)",
        "(?:",
        ")",
        "(",
        "]",
        "[",
        "&&",
        "*?",
        "++",
        "A",
        "-",
    ),
]
NAMES = ["", "a", "b", "ab", "aab", "abab", "A", ".", "a.b", "{2}", "a{,2}", "]", "ba-"]
MATCHER = """
import java.nio.file.*;
import java.util.regex.*;

public class Selects {
    public static void main(String[] files) throws Exception {
        String[] names = Files.readString(Path.of(files[1])).split("\\n", -1);
        for (String pattern : Files.readAllLines(Path.of(files[0]))) {
            StringBuilder line = new StringBuilder();
            try {
                Pattern compiled = Pattern.compile(pattern);
                for (String name : names) line.append(compiled.matcher(name).matches() ? "1" : "0");
            } catch (PatternSyntaxException refused) {
                line.append("refused");
            }
            System.out.println(line);
        }
    }
}
"""


@pytest.mark.filterwarnings("ignore:Possible (set|nested):FutureWarning")
def test_python_and_java_select_the_same(tmp_path: Path) -> None:
    """Whatever is not refused: Python's own engine, the one that ends, and Java's."""
    rng = Random(7)
    accepted: list[NamePattern] = []
    while len(accepted) < 1500:
        text = "".join(rng.choices(PIECES, k=rng.randint(1, 6)))
        with suppress(InvalidRequest):
            accepted.append(typed_pattern(text, param="topics"))
    program, patterns, names = (tmp_path / name for name in ("Selects.java", "patterns.txt", "names.txt"))
    program.write_text(MATCHER)
    patterns.write_text("\n".join(one.pattern for one in accepted))
    names.write_text("\n".join(NAMES))

    command = [str(java()), "-Xshare:auto", str(program), str(patterns), str(names)]
    javas = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    def selected(matches: Callable[[str], object]) -> str:
        return "".join("1" if matches(name) else "0" for name in NAMES)

    ours = [selected(one.matches) for one in accepted]
    assert ours == [selected(re.compile(one.pattern).fullmatch) for one in accepted]
    differing = [
        (one.pattern, mine, theirs) for one, mine, theirs in zip(accepted, ours, javas, strict=True) if mine != theirs
    ]
    assert not differing


# Patterns that nobody types: our own by a table, by a separator, and the allowlist of a worker's own file.
OWN = {"offsets/requests/patterns.py", "offsets/requests/request.py", "offsets/flow.py"}
OWN |= {"connect/storage/java/config_providers.py"}


def test_no_other_module_matches_what_someone_typed() -> None:
    """Python's engine takes no time limit."""
    package = Path(airflow_provider_connect_offsets.__file__).parent
    matching = set()
    for path in package.rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            called = ast.unparse(call.func)
            if not called.startswith("re.") or called == "re.escape" or not call.args:
                continue
            if isinstance(call.args[0], ast.Name) and not call.args[0].id.isupper():
                matching.add(str(path.relative_to(package)))
    assert matching == OWN
