"""The Spark jobs: small functions from DataFrame to DataFrame, and one thin main each for spark-submit.

Executors need nothing of this package but what ``py_files`` ships: ``offsets``, ``workspace.schemas``, ``pipeline`` and
``exceptions``, which use the standard library and pyspark only.
"""
