"""Airflow's ``airflow_local_settings``: import once what each task and each parsing of a DAG file would import anew.

Both are forks, of the scheduler and of the DAG processor. Airflow's SparkSubmitOperator imports two clients of
Kubernetes and OpenLineage, which takes longer than all else that a task does before it runs.
"""

import sys

if not {"scheduler", "dag-processor"}.isdisjoint(sys.argv):
    import airflow.providers.apache.spark.operators.spark_submit  # noqa: F401 - for the forks
