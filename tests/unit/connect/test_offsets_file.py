"""The standalone worker's file: read or refused, written as by Java, replaced atomically."""

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
    """Any bytes can be written and read, in their order."""
    path = scratch / "some.offsets"
    path.write_bytes(serialize(pairs))

    assert list(read_mappings(path).items()) == list(pairs.items())


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    """It may be cut off at any byte. Connect itself would continue without offsets."""
    path, whole = tmp_path / "cut.offsets", serialize(SOME)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreDamaged, match=r"cut\.offsets isn't a complete offsets file"):
            read_mappings(path)


def test_a_file_with_a_wrong_bit_is_never_read_as_shorter(tmp_path: Path) -> None:
    """It is refused or has all entries: a wrong bit within a key or value is not detectable."""
    path, whole = tmp_path / "flipped.offsets", serialize(SOME)
    refused = 0
    for index, bit in product(range(len(whole)), range(8)):
        content = bytearray(whole)
        content[index] ^= 1 << bit
        path.write_bytes(content)
        try:
            assert len(read_mappings(path)) == len(SOME)
        except StoreDamaged:
            refused += 1
    assert refused > len(whole)


@pytest.mark.parametrize("more", [b"\x00", b"p", b"x", serialize({})[4:]])
def test_nothing_may_follow(tmp_path: Path, more: bytes) -> None:
    """A file with more than one map is not Connect's."""
    path = tmp_path / "longer.offsets"
    path.write_bytes(serialize(SOME) + more)

    with pytest.raises(StoreDamaged):
        read_mappings(path)


def test_a_real_java_reads_it_and_is_read(tmp_path: Path) -> None:
    """The JDK's own serialization reads and writes the same."""
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


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xac\xed\x00\x05" + b"w\x00" * 3_000_000, "content other than one map"),
        (b"\xac\xed\x00\x05ur\x00\x02[I" + bytes(8) + b"\x02\x00\x00xp\x05\xf5\xe1\x00", "content other than one map"),
        (serialize({b"": None})[:-6] + b"\x7f\xff\xff\xff" + b"px", "does not have 2147483647 bytes"),
        (serialize({}).replace(b"\x00\x00\x00\x00x", b"\x7f\xff\xff\xffx"), "isn't a byte array"),
        (serialize(SOME).replace(b"[B", b"[I"), r"something other than \[B"),
        (serialize(SOME).replace(b"java.util.HashMap", b"org.evil.Gadget!!"), "something other than java.util.HashMap"),
    ],
    ids=["empty blocks", "100 M elements", "2 GiB", "2 G entries", "another array", "another class"],
)
def test_no_content_costs_more_than_its_bytes(tmp_path: Path, content: bytes, why: str) -> None:
    """Three million empty blocks took a library 43 s, and an array that declared 100 M elements did not end."""
    path = tmp_path / "bomb.offsets"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=why):
        read_mappings(path)


def test_an_array_may_occur_twice(tmp_path: Path) -> None:
    """Java refers to an object that it has written before."""
    path = tmp_path / "shared.offsets"
    same = serialize({b"a": b"x"})[:-1].replace(
        b"\x00\x00\x00\x10\x00\x00\x00\x01", b"\x00\x00\x00\x10\x00\x00\x00\x02"
    )
    path.write_bytes(same + b"uq\x00\x7e\x00\x02\x00\x00\x00\x01b" + b"q\x00\x7e\x00\x04" + b"x")

    assert read_mappings(path) == {b"a": b"x", b"b": b"x"}


def test_a_backup_is_as_secret_as_the_file(tmp_path: Path) -> None:
    """It has the file's mode, whatever the umask is."""
    path = tmp_path / "connect.offsets"
    write_mappings(path, SOME)
    for mode in (0o600, 0o640):
        path.chmod(mode)
        backup = write_mappings(path, {})
        assert backup is not None
        assert (backup.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (mode, mode)


def test_an_empty_map_is_written_as_java_does() -> None:
    """It has a table of 16 and a threshold of 0."""
    assert serialize({}).endswith(b"xp\x3f\x40\x00\x00\x00\x00\x00\x00w\x08\x00\x00\x00\x10\x00\x00\x00\x00x")


def test_it_is_replaced_at_once_and_the_old_one_kept(tmp_path: Path) -> None:
    """Each backup has an own name; no other file is left."""
    path = tmp_path / "connect.offsets"

    assert write_mappings(path, SOME) is None
    first = write_mappings(path, {})
    second = write_mappings(path, SOME)

    assert first is not None
    assert second is not None
    assert (read_mappings(first), read_mappings(second), read_mappings(path)) == (SOME, {}, SOME)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "connect.offsets",
        "connect.offsets.001.bak",
        "connect.offsets.002.bak",
    ]
