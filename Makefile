# Prerequisites: Python 3.11+ with venv, a JDK 17 or 21, make. Each missing one is named with the command that brings it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(BIN)/uv
# Spark's package is half a gigabyte, and not every package index is near.
export UV_HTTP_TIMEOUT ?= 300
# Where PYTHONDONTWRITEBYTECODE is set, as in many images, each process would compile Airflow anew, which takes 1.4 s.
export UV_COMPILE_BYTECODE ?= 1

# How many processes run tests, each with servers of its own of about 3 GB.
PROCESSES ?= 3

# The virtual environments of test-lowest and test-pythons; what of the development tools the tests need at the lowest.
LOWEST       := .venv-lowest
EXTRAS       := .venv-lowest-extras
LOWEST_TOOLS := hypothesis|pytest|pytest-rerunfailures|pytest-timeout|pytest-xdist|vega-datasets
PYTHONS      ?= 3.12 3.13
# The Python of `make coverage`: from 3.12 on Python itself reports which lines run (sys.monitoring), which costs no time.
COVERED      := .venv-3.12
# The wheel as people install it, with what it brings, and the licenses that all of that may have.
PUBLISHED := build/published
LICENSES  := Apache;BSD;MIT;ISC;MPL-2.0;Mozilla Public License 2.0;PSF-2.0;Python Software Foundation License;Unlicense;Artistic License
# These have the LGPL, and come with the extra postgres: they are imported, not changed.
LGPL      := psycopg psycopg-binary psycopg2-binary
# Of `make bench`: runs of each side of a row, and the part of the records and partitions that is measured.
RUNS  ?= 3
SCALE ?= 1
# Percent of the package's lines that tests/unit alone run; the floor of `make test` is in pyproject.toml.
UNIT_FLOOR   := 50
# The tests that belong to no suite of their own: pyproject.toml lists the suites' markers.
NO_SUITE     := not faults and not processes and not mirror and not jobs and not kubernetes and not cluster and not browser and not versions and not quickstart and not fuzz
# In arguments of what is called.
comma := ,
# From uv's cache alone where that suffices, which takes seconds: not every package index says what may be cached.
uv_pip = @$(UV) pip $(1) --quiet --offline >/dev/null 2>&1 || $(UV) pip $(1) --quiet >/dev/null

.PHONY: setup demo test unit test-processes test-browser pictures test-mirror test-cluster test-jobs test-kubernetes test-sample servers test-steps test-faults test-histories test-versions test-fuzz test-lowest test-pythons test-quickstart test-newest coverage up down bench lint format lock docs reference sbom clean

setup: $(VENV)/ready  ## .venv with locked packages, and Kafka's jars in the cache
	@$(BIN)/python -m sandbox jars

$(VENV)/ready: requirements.lock pyproject.toml prerequisites.sh
	@PYTHON=$(PYTHON) bash prerequisites.sh
	$(PYTHON) -m venv $(VENV)
	@awk '/^[^ ]/ { of_uv = /^uv==/ } of_uv' requirements.lock > $(VENV)/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
	$(UV) pip install --quiet --python $(VENV) --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(VENV) --no-deps -e .
	@touch $@

demo: setup  ## the main job on real Kafka, Connect, MirrorMaker 2, Airflow and Spark, with a page at the end
	$(BIN)/python -m sandbox.demo

up: setup  ## sandbox and Airflow's UI, to play with
	$(BIN)/python -m sandbox.play

down: setup  ## what `make up` has started, from another terminal
	$(BIN)/python -m sandbox down

test: setup  ## the tests, on two processes with real servers of their own each
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m "$(NO_SUITE)"

unit: setup  ## what needs neither a server nor Spark
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder tests/unit

test-processes: setup  ## whole programs: the demo, `make up`, Airflow's and Spark's commands, workers and MirrorMakers
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m processes

test-browser: setup  ## each DAG by its form, in headless Chromium; pictures in build/browser
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium)
	$(BIN)/python -m pytest -m browser

