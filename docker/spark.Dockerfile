# Spark's master and worker, of the version of pyspark in requirements.lock.
FROM apache/spark:4.0.0-scala2.13-java17-python3-ubuntu

USER root
# The jobs have functions in Python, so the executors need Python 3.11 or later, and of the very minor version of the driver
# in Airflow's image; this image comes with 3.10. uv fetches a build that runs on any Linux.
RUN pip3 install --no-cache-dir uv==0.13.8 \
    && uv python install --no-bin --install-dir /opt/python 3.11.18 \
    && ln -s /opt/python/cpython-3.11.18-*/bin/python3.11 /usr/local/bin/python3.11 \
    && python3.11 --version
# The user of Airflow's image, not `spark`: when a job ends, the driver there renames and removes what the executors here
# have written to the workspace, and each of the two writes into folders that the other has made.
RUN useradd --uid 50000 --gid 0 --no-create-home --home-dir /opt/spark airflow \
    && install --directory --owner=50000 --group=0 --mode=0775 /workspace /opt/spark/work
USER 50000:0
