"""What tests may read: their own files and tables."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.requests.guards import Guards

OWN_FILES = Guards(readable=("file:///",), catalogs=("spark_catalog",))
