"""Read and write datasets: directories of Parquet files, finished by the marker ``_SUCCESS`` as Spark's are.

A reader refuses a directory without the marker, so no incomplete dataset is ever read.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count, islice
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import MARKER, join
from airflow_provider_connect_offsets.workspace.schemas import ColumnKind, Schema

# Rows held as Python objects at a time; a topic may have a million.
_BATCH = 50_000

# The rows of datasets that were read within each_read_once: URI and column → value → rows.
_READ: ContextVar[dict[tuple[str, str], dict[Any, list[dict[str, Any]]]] | None] = ContextVar("read", default=None)

_ARROW_TYPES: Mapping[ColumnKind, pa.DataType] = {
    ColumnKind.STRING: pa.string(),
    ColumnKind.INT: pa.int32(),
    ColumnKind.LONG: pa.int64(),
    ColumnKind.BINARY: pa.binary(),
    ColumnKind.BOOLEAN: pa.bool_(),
    # Microseconds in UTC: what Spark reads back as its own timestamp type.
    ColumnKind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of a dataset."""
    return pa.schema(
        [pa.field(column.name, _ARROW_TYPES[column.kind], nullable=column.nullable) for column in schema.columns]
    )


def write_dataset(uri: str, schema: Schema, rows: Iterable[Mapping[str, Any]]) -> int:
    """Publish a dataset, replacing an earlier one.

    Args:
        uri: Directory of the dataset.
        schema: Its columns.
        rows: A mapping from column to value for each row; a missing column is null.

    Returns:
        The number of rows.
    """
    columns = arrow_schema(schema)
    buffer, remaining, written = io.BytesIO(), iter(rows), 0
    with pq.ParquetWriter(buffer, columns) as writer:
        while batch := list(islice(remaining, _BATCH)):
            # Column by column: from_pylist takes four times as long.
            arrays = [pa.array([row.get(field.name) for row in batch], field.type) for field in columns]
            writer.write_table(pa.table(arrays, schema=columns))
            written += len(batch)
    files.remove_tree(uri)
    files.write_bytes(join(uri, _part(0)), buffer.getvalue())
    files.write_bytes(join(uri, MARKER), b"")
    return written


class Parts:
    """Writes parts of a dataset that does not fit in memory; threads may write at the same time."""

    def __init__(self, uri: str, schema: Schema) -> None:
        self._uri, self._columns = uri, arrow_schema(schema)
        self._numbers, self._lock = count(), Lock()

    def write(self, **columns: Sequence[Any]) -> None:
        """Write a part; ``columns`` has the values of all its rows by column."""
        arrays = [pa.array(columns[field.name], field.type) for field in self._columns]
        buffer = io.BytesIO()
        with pq.ParquetWriter(buffer, self._columns) as writer:
            writer.write_table(pa.table(arrays, schema=self._columns))
        with self._lock:
            number = next(self._numbers)
        files.write_bytes(join(self._uri, _part(number)), buffer.getvalue())


@contextmanager
def write_parts(uri: str, schema: Schema) -> Iterator[Parts]:
    """Publish a dataset part by part, replacing an earlier one; it is finished when the block ends without error."""
    files.remove_tree(uri)
    parts = Parts(uri, schema)
    parts.write(**{column.name: () for column in schema.columns})  # so that there is at least one
    yield parts
    files.write_bytes(join(uri, MARKER), b"")


def _part(number: int) -> str:
    return f"part-{number:05d}.parquet"


def write_newest(uri: str, schema: Schema, rows: Iterable[Mapping[str, Any]]) -> int:
    """Publish ``rows`` as the newest dataset under the directory ``uri`` and return their number.

    Earlier datasets stay, so a process that is killed meanwhile leaves the newest one readable, unlike
    :func:`write_dataset`, which removes it first.
    """
    return write_dataset(join(uri, f"{max(_numbers(uri), default=0) + 1:06d}"), schema, rows)


def read_newest(uri: str, schema: Schema) -> list[dict[str, Any]] | None:
    """Read the newest finished dataset under ``uri``, or return None. Raises as :func:`read_dataset` does."""
    for number in sorted(_numbers(uri), reverse=True):
        newest = join(uri, f"{number:06d}")
        if is_finished(newest):
            return read_dataset(newest, schema)
    return None


