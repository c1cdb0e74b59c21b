"""Datasets are complete and have their columns, or are refused."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.workspace import datasets, files, schemas
from airflow_provider_connect_offsets.workspace.datasets import (
    arrow_schema,
    each_read_once,
    is_finished,
    read_dataset,
    read_dataset_if_any,
    read_newest,
    write_dataset,
    write_newest,
    write_parts,
)
from airflow_provider_connect_offsets.workspace.paths import MARKER, join

ALL = [
    schemas.CONNECTORS,
    schemas.CONNECTOR_OFFSETS,
    schemas.LOG_BOUNDS,
    schemas.OFFSET_PLAN,
    schemas.VERDICTS,
    schemas.STORED_RECORDS,
    schemas.ORPHANS,
]
OF_GROUPS = [schemas.PRIOR_GROUP_OFFSETS, schemas.DELETED_GROUP_OFFSETS]
VALUES = {
    schemas.ColumnKind.STRING: "ä\n",
    schemas.ColumnKind.INT: 2**31 - 1,
    schemas.ColumnKind.LONG: 2**63 - 1,
    schemas.ColumnKind.BINARY: b"\x00\xff",
    schemas.ColumnKind.BOOLEAN: True,
    schemas.ColumnKind.TIMESTAMP: datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC),
}


def full_row(schema: schemas.Schema) -> dict[str, Any]:
    return {column.name: VALUES[column.kind] for column in schema.columns}


def sparse_row(schema: schemas.Schema) -> dict[str, Any]:
    return {column.name: None if column.nullable else VALUES[column.kind] for column in schema.columns}


@pytest.mark.parametrize("schema", [*ALL, *OF_GROUPS], ids=lambda schema: schema.name)
def test_what_is_written_is_read(schema: schemas.Schema, tmp_path: Path) -> None:
    """Every value of every column, including extremes, on disk and elsewhere."""
    rows = [full_row(schema), sparse_row(schema)]
    for uri in (str(tmp_path / schema.name), f"memory://{uuid.uuid4().hex}/{schema.name}"):
        assert write_dataset(uri, schema, rows) == 2
        assert read_dataset(uri, schema) == rows


def test_only_rows_with_the_values_are_read(tmp_path: Path) -> None:
    """They are read in order; a value that no row has is no error."""
    uri = str(tmp_path / "d")
    rows = [{**full_row(schemas.VERDICTS), "connector": name, "rule": rule} for name, rule in ("ax", "bx", "ay", "cx")]
    write_dataset(uri, schemas.VERDICTS, rows)

    assert read_dataset(uri, schemas.VERDICTS, connector=("a", "c")) == [rows[0], rows[2], rows[3]]
    assert read_dataset(uri, schemas.VERDICTS, connector=("a",), rule=("y",)) == [rows[2]]
    assert read_dataset(uri, schemas.VERDICTS, connector=("ä",)) == []


def test_rows_of_many_are_read_once(tmp_path: Path) -> None:
    """In the block they are those of the first look, with or without rows; behind it they are read again."""
    uri, missing = str(tmp_path / "d"), str(tmp_path / "missing")
    rows = [{**full_row(schemas.VERDICTS), "connector": name} for name in "aba"]
    write_dataset(uri, schemas.VERDICTS, rows)

    with each_read_once():
        assert read_dataset(uri, schemas.VERDICTS, connector=("a",)) == [rows[0], rows[2]]
        files.remove_tree(uri)
        assert read_dataset(uri, schemas.VERDICTS, connector=("b", "c")) == [rows[1]]
        assert read_dataset_if_any(uri, schemas.VERDICTS, connector=("b",)) == [rows[1]]
        assert read_dataset_if_any(missing, schemas.VERDICTS, connector=("b",)) == []

    assert read_dataset_if_any(uri, schemas.VERDICTS, connector=("b",)) == []
    with pytest.raises(DatasetError, match="does not exist"):
        read_dataset(uri, schemas.VERDICTS, connector=("b",))


def test_what_a_killed_removal_leaves_is_not_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a dataset, and of a directory that has several."""

    def die(*_arguments: object, **_named: object) -> None:
        raise SystemExit(137)

    nested = [str(tmp_path / "run" / name) for name in ("a", "b")]
    for uri in nested:
        write_dataset(uri, schemas.VERDICTS, [full_row(schemas.VERDICTS)])
    monkeypatch.setattr(LocalFileSystem, "rm", die)

    with pytest.raises(SystemExit):
        files.remove_tree(nested[0])
    assert [is_finished(uri) for uri in nested] == [False, True]
    with pytest.raises(SystemExit):
        files.remove_tree(str(tmp_path / "run"))
    assert not any(is_finished(uri) for uri in nested)
    assert "part-00000.parquet" in files.list_names(nested[1])


