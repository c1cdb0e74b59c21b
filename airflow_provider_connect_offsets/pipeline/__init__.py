"""The Spark jobs: small functions from DataFrame to DataFrame, and one thin main each for spark-submit.

Driver and executors need nothing of this package but what ``shipping`` packs for ``--py-files``, and that uses the
standard library and pyspark only. Nothing is imported here, so that Airflow can import ``shipping`` without pyspark.
"""
