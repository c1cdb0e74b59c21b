"""Stored offsets, compared with what Connect's own JsonConverter writes and reads, on random maps."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.storage import (
    in_java_order,
    key_bytes,
    parse_key,
    parse_value,
    value_bytes,
)
from tests.support.programs.java_program import ask_java

CASES = 300
CHARACTERS = "abcXYZ019_-. /\"\\\t\n\x00\x1f\x7fé中😀\u2028<>&'u"
NUMBERS = [0.0, 1.0, 0.1, 1e7, 9999999.0, 1e16, 0.001, 1e-5, 2.0**53]
#: What may be wrong in a text that no worker has written.
FLAWS = ["0", "1", "-", ".", "e5", "E400", " ", "\n", "null", "NaN", "{", "}", '"', ",", "\\ud800", "/**/", "#", "'"]
ODD = [
    b"",
    b"null",
    b" null ",
    b"[]",
    b"1",
    b'{"a":{"b":1}}',
    b'{"a":00012}',
    b'{"a":+1}',
    b'{"a":.5}',
    b'{"a":NaN}',
    b'{"a":1e999}',
    b'{"a":1,"a":2}',
    b'{"a":-0}',
    b'{"a":1.0}',
    b'{"a":1E2}',
    b'{"a":9223372036854775808}',
    b'{"a":-9223372036854775808}',
    b'{"a":0.1000000000000000055511151231257827}',
    b'{"a":"\xe9"}',
    b'{"a":"\\ud83d\\ude00"}',
    b'{"a":"\\ud83d"}',
    b'{"a":"\t"}',
    b'{"a":1}garbage',
]
JAVA = """
import com.fasterxml.jackson.databind.*;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.data.SchemaAndValue;

public class Program {
    static Object typed(JsonNode field) {
        String text = field.get(2).asText();
        switch (field.get(1).asText()) {
            case "long": return Long.valueOf(text);
            case "int": return Integer.valueOf(text);
            case "short": return Short.valueOf(text);
            case "byte": return Byte.valueOf(text);
            case "double": return Double.valueOf(text);
            case "float": return Float.valueOf(text);
            case "boolean": return Boolean.valueOf(text);
            case "null": return null;
            default: return text;
        }
    }

    static Map<String, Object> map(JsonNode fields) {
        Map<String, Object> map = new HashMap<>();
        for (JsonNode field : fields) map.put(field.get(0).asText(), typed(field));
        return map;
    }

    static String hex(byte[] bytes) {
        return bytes == null ? null : HexFormat.of().formatHex(bytes);
    }

