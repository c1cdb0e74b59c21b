# Prerequisites: Python 3.11+ with venv, a JDK 17 or 21, make. Each missing one is named with the command that brings it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: setup demo test test-processes test-mirror test-faults up down bench lint format lock docs clean

setup: $(VENV)/ready  ## .venv with locked packages, and Kafka's jars in the cache
	@$(BIN)/python -m sandbox jars

$(VENV)/ready: requirements.lock pyproject.toml prerequisites.sh
	@PYTHON=$(PYTHON) bash prerequisites.sh
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: setup  ## the main job on real Kafka, Connect, MirrorMaker 2, Airflow and Spark, with a page at the end
	$(BIN)/python -m sandbox.demo

up: setup  ## sandbox and Airflow's UI, to play with
	$(BIN)/python -m sandbox.play

down: setup  ## what `make up` has started, from another terminal
	$(BIN)/python -m sandbox down

test: setup  ## the tests, on two processes with real servers of their own each
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not faults and not processes and not mirror"

test-processes: setup  ## whole programs: the demo, `make up`, Airflow's and Spark's commands, workers and MirrorMakers
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m processes

test-mirror: setup  ## flows of MirrorMaker 2 as a whole: failovers at full scale, killed sources, readiness
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m mirror

test-faults: setup  ## changes that are broken on purpose, at every step
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "faults or everywhere" tests/airflow tests/faults

lint: setup  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## timings, as ratios
	$(BIN)/python benchmarks/parse_dags.py
	$(BIN)/python benchmarks/downtime.py
	$(BIN)/python benchmarks/plan_job.py
	$(BIN)/python benchmarks/export.py
	$(BIN)/python benchmarks/translation.py

docs: setup  ## docs/reference.md from the docstrings
	$(BIN)/python docs/make_reference.py

lock: setup  ## requirements.lock anew
	$(BIN)/uv pip compile --universal --python-version 3.11 --no-emit-index-url --no-header --generate-hashes \
	  --group dev -c constraints.txt -o requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
