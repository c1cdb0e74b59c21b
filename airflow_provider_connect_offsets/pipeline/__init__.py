"""The Spark jobs: functions from DataFrame to DataFrame, and ``job``, the one file that spark-submit runs.

``shipping`` packs the modules that driver and executors import; they need only the standard library and pyspark. This
module imports nothing, so Airflow can import ``shipping`` without pyspark.
"""