    // Class and text of each value, as a connector is given them.
    static Object shown(Object value) {
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> fields = new TreeMap<>();
            map.forEach((name, one) -> fields.put((String) name, shown(one)));
            return fields;
        }
        return value == null ? "null" : value.getClass().getSimpleName() + " " + value;
    }

    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        JsonNode asked = json.readTree(new File(files[0]));
        JsonConverter key = new JsonConverter(), value = new JsonConverter();
        key.configure(Map.of("schemas.enable", "false"), true);
        value.configure(Map.of("schemas.enable", "false"), false);
        List<Object> written = new ArrayList<>(), read = new ArrayList<>();
        for (JsonNode one : asked.get("written")) {
            Object pair = Arrays.asList(one.get("connector").asText(), map(one.get("partition")));
            byte[] bytes = key.fromConnectData("topic", null, pair);
            written.add(List.of(hex(bytes), hex(value.fromConnectData("topic", null, map(one.get("offset"))))));
        }
        for (JsonNode text : asked.get("read")) {
            byte[] bytes = HexFormat.of().parseHex(text.asText());
            try {
                read.add(shown(value.toConnectData("topic", bytes).value()));
            } catch (Exception error) {
                read.add("refused");
            }
        }
        json.getFactory().configure(
            com.fasterxml.jackson.core.json.JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature(), true);
        System.out.println(json.writeValueAsString(Map.of("written", written, "read", read)));
    }
}
"""


class Maps:
    """Random partitions and offsets; the same for every run."""

    def __init__(self) -> None:
        self.random = random.Random(7)

    def text(self) -> str:
        """Any short string."""
        return "".join(self.random.choices(CHARACTERS, k=self.random.randint(0, 9)))

    def value(self) -> tuple[str, str]:
        """Java's type and the string of a value."""
        of = self.random
        kind = of.choice(["long", "int", "double", "float", "boolean", "null", "string", "string"])
        texts = {
            "long": str(of.choice([0, -1, 2**63 - 1, -(2**63), of.randint(0, 10**6)])),
            "int": str(of.randint(-(2**31), 2**31 - 1)),
            "double": repr(of.choice([*NUMBERS, of.uniform(-1e6, 1e6), of.uniform(-1, 1) * 10 ** of.randint(-30, 30)])),
            "float": repr(of.choice([0.5, -2.25, 1e10, 1048576.0])),
            "boolean": of.choice(["true", "false"]),
            "null": "",
            "string": self.text(),
        }
        return kind, texts[kind]

    def fields(self) -> list[list[str]]:
        """A map, as lists of name, type and string."""
        most = 30 if self.random.random() < 0.2 else 5
        names = {self.text() for _ in range(self.random.randint(0, most))}
        return [[name, *self.value()] for name in names]

    def raw(self) -> bytes:
        """A string that a worker has written, or a string with a flaw."""
        of = self.random
        numbers = [1, -5, 2**63 - 1, 2**63, 10**30, 1.5, 1e16, 1e-7]
        fields = {self.text(): of.choice([*numbers, None, True, self.text()]) for _ in range(of.randint(0, 3))}
        separators = of.choice([(",", ":"), (", ", ": ")])
        text = json.dumps(fields, ensure_ascii=of.random() < 0.5, separators=separators)
        at = of.randint(0, len(text))
        flawed = [text[:at] + of.choice(FLAWS) + text[at:], text[:at], text[:at] + text[at + 1 :]]
        return (text if of.random() < 0.5 else of.choice(flawed)).encode()


def has_one_order(fields: dict[str, Any]) -> bool:
    """Whether no two names share a bucket of a HashMap, where the order in which they were put counts."""
    return list(in_java_order(fields)) == list(in_java_order(dict(reversed(fields.items()))))


def shown(value: Any) -> Any:
    """A value as the Java program shows it; a fraction as Python's number."""
    if isinstance(value, dict):
        return {name: shown(field) for name, field in value.items()}
    if isinstance(value, float):
        return value
    if isinstance(value, bool):
        return f"Boolean {str(value).lower()}"
    return "null" if value is None else f"{'String' if isinstance(value, str) else 'Long'} {value}"


def of_java(value: Any) -> Any:
    """What the Java program shows, with fractions as Python's numbers."""
    if isinstance(value, dict):
        return {name: of_java(field) for name, field in value.items()}
    return float(value.removeprefix("Double ")) if value.startswith("Double ") else value


def read(raw: bytes) -> Any:
    """What is read here; None if the value is damaged."""
    try:
        offset = parse_value(raw)
    except InvalidDocument:
        return None
    return shown(None if offset is None else json.loads(offset))


def test_offsets_are_read_and_written_as_workers_do(tmp_path: Path) -> None:
    """JsonConverter's keys and values are read whole, and ours are the same bytes; what is read has its meaning.

    Texts that no worker writes may be damaged here and not there: then they are named, and not taken for others.
    """
    maps = Maps()
    written = [{"connector": maps.text(), "partition": maps.fields(), "offset": maps.fields()} for _ in range(CASES)]
    raws = [*ODD, *(maps.raw() for _ in range(CASES))]

    answers = ask_java(JAVA, tmp_path, {"written": written, "read": [raw.hex() for raw in raws]})

    for asked, pair in zip(written, answers["written"], strict=True):
        key, value = map(bytes.fromhex, pair)
        stored, offset = parse_key(key), parse_value(value)
        assert stored is not None, key
        assert stored.connector == asked["connector"]
        partition, fields = json.loads(stored.partition), json.loads(offset or "")
        if has_one_order(partition):
            assert key_bytes(stored.connector, partition) == key
        if has_one_order(fields):
            assert value_bytes(fields) == value
    for raw, answer in zip(raws, answers["read"], strict=True):
        here = read(raw)
        if here is not None:
            assert here == of_java(answer), raw
    assert [raw for raw in (b"", b"null", b" null ") if read(raw) != "null"] == []
