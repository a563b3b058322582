# Every target makes the virtual environment it needs. `make help` lists them.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# What each purpose installs on top of the package. Only the tests and the benchmarks need torch.
EXTRAS_demo  := plots,cli
EXTRAS_test  := test
EXTRAS_lint  := lint
EXTRAS_bench := bench
EXTRAS_docs  := docs

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: demo test lint bench docs clean help
.PRECIOUS: $(VENV)/.installed-%

demo: $(VENV)/.installed-demo  ## train a classifier on small data and draw what it learned
	$(BIN)/tanager demo

test: $(VENV)/.installed-test  ## run the tests and the examples in the docstrings
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.installed-lint  ## check style, format, types and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-bench  ## measure speed as ratios within one run
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

docs: $(VENV)/.installed-docs  ## build the documentation, examples included, into docs/_build/html
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:  ## remove caches and builds; the virtual environment stays
	rm -rf build dist docs/_build docs/gallery docs/generated docs/sg_execution_times.rst .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

help:  ## show this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r target text; do \
	    printf '  make %-6s %s\n' "$$target" "$$text"; done

# One stamp for each purpose, older than pyproject.toml when its packages may have changed.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/pip
	@echo "Installing tanager[$(EXTRAS_$*)] into $(VENV); the first time takes a minute or more."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS_$*)]'
	@touch $@

# pip is the last thing that venv writes, so an interrupted set-up is made again.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: Tanager needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	    echo "Name another with: make PYTHON=python3.12 <target>" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
