"""sasl.jaas.config, parsed as by Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_connect_offsets.connect.storage.java.jaas import parse_jaas
from airflow_provider_connect_offsets.exceptions import InvalidInput
from tests.support.programs.java_program import ask_java

JAVA = """
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.*;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;

public class Program {
    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<Object> answers = new ArrayList<>();
        for (String text : json.readValue(new File(files[0]), String[].class)) {
            try {
                Map<String, Object> config = Map.of("sasl.jaas.config", new Password(text));
                AppConfigurationEntry entry = JaasContext.loadClientContext(config).configurationEntries().get(0);
                Map<String, Object> options = new TreeMap<>();
                entry.getOptions().forEach((name, value) -> options.put(name == null ? "" : name, value));
                answers.add(List.of(entry.getLoginModuleName(), options));
            } catch (RuntimeException refused) {
                answers.add(null);
            }
        }
        json.getFactory().configure(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature(), true);
        System.out.println(json.writeValueAsString(answers));
    }
}
"""
FORMS = [
    'a.B required username="me" password="x";',
    "a.B REQUIRED\n  username='m\"e'\n  password=x;",
    'a.B optional x="a\\"b\\\\c\\n\\t\\101\\477\\0" y=é;',
    'a.B required x="é€😀";',
    "a.B required;",
    "a.B required ;  // the end",
    "/* first */ a.B required /* x=1 */ y=2; # z",
    "a.B required keyTab=/etc/x\n;",
    "a.B required x=a/b\n y=2;",
    'a.B required x="unended\n;',
    "a.B required x=1",
    "a.B required x;",
    "a.B required x==1;",
    "a.B sometimes x=1;",
    "a.B required x=1; c.D required;",
    "a.B",
    "",
    ";",
    "a.B required 'x'=1;",
    "a.B required x=1 x=2;",
    "/\na.B required;",
    'a.B required serviceName="kafka" useKeyTab=true keyTab="/k" principal="c@EXAMPLE.COM";',
    "a.B required x='\\9\\8';",
    "a.B required x=\"\" y='';",
    "'a.B' 'required' x=1;",
]
PIECES = ["a", "=", ";", " ", "\n", '"', "'", "\\", "/", "*", "//", "/*", "*/", "7", "é", "\x85", "x=", 'y="b"', "\\n"]


def parsed(text: str) -> list[object] | None:
    """Return the parsed login in the form of the Java program's output."""
    try:
        login = parse_jaas(text)
    except InvalidInput:
        return None
    return [login.module, dict(login.options)]


def test_every_form_is_read_as_kafka_reads_it(tmp_path: Path) -> None:
    """Quotes, escapes, comments and mistakes: Kafka's own JaasContext agrees on each."""
    texts: list[str] = []

    @given(parts=st.lists(st.sampled_from(PIECES), max_size=10))
    @settings(max_examples=400, database=None)
    def collect(parts: list[str]) -> None:
        texts.append("a.B required " + "".join(parts) + ";")

    collect()
    every = [*FORMS, *texts]

    for text, answer in zip(every, ask_java(JAVA, tmp_path, every), strict=True):
        assert parsed(text) == answer, repr(text)


def test_an_option_is_read_whatever_its_characters() -> None:
    """Quotes and backslashes are escaped."""

    @given(value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n")))
    def holds(value: str) -> None:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        assert parse_jaas(f'a.B required password="{escaped}";').options == {"password": value}

    holds()


@pytest.mark.parametrize("text", ["a.B required password='s3cret'", "a.B s3cret;", "a.B required s3cret;"])
def test_a_mistake_shows_no_secret(text: str) -> None:
    """Neither the error nor the ``repr`` shows it."""
    with pytest.raises(InvalidInput) as caught:
        parse_jaas(text)

    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(parse_jaas("a.B required password=s3cret;"))