pictures:  ## the pictures that README and docs show, and the words that they show
	PICTURES=1 $(MAKE) test-browser
	cp $(addprefix build/browser/,form.png approval.png change.png page.png page-connector.png page-phone.png) docs/
	cp build/browser/graphs/*.png docs/graphs/
	cp build/browser/*.txt build/browser/graphs/*.txt tests/browser/pictured/

test-mirror: setup  ## flows of MirrorMaker 2 as a whole: failovers at full scale, killed sources, readiness
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m mirror

test-cluster: setup  ## each Spark job on a standalone cluster whose workers have none of our packages, on a folder and on an object store
	$(BIN)/python -m pytest -m cluster

test-jobs: setup servers  ## the jobs that people come with, from end to end: schedules, poison records, replays, databases
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m jobs

test-sample: setup servers  ## of the large suites that need no API server, one test in SUITE_SHARE, in one session
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder \
	  -m "jobs or cluster or processes or mirror or faults and not long"

servers:
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v initdb >/dev/null || \
	  (apt-get update -qq && apt-get install -qq --yes --no-install-recommends postgresql)
	@ls /usr/sbin/mariadbd >/dev/null 2>&1 || command -v mariadbd >/dev/null || \
	  (apt-get update -qq && apt-get install -qq --yes --no-install-recommends mariadb-server)
	@ls /usr/sbin/nginx >/dev/null 2>&1 || command -v nginx >/dev/null || \
	  (apt-get update -qq && apt-get install -qq --yes --no-install-recommends nginx-light)
	@ls /usr/lib/apache2/modules/mod_auth_openidc.so >/dev/null 2>&1 || (apt-get update -qq && \
	  apt-get install -qq --yes --no-install-recommends apache2-bin libapache2-mod-auth-openidc)

test-kubernetes: setup  ## offsets through Strimzi's resources: a real API server, built with Go, and a real Connect worker
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m kubernetes

test-steps: setup  ## changes that are broken on purpose, at every step, with one kind of connector each
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m "faults and not long" tests/airflow tests/faults

test-faults: setup  ## the same with every kind of connector, and a fleet of 200: the whole matrix
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m "faults and not drawn" tests/airflow tests/faults

test-histories: setup  ## translated offsets against 20,000 made-up histories, by all records, some of them and none
	HISTORIES=2000 SEEDS=11,12,13,14,15,16,17,18,19,20 $(BIN)/python -m pytest -m histories tests/pipeline

test-fuzz: setup  ## parsers of what others write, a minute each (FUZZ_SECONDS) of inputs that a fuzzer makes up
	$(BIN)/python -m pytest -n $(PROCESSES) -m fuzz tests/fuzz

test-lowest: setup $(LOWEST)/ready $(EXTRAS)/ready  ## the lowest versions that pyproject.toml allows: all DAGs parse; a change, a failover, Strimzi
	$(LOWEST)/bin/python -m pytest -n $(PROCESSES) --dist loadfile \
	  tests/unit tests/airflow/test_ready_dags.py tests/airflow/test_provider_info.py \
	  tests/airflow/test_readme.py::test_the_five_lines_skip_the_poison_record \
	  tests/airflow/test_mirror_failover.py::test_there_and_back
	$(EXTRAS)/bin/python -m pytest tests/kubernetes/test_config_maps.py tests/kubernetes/test_client.py

$(LOWEST)/ready $(EXTRAS)/ready: %/ready: pyproject.toml lowest.toml requirements.lock venv.sh | $(VENV)/ready
	bash venv.sh 3.11 $*
	sed -nE 's/^(($(LOWEST_TOOLS))==[^ ]+).*/\1/p' requirements.lock > $*/tools.in
	$(call uv_pip,compile --config-file lowest.toml --python-version 3.11 --no-emit-index-url --generate-hashes \
	  $(if $(filter $(EXTRAS),$*),--extra strimzi) -o $*/requirements.txt pyproject.toml $*/tools.in)
	$(call uv_pip,install --python $* --require-hashes -r $*/requirements.txt)
	$(call uv_pip,install --python $* --no-deps -e .)
	@touch $@

