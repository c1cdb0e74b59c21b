"""``python -m airflow_provider_connect_offsets.cli``: the same as ``connect-offsets``."""

from airflow_provider_connect_offsets.cli.main import main

main()
