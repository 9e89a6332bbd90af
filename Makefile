# `make demo` and `make test` need Python 3.11, pip, gcc and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# Paddle's own tests and public scripts, run on the package as it is installed in $(VENV). They need
# the runners (SHARED) and git directories of the repositories that they read (MIRROR), neither of
# which is part of this project; ONLY names some cases.
SHARED ?= ../shared
MIRROR ?= ../.mirror
ONLY ?=
# What public files use of Paddle: a table of names (USAGE), folders of sources (FOLDERS).
USAGE ?= $(SHARED)/api_usage_wide.tsv
FOLDERS ?=

.PHONY: demo test faults check bench conformance scripts names clean

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

test: $(INSTALLED)
	$(BIN)/python tests/run.py

faults: $(INSTALLED)
	$(BIN)/python tests/faults/report.py

check: $(INSTALLED)
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED)
	$(BIN)/python benchmarks/bench_eager.py
	$(BIN)/python benchmarks/bench_static.py
	$(BIN)/python benchmarks/bench_jit.py
	$(BIN)/python benchmarks/bench_inference.py
	$(BIN)/python benchmarks/bench_collectives.py
	$(BIN)/python benchmarks/bench_data_parallel.py
	$(BIN)/python benchmarks/bench_fleet.py
	$(BIN)/python benchmarks/bench_ps.py

conformance: $(INSTALLED)
	$(BIN)/python tests/compatibility.py tests --shared $(SHARED) --mirror $(MIRROR) --only '$(ONLY)'

scripts: $(INSTALLED)
	$(BIN)/python tests/compatibility.py scripts --shared $(SHARED) --mirror $(MIRROR) --only '$(ONLY)'

names: $(INSTALLED)
	$(BIN)/python tests/usage.py names $(USAGE)
	$(if $(FOLDERS),$(BIN)/python tests/usage.py files $(FOLDERS))

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
