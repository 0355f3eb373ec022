# Everything below needs make and Python 3.11+; the rest is installed into .venv on first use.
# Another Python: make PYTHON=/path/to/python test        Arguments for pytest: make test ARGS='-k hierarchy -x'

BIN := .venv/bin
ARGS ?=
BENCH ?= race
WORKERS ?= auto

export PYTHON
# The tests start hundreds of processes: each would compile all of the package again where nothing of it may be kept.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test quick test-services test-all test-r golden house check guard format bench docs clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo:  ## Anonymize a bundled hospital table: assessment, release, verdict, report
	@sh tools/install.sh
	@$(BIN)/sfumato demo $(ARGS)

test:  ## Run all tests, doctests and documentation examples that need nothing but Python
	@sh tools/install.sh test
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile -m "not service" $(ARGS)

quick:  ## Run the tests that take no time: after every change
	@sh tools/install.sh test
	@HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile -m "not slow and not service" -q tests $(ARGS)

test-services:  ## Run the tests that need a browser, a server, a Java machine or a large library; those that are not there are skipped
	@sh tools/install.sh test services || { echo "What services need is not to be had; their tests are skipped." >&2; sh tools/install.sh test; }
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile -m service tests $(ARGS)

test-all:  ## Run both at once, with a process more than there are cores: services mostly wait
	@sh tools/install.sh test services || { echo "What services need is not to be had; their tests are skipped." >&2; sh tools/install.sh test; }
	@$(BIN)/python -m pytest --numprocesses $(or $(filter-out auto,$(WORKERS)),$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)) --dist loadfile $(ARGS)

test-r:  ## Run the tests of the R package r/sfumato, where R with reticulate and testthat is installed
	@sh tools/install.sh test
	@sh tools/test_r.sh

golden:  ## Compare golden releases with their digests in tests/golden; ARGS=--update stores new ones and prints what changed, ARGS='--keep FOLDER' writes comparable text
	@sh tools/install.sh test
	@$(BIN)/python -m tests.golden $(ARGS)

papers:  ## Write docs/reproduced.md: published numbers beside ours; SFUMATO_REFERENCE_DATA names tables that are not ours
	@sh tools/install.sh test
	@$(BIN)/python tools/papers.py

house:  ## Hold the gauges of readability against tools/house.json; ARGS='--update "reason"' stores those of today
	@sh tools/install.sh test
	@$(BIN)/python tools/house.py $(or $(ARGS),--check)

check:  ## Check format, lint, types and the gauges of readability
	@sh tools/install.sh test lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/python tools/house.py --check

guard:  ## Hold whole commands against the ceilings of benchmarks/ceilings.json: passes over the rows, memory, modules, CPU
	@sh tools/install.sh test
	@$(BIN)/python benchmarks/guard.py $(ARGS)

format:  ## Format the code and apply the safe fixes
	@sh tools/install.sh test lint
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench:  ## Race with other tools, one table; BENCH=whole, search, judge, local, suppression, risk, linkage, utility, microaggregation, masking, synthesis, private_synthesis, baskets, paths, graphs, relations, persons, roles, queries, parties, tables (of results, and several that join), engines (random tables and recipes on every engine), scale (tables larger than memory) or growth (of time and memory, 10⁵ to 10⁷ rows) for one script
	@sh tools/install.sh test
	@$(BIN)/python benchmarks/$(BENCH).py $(ARGS)

docs:  ## Build the documentation into docs/_build/html, fully offline
	@sh tools/install.sh docs
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html $(ARGS)
	@$(BIN)/python tools/check_offline.py docs/_build/html

clean:  ## Remove what was built or cached, and .venv
	rm -rf .venv docs/_build build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
