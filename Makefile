# Two commands do everything on a machine with Python 3.11, venv, make and a shell:
#   make demo    run the main job          make test    run the tests
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PYTHONPATH :=
# Who starts thousands of processes has each source compiled once, whatever the world says.
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test coverage check format bench bench-% soak docs clean

help:            ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 32

# .venv is made once and installed into again only when its inputs change.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.spark: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[spark]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,spark]'
	@touch $@ $(VENV)/.spark

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,spark,bench]' \
	  || echo 'some engines are missing: the benchmark says which'
	@touch $@

$(VENV)/.fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,spark,fuzz]' \
	  || echo 'atheris is missing: its campaigns are skipped'
	@touch $@

demo: $(VENV)/.spark  ## run the main job in a folder of its own
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: $(VENV)/.dev    ## run every test but the long campaigns, and write build/ledger.json
	@mkdir -p build && rm -f build/ledger.json
	$(BIN)/python -m pytest -m 'not slow' --numprocesses 4

coverage: $(VENV)/.dev ## the tests without Spark, and which lines they reach
	@rm -f .coverage .coverage.*
	$(BIN)/python -m coverage run -m pytest -m 'not slow and not spark' --numprocesses 2
	@$(BIN)/python -m coverage combine --quiet && $(BIN)/python -m coverage report --skip-covered

check: $(VENV)/.dev   ## format, lint, types, plain pytest
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/python -m pytest

format: $(VENV)/.dev  ## let the machine format
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

bench: bench-records bench-datalog bench-policy bench-interlace bench-iltp bench-spark bench-spark-exchange ## run every benchmark

bench-datalog: $(VENV)/.bench  ## the rule engine against others
	$(BIN)/python -m bench.datalog

bench-spark-exchange: $(VENV)/.dev  ## lakes that exchange
	$(BIN)/python -m bench.spark_exchange

bench-%: $(VENV)/.dev ## run one benchmark: make bench-records
	$(BIN)/python -m bench.$*

soak: $(VENV)/.fuzz   ## the long campaigns
	$(BIN)/python -m pytest -m 'slow'

docs: $(VENV)/.dev    ## make the generated tables of docs/reference again
	$(BIN)/python -m docs.make

clean:                ## remove what the other targets made
	rm -rf $(VENV) build dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache
