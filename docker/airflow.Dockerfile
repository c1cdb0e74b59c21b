# Airflow with this checkout: the package, its DAGs, and the sandbox's modules that docker-compose.yaml runs.
# https://airflow.apache.org/docs/docker-stack/build.html
FROM apache/airflow:slim-3.3.2-python3.11

USER root
# Java for spark-submit, as Airflow's documentation has it for the Spark provider. The workspace belongs to the user of the
# image, and so does the volume that is first mounted there.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner=50000 --group=0 --mode=0775 /workspace

USER airflow
WORKDIR /opt/connect-offsets
# What `make setup` installs: the versions that all tests run with.
COPY --chown=airflow:root requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY --chown=airflow:root . .
RUN pip install --no-cache-dir --no-deps .