def remove_older(uri: str) -> None:
    """Remove all datasets under ``uri`` but the newest finished one. Raises :class:`WorkspaceUnwritable`."""
    finished = [number for number in _numbers(uri) if is_finished(join(uri, f"{number:06d}"))]
    for number in _numbers(uri):
        if number < max(finished, default=0):
            files.remove_tree(join(uri, f"{number:06d}"))


def is_finished(uri: str) -> bool:
    """Whether a dataset is finished."""
    return MARKER in files.list_names(uri)


@contextmanager
def each_read_once() -> Iterator[None]:
    """Let :func:`read_dataset` read each dataset only once in this block, if it selects rows by one column.

    This is for a fleet, whose datasets have the rows of all connectors. Rows that are written meanwhile are not seen.
    """
    read = _READ.get()
    token = _READ.set({} if read is None else read)
    try:
        yield
    finally:
        _READ.reset(token)


def read_dataset(uri: str, schema: Schema, **where: Collection[str]) -> list[dict[str, Any]]:
    """Read a dataset.

    Args:
        uri: Directory of the dataset.
        schema: Its columns.
        where: Columns, and the values that the rows to read have in each; without any, all rows are read.

    Returns:
        A dict from column to value for each row. A nullable column that is missing (in an older dataset) is None.

    Raises:
        DatasetError: The dataset is missing, unfinished or has other columns.
    """
    read = _READ.get()
    if read is None or len(where) != 1:
        return list(iterate_dataset(uri, schema, **where))
    [(column, values)] = where.items()
    if (uri, column) not in read:
        by_value: dict[Any, list[dict[str, Any]]] = {}
        for row in iterate_dataset(uri, schema):
            by_value.setdefault(row[column], []).append(row)
        read[uri, column] = by_value
    return [dict(row) for value in dict.fromkeys(values) for row in read[uri, column].get(value, ())]


def read_dataset_if_any(uri: str, schema: Schema, **where: Collection[str]) -> list[dict[str, Any]]:
    """Read a dataset; empty if it is missing or unfinished. Arguments and other errors: see :func:`read_dataset`."""
    if any((uri, column) in (_READ.get() or {}) for column in where) or is_finished(uri):
        return read_dataset(uri, schema, **where)
    return []


def iterate_dataset(uri: str, schema: Schema, **where: Collection[str]) -> Iterator[dict[str, Any]]:
    """Read a large dataset row by row; arguments and errors, which may come midway: see :func:`read_dataset`."""
    names = files.list_names(uri)
    if MARKER not in names:
        state = "was never finished (no _SUCCESS in it)" if names else "does not exist"
        raise DatasetError(f"the dataset {schema.name} at {uri} {state}")
    for name in names:
        if name.endswith(".parquet"):
            yield from _read_part(join(uri, name), schema, where)


def _numbers(uri: str) -> list[int]:
    return [int(name) for name in files.list_names(uri) if name.isdecimal()]


def _read_part(uri: str, schema: Schema, where: Mapping[str, Collection[str]]) -> Iterator[dict[str, Any]]:
    content = files.read_bytes(uri)
    try:
        # Not read_table, and no threads: with pyarrow 26 a process that has read so sometimes aborts at exit
        # ("terminate called without an active exception"), which would fail a task that succeeded.
        part = pq.ParquetFile(pa.BufferReader(content or b""), pre_buffer=False)
        table = _complete(part.read(use_threads=False), schema).cast(arrow_schema(schema))
        for column, values in where.items():
            table = table.filter(pc.is_in(table[column], pa.array(values, pa.string())))
        for batch in table.to_batches(max_chunksize=_BATCH):
            yield from batch.to_pylist()
    except (pa.ArrowException, ValueError, OSError) as error:
        raise DatasetError(f"{uri} is not a valid file of a dataset {schema.name}: {error}") from error


def _complete(table: pa.Table, schema: Schema) -> pa.Table:
    """Return the schema's columns of a table; raises ``ValueError`` if one is missing that can't be null."""
    for column in schema.columns:
        if column.name not in table.column_names:
            if not column.nullable:
                raise ValueError(f"the required column {column.name!r} is missing")
            table = table.append_column(column.name, pa.array([None] * table.num_rows, _ARROW_TYPES[column.kind]))
    return table.select(list(schema.names))