test-pythons: setup $(PYTHONS:%=.venv-%/ready)  ## the unit tests on the other Python versions, with a floor of lines run
	for version in $(PYTHONS); do COVERAGE_CORE=sysmon .venv-$$version/bin/python -m pytest -n $(PROCESSES) --dist loadfile \
	  --cov --cov-report= --cov-fail-under=$(UNIT_FLOOR) tests/unit || exit 1; done

coverage: setup $(COVERED)/ready  ## the tests of `make test` with the lines that they run, and a floor of these
	COVERAGE_CORE=sysmon $(COVERED)/bin/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder \
	  -m "$(NO_SUITE)" --cov --cov-report=term-missing:skip-covered

.venv-%/ready: requirements.lock pyproject.toml venv.sh | $(VENV)/ready
	bash venv.sh $* .venv-$*
	$(call uv_pip,install --python .venv-$* --require-hashes -r requirements.lock)
	$(call uv_pip,install --python .venv-$* --no-deps -e .)
	@touch $@

test-versions: setup  ## changes, resets, imports and failovers on brokers and workers of Kafka 3.5 to 4.3
	$(BIN)/python -m sandbox older-jars
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadgroup -m versions tests/versions

test-quickstart: setup  ## docs/quickstart.md word by word: the built wheel in a fresh environment, with the locked versions
	$(BIN)/python -m pytest -m quickstart tests/quickstart

test-newest: setup  ## the same with the newest versions of everything, as a plain `pip install` brings them
	NEWEST=1 $(BIN)/python -m pytest -m quickstart tests/quickstart

lint: setup  ## ruff, mypy, pyright, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: setup  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## timings, as ratios, in one table; ROW=export: only those of benchmarks/export.py
	$(BIN)/python benchmarks/table.py $(ROW) --runs $(RUNS) --scale $(SCALE)

reference: setup  ## the parts of docs/reference that are made from the code
	$(BIN)/python -m docs.reference_pages
	$(BIN)/python -m docs.stubs

# Not --quiet, with which mkdocs overlooks warnings.
docs: setup  ## the documentation's site in build/site, which opens from the disk; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

sbom: setup  ## the wheel in an environment of its own: its bill of materials (build/sbom.json), and a check of all licenses
	rm -rf build/wheel && $(UV) build --quiet --wheel --out-dir build/wheel
	bash venv.sh 3.11 $(PUBLISHED)
	sed -e 's/ *\\$$//' -e '/^ *--hash/d' requirements.lock > build/versions.txt
	$(call uv_pip,install --python $(PUBLISHED) --constraint build/versions.txt "$$(ls build/wheel/*.whl)[postgres$(comma)strimzi]")
	bash venv.sh 3.11 build/sbom
	$(call uv_pip,install --python build/sbom --require-hashes -r requirements-sbom.lock)
	build/sbom/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file build/sbom.json $(PUBLISHED)/bin/python
	build/sbom/bin/pip-licenses --python $(PUBLISHED)/bin/python --from mixed --partial-match --allow-only "$(LICENSES)" --ignore-packages $(LGPL) --summary
	$(PUBLISHED)/bin/connect-offsets --help > build/help.txt
	AIRFLOW_HOME=$(CURDIR)/$(PUBLISHED)/home $(PUBLISHED)/bin/airflow providers get airflow-provider-connect-offsets

lock: setup  ## requirements.lock and requirements-sbom.lock anew
	$(BIN)/uv pip compile --universal --python-version 3.11 --no-emit-index-url --no-header --generate-hashes \
	  --group dev --group docs -c constraints.txt -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile --universal --python-version 3.11 --no-emit-index-url --no-header --generate-hashes \
	  --group sbom -o requirements-sbom.lock

clean:
	rm -rf $(VENV) $(LOWEST) $(PYTHONS:%=.venv-%) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