def test_an_empty_dataset_is_one(tmp_path: Path) -> None:
    """A dataset may have no rows."""
    assert write_dataset(str(tmp_path / "d"), schemas.VERDICTS, []) == 0
    assert read_dataset(str(tmp_path / "d"), schemas.VERDICTS) == []


def test_writing_replaces(tmp_path: Path) -> None:
    """Nothing of the earlier dataset is left."""
    uri = str(tmp_path / "d")
    write_dataset(uri, schemas.VERDICTS, [full_row(schemas.VERDICTS)] * 3)
    files.write_bytes(join(uri, "part-00001.parquet"), b"left by somebody")

    write_dataset(uri, schemas.VERDICTS, [sparse_row(schemas.VERDICTS)])

    assert read_dataset(uri, schemas.VERDICTS) == [sparse_row(schemas.VERDICTS)]


def test_many_rows_are_written_and_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They keep their order, and no row is lost between batches."""
    monkeypatch.setattr(datasets, "_BATCH", 3)
    rows = [{**full_row(schemas.STORED_RECORDS), "log_offset": offset} for offset in range(10)]
    uri = str(tmp_path / "d")

    assert write_dataset(uri, schemas.STORED_RECORDS, iter(rows)) == 10
    assert [row["log_offset"] for row in datasets.iterate_dataset(uri, schemas.STORED_RECORDS)] == list(range(10))


def test_parts_are_one_dataset(tmp_path: Path) -> None:
    """Nothing of the earlier dataset is left, and one without rows is complete too."""
    uri, verdict = str(tmp_path / "d"), full_row(schemas.VERDICTS)
    write_dataset(uri, schemas.VERDICTS, [verdict] * 3)

    with write_parts(uri, schemas.VERDICTS) as parts:
        for times in (1, 3):
            parts.write(**{name: [value] * times for name, value in verdict.items()})

    assert read_dataset(uri, schemas.VERDICTS) == [verdict] * 4
    with write_parts(uri, schemas.VERDICTS):
        pass
    assert read_dataset(uri, schemas.VERDICTS) == []


def test_parts_of_which_the_last_was_never_written_are_no_dataset(tmp_path: Path) -> None:
    """The earlier dataset is gone too."""
    uri = str(tmp_path / "d")
    write_dataset(uri, schemas.VERDICTS, [])

    with pytest.raises(OSError, match="gone"), write_parts(uri, schemas.VERDICTS):
        raise OSError("gone")

    with pytest.raises(DatasetError, match="never finished"):
        read_dataset(uri, schemas.VERDICTS)


def test_a_row_that_does_not_fit(tmp_path: Path) -> None:
    """Values that the schema does not allow are not written."""
    with pytest.raises(pa.ArrowException):
        write_dataset(str(tmp_path / "d"), schemas.LOG_BOUNDS, [{**full_row(schemas.LOG_BOUNDS), "log_end": "x"}])

    assert not (tmp_path / "d").exists()


def test_a_missing_dataset(tmp_path: Path) -> None:
    """The message names the dataset and its expected directory."""
    with pytest.raises(DatasetError, match=r"the dataset verdicts at .*/d does not exist"):
        read_dataset(str(tmp_path / "d"), schemas.VERDICTS)


def test_a_dataset_that_was_never_finished(tmp_path: Path) -> None:
    """Parts without the marker are no dataset."""
    write_dataset(str(tmp_path / "d"), schemas.VERDICTS, [full_row(schemas.VERDICTS)])
    (tmp_path / "d" / MARKER).unlink()

    with pytest.raises(DatasetError, match="was never finished"):
        read_dataset(str(tmp_path / "d"), schemas.VERDICTS)


@pytest.mark.parametrize("damage", ["empty", "cut", "no parquet"])
def test_a_damaged_part(tmp_path: Path, damage: str) -> None:
    """The message names the part."""
    write_dataset(str(tmp_path / "d"), schemas.VERDICTS, [full_row(schemas.VERDICTS)])
    part = tmp_path / "d" / "part-00000.parquet"
    part.write_bytes({"empty": b"", "cut": part.read_bytes()[:-20], "no parquet": b"rule,severity\n"}[damage])

    with pytest.raises(DatasetError, match=r"part-00000\.parquet is not a valid file of a dataset verdicts"):
        read_dataset(str(tmp_path / "d"), schemas.VERDICTS)


def test_a_dataset_of_another_shape(tmp_path: Path) -> None:
    """A dataset with another name is refused."""
    write_dataset(str(tmp_path / "d"), schemas.LOG_BOUNDS, [full_row(schemas.LOG_BOUNDS)])

    with pytest.raises(DatasetError, match="is not a valid file of a dataset verdicts"):
        read_dataset(str(tmp_path / "d"), schemas.VERDICTS)


EARLIER = schemas.Schema("verdicts", tuple(c for c in schemas.VERDICTS.columns if c.name != "partition"))
ANOTHER = schemas.Schema("verdicts", tuple(c for c in schemas.VERDICTS.columns if c.name != "message"))


def test_a_column_that_was_added_later_is_null_in_older_datasets(tmp_path: Path) -> None:
    """The present version reads the datasets of earlier ones."""
    write_dataset(str(tmp_path / "d"), EARLIER, [full_row(EARLIER)])

    assert read_dataset(str(tmp_path / "d"), schemas.VERDICTS) == [{**full_row(schemas.VERDICTS), "partition": None}]


def test_a_column_that_must_not_be_null_can_not_be_missing(tmp_path: Path) -> None:
    """The message names the part and the column; the same for nulls in it."""
    write_dataset(str(tmp_path / "d"), ANOTHER, [full_row(ANOTHER)])
    with pytest.raises(DatasetError, match=r"/d/part-00000\.parquet .* the required column 'message' is missing"):
        read_dataset(str(tmp_path / "d"), schemas.VERDICTS)

    nullable = tuple(dataclasses.replace(column, nullable=True) for column in schemas.VERDICTS.columns)
    write_dataset(str(tmp_path / "n"), schemas.Schema("verdicts", nullable), [{"rule": "lag"}])
    with pytest.raises(DatasetError, match=r"/n/part-00000\.parquet is not a valid file of a dataset verdicts: .*null"):
        read_dataset(str(tmp_path / "n"), schemas.VERDICTS)


def test_schemas_are_declared_once() -> None:
    """A type that ends with a question mark allows null; names are unique."""
    assert [schema.name for schema in ALL] == [
        "connectors",
        "connector_offsets",
        "log_bounds",
        "offset_plan",
        "verdicts",
        "stored_records",
        "orphans",
    ]
    for schema in ALL:
        assert len(set(schema.names)) == len(schema.names)
        assert [field.nullable for field in arrow_schema(schema)] == [column.nullable for column in schema.columns]


def test_the_newest_is_read(tmp_path: Path) -> None:
    """None if there is no dataset, and no rows if the newest has none."""
    for uri in ((tmp_path / "d").as_uri(), f"memory://{uuid.uuid4().hex}/d"):
        assert read_newest(uri, schemas.VERDICTS) is None
        for rows in ([full_row(schemas.VERDICTS)], [], [full_row(schemas.VERDICTS)] * 2):
            assert write_newest(uri, schemas.VERDICTS, rows) == len(rows)
            assert read_newest(uri, schemas.VERDICTS) == rows


def test_a_writer_that_was_killed_leaves_the_newest_as_it_was(tmp_path: Path) -> None:
    """Its incomplete dataset is never read or continued."""
    uri, rows = tmp_path.as_uri(), [full_row(schemas.VERDICTS)]
    write_newest(uri, schemas.VERDICTS, rows)
    write_newest(uri, schemas.VERDICTS, [])
    [*_, newest] = sorted(tmp_path.iterdir())
    (newest / MARKER).unlink()

    assert read_newest(uri, schemas.VERDICTS) == rows

    write_newest(uri, schemas.VERDICTS, [])
    assert read_newest(uri, schemas.VERDICTS) == []
