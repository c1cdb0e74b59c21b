"""From an Airflow connection to a store: ``kafka_connect`` (its own connection type) and ``kafka``."""
