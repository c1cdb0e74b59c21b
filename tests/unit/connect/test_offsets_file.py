"""The standalone worker's file: read or refused, written as Java writes it, replaced atomically."""

from __future__ import annotations

import base64
import subprocess
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_connect_offsets.connect.storage.offsets_file import read_mappings, serialize, write_mappings
from airflow_provider_connect_offsets.exceptions import StoreDamaged
from sandbox.java import java

PAIRS = st.dictionaries(st.binary(max_size=40), st.none() | st.binary(max_size=40), max_size=30)
SOME = {b'["a",{"filename":"x"}]': b'{"position":4}', b'["b",{"filename":"y"}]': None, b'["c",{}]': b""}
READER = """
import java.io.*;
import java.util.*;

public class Reader {
    public static void main(String[] files) throws Exception {
        Base64.Encoder base64 = Base64.getEncoder();
        try (ObjectInputStream in = new ObjectInputStream(new FileInputStream(files[0]))) {
            Map<byte[], byte[]> map = (HashMap<byte[], byte[]>) in.readObject();
            for (Map.Entry<byte[], byte[]> pair : map.entrySet()) {
                String value = pair.getValue() == null ? "null" : base64.encodeToString(pair.getValue());
                System.out.println(base64.encodeToString(pair.getKey()) + " " + value);
            }
            try (ObjectOutputStream out = new ObjectOutputStream(new FileOutputStream(files[1]))) {
                out.writeObject(new HashMap<>(map));
            }
        }
    }
}
"""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for many small files."""
    return tmp_path_factory.mktemp("files")


@given(pairs=PAIRS)
@settings(max_examples=60)
def test_what_is_written_can_be_read(scratch: Path, pairs: dict[bytes, bytes | None]) -> None:
    """Any bytes, in their order."""
    path = scratch / "some.offsets"
    path.write_bytes(serialize(pairs))

    assert list(read_mappings(path).items()) == list(pairs.items())


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    """Wherever: Connect itself would go on without any offset."""
    path, whole = tmp_path / "cut.offsets", serialize(SOME)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreDamaged, match=r"cut\.offsets is no whole file"):
            read_mappings(path)


def test_a_file_with_a_wrong_bit_is_never_read_as_shorter(tmp_path: Path) -> None:
    """Refused, or as many entries as there are: a bit within a key or a value can't be seen to be wrong."""
    path, whole = tmp_path / "flipped.offsets", serialize(SOME)
    refused = 0
    for place, bit in product(range(len(whole)), range(8)):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        path.write_bytes(content)
        try:
            assert len(read_mappings(path)) == len(SOME)
        except StoreDamaged:
            refused += 1
    assert refused > len(whole)


@pytest.mark.parametrize("more", [b"\x00", b"p", b"x", serialize({})[4:]])
def test_nothing_may_follow(tmp_path: Path, more: bytes) -> None:
    """More than one map is no file of Connect's."""
    path = tmp_path / "longer.offsets"
    path.write_bytes(serialize(SOME) + more)

    with pytest.raises(StoreDamaged):
        read_mappings(path)


def test_a_real_java_reads_it_and_is_read(tmp_path: Path) -> None:
    """The JDK's own serialization, both ways."""
    program, ours, theirs = (tmp_path / name for name in ("Reader.java", "ours.offsets", "theirs.offsets"))
    program.write_text(READER)
    many = {f"key {number}".encode(): f"value {number}".encode() for number in range(50)}
    pairs = {**SOME, **many}
    ours.write_bytes(serialize(pairs))

    command = [str(java()), "-Xshare:auto", str(program), str(ours), str(theirs)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    lines = [line.split(" ") for line in printed.splitlines()]
    decode = base64.b64decode
    assert {decode(key): None if value == "null" else decode(value) for key, value in lines} == pairs
    assert read_mappings(theirs) == pairs


def test_an_empty_map_is_written_as_java_does() -> None:
    """With a table of 16 and a threshold of 0."""
    assert serialize({}).endswith(b"xp\x3f\x40\x00\x00\x00\x00\x00\x00w\x08\x00\x00\x00\x10\x00\x00\x00\x00x")


def test_it_is_replaced_at_once_and_the_old_one_kept(tmp_path: Path) -> None:
    """Each copy has a name of its own; nothing else is left beside it."""
    path = tmp_path / "connect.offsets"

    assert write_mappings(path, SOME) is None
    first = write_mappings(path, {})
    second = write_mappings(path, SOME)

    assert first is not None
    assert second is not None
    assert (read_mappings(first), read_mappings(second), read_mappings(path)) == (SOME, {}, SOME)
    assert sorted(found.name for found in tmp_path.iterdir()) == [
        "connect.offsets",
        "connect.offsets.001.bak",
        "connect.offsets.002.bak",
    ]
