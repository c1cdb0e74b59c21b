"""Properties files, read as by Java."""

from __future__ import annotations

import re
from pathlib import Path

import javaproperties
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from airflow_provider_connect_offsets.connect.storage.java.properties import read_properties
from airflow_provider_connect_offsets.exceptions import InvalidInput
from tests.support.programs.java_program import ask_java

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JAVA = """
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

public class Program {
    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<Map<String, String>> answers = new ArrayList<>();
        for (String text : json.readValue(new File(files[0]), String[].class)) {
            Properties properties = new Properties();
            properties.load(new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1)));
            answers.add(new TreeMap<String, String>((Map) properties));
        }
        json.getFactory().configure(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature(), true);
        System.out.println(json.writeValueAsString(answers));
    }
}
"""
# Where a line is a backslash alone, Java takes the next for a comment if it looks like one, and the last for a key.
ALONE = re.compile(r"(?:^|[\r\n])[ \t\f]*\\(?:[\r\n]|$)")
FORMS = [
    "a=b",
    "a:b",
    "a b",
    "a = b ",
    "a\\ b=c",
    "a\\=b\\:c=d",
    "a",
    "a=",
    "=b",
    "# no\n! no\na=b",
    "a=b\\\n   c",
    "a=b\\\\\nc=d",
    "a=b\\\r\n\t c\r\nd=e",
    "a=\\u00e9\\t\\n\\q",
    "a=1\na=2",
    "a=\xe9",
    "a\t\f=\f b",
    "a==b",
    "a=#b",
    "  \\\n  a=b",
    "a=b\\",
    "a = b \\\n  # c",
    "#no\\\na=b",
    "a=\\uD83D\\uDE00",
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for many small files."""
    return tmp_path_factory.mktemp("properties")


def read(folder: Path, text: str) -> dict[str, str]:
    path = folder / "some.properties"
    path.write_bytes(text.encode("latin-1"))
    return read_properties(path)


@given(pairs=st.dictionaries(TEXT, TEXT, max_size=6))
@settings(max_examples=100)
def test_what_is_written_is_read(scratch: Path, pairs: dict[str, str]) -> None:
    """Any keys and values can be written and read."""
    assert read(scratch, javaproperties.dumps(pairs, timestamp=None)) == pairs


def test_every_form_is_read_as_java_reads_it(scratch: Path) -> None:
    """The JDK's own Properties agree on each."""
    texts: list[str] = []
    pieces = st.sampled_from(["a", "b", "=", ":", " ", "\t", "\f", "\\", "\n", "\r", "#", "!", "\\u0041", "\xe9"])

    @given(parts=st.lists(pieces, max_size=14))
    @settings(max_examples=300, database=None)
    def collect(parts: list[str]) -> None:
        text = "".join(parts)
        assume(not ALONE.search(text))
        texts.append(text)

    collect()
    every = [*FORMS, *texts]

    answers = ask_java(JAVA, scratch, every)

    for text, answer in zip(every, answers, strict=True):
        assert read(scratch, text) == answer, repr(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The error has file and reason, and shows no value."""
    with pytest.raises(InvalidInput, match=r"none\.properties: No such file"):
        read_properties(tmp_path / "none.properties")
    with pytest.raises(InvalidInput, match=r"properties file .*some\.properties: it has a \\u") as caught:
        read(tmp_path, "password=\\u00g0")

    assert "00g0" not in str(caught.value)
    assert caught.value.__suppress_context__
