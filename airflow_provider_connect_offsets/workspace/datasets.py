"""Datasets: a directory of Parquet files, finished by the marker ``_SUCCESS`` that Spark writes too.

A reader refuses a directory without the marker, so a dataset is there whole or not at all.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import join
from airflow_provider_connect_offsets.workspace.schemas import Kind, Schema

MARKER = "_SUCCESS"

_ARROW_TYPES: Mapping[Kind, pa.DataType] = {
    Kind.STRING: pa.string(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.BINARY: pa.binary(),
    # Microseconds in UTC: what Spark reads back as its own timestamp type.
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


def arrow_schema(schema: Schema) -> pa.Schema:
    """Give the Arrow schema of a dataset."""
    return pa.schema(
        [pa.field(column.name, _ARROW_TYPES[column.kind], nullable=column.nullable) for column in schema.columns]
    )


def write_dataset(uri: str, schema: Schema, rows: Iterable[Mapping[str, Any]]) -> int:
    """Publish ``rows`` as the dataset at ``uri``, replacing what stood there; returns how many rows."""
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=arrow_schema(schema))
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    files.remove_tree(uri)
    files.write_bytes(join(uri, "part-00000.parquet"), buffer.getvalue())
    files.write_bytes(join(uri, MARKER), b"")
    return int(table.num_rows)


def read_dataset(uri: str, schema: Schema) -> list[dict[str, Any]]:
    """Read a dataset whole; raises :class:`DatasetError` where it is missing, unfinished or of another shape."""
    names = files.list_names(uri)
    if MARKER not in names:
        state = "was never finished (no _SUCCESS in it)" if names else "does not exist"
        raise DatasetError(f"the dataset {schema.name} at {uri} {state}")
    rows: list[dict[str, Any]] = []
    for name in names:
        if name.endswith(".parquet"):
            rows.extend(_read_part(join(uri, name), schema))
    return rows


def _read_part(uri: str, schema: Schema) -> list[dict[str, Any]]:
    content = files.read_bytes(uri)
    try:
        # Not read_table, and no threads: with pyarrow 26 a process that has read this way now and then aborts at exit
        # ("terminate called without an active exception"), which would turn a task that succeeded into a failed one.
        part = pq.ParquetFile(pa.BufferReader(content or b""), pre_buffer=False)
        table = part.read(use_threads=False)
        return table.select(list(schema.names)).cast(arrow_schema(schema)).to_pylist()
    except (pa.ArrowException, KeyError, OSError) as error:
        raise DatasetError(f"{uri} is no part of a dataset {schema.name}: {error}") from error
