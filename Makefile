# Everything runs from a private environment in .venv; the only needs are make and Python >= 3.11.
PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 5006
JOBS   ?= 2

BIN   := $(VENV)/bin
PIP   := $(BIN)/python -m pip --disable-pip-version-check
# pip compiles with one core; here all do, and packages' own tests are left out. Files that are no
# Python of this version are no failure.
INSTALL := $(PIP) install --no-compile -c constraints.txt -e
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || true
PINS  := pyproject.toml constraints.txt
READY := $(VENV)/.installed-all
TESTED := $(VENV)/.installed-test
WRITTEN := $(VENV)/.installed-docs
SITE  := build/docs

# One thread for each test process: the processes, not the threads, share the cores. And what one
# process has compiled is not compiled again by the next, also where that is switched off.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# A module's fixtures are made once, in one process; modules are handed out as tests/conftest.py
# orders them.
PYTEST := $(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS) --dist loadscope --no-loadscope-reorder \
          --durations=25 --durations-min=1
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
NBVAL := $(if $(NOTEBOOKS),--nbval-lax --nbval-current-env --nbval-cell-timeout=300 \
         --nbval-kernel-startup-timeout=120 notebooks)

.DEFAULT_GOAL := help
.PHONY: help serve test installed fast lint signatures notebooks lab docs pictures clean

help: ## Show this list
	@echo "Targets (PYTHON=$(PYTHON) VENV=$(VENV) PORT=$(PORT) JOBS=$(JOBS)):"
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 14

serve: $(READY) ## Install if needed, then serve all apps on 127.0.0.1:$(PORT)
	$(BIN)/workbench serve --port $(PORT)

test: $(TESTED) ## Install if needed, then run ruff, pytest, the notebooks and the browser tests
	$(BIN)/ruff check .
	$(PYTEST) tests $(NBVAL)

installed: $(TESTED) ## Install what the tests need, if needed

fast: $(TESTED) ## Run the tests that are neither slow nor in a browser
	$(PYTEST) -m "not slow and not ui" tests

lint: $(TESTED) ## Run ruff alone
	$(BIN)/ruff check .

signatures: $(READY) ## Write the models' keywords into their classes after options have changed
	$(BIN)/python -m workbench.labelled.classes.signatures

notebooks: $(TESTED) ## Run the notebooks alone
	$(PYTEST) $(NBVAL)

lab: $(READY) ## Open the notebooks in JupyterLab
	$(BIN)/jupyter lab --LabApp.news_url=None notebooks

docs: $(WRITTEN) ## Build the documentation into build/docs, without network
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going -n docs $(SITE)
	@echo "the documentation is in $(CURDIR)/$(SITE)/index.html; \`workbench docs\` opens it"

pictures: $(TESTED) ## Make the apps' pictures in the documentation and on their first page again
	OMP_NUM_THREADS=1 $(BIN)/python docs/howto/pictures/make.py

clean: ## Remove the environment and every cache
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache docs/notebooks docs/api/generated docs/api/*.rst
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make later runs start at once; changed pins or dependencies install again.
$(READY): $(PINS) | $(BIN)/python
	$(INSTALL) ".[all]"
	@$(COMPILE)
	@touch $@

$(TESTED): $(PINS) | $(BIN)/python
	$(INSTALL) ".[all,docs,test,scale]"
	@$(COMPILE)
	@touch $(READY) $(WRITTEN) $@

$(WRITTEN): $(PINS) | $(BIN)/python
	$(INSTALL) ".[all,docs]"
	@$(COMPILE)
	@touch $(READY) $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: needs Python 3.11 or newer, but '$(PYTHON)' is" \
	       "$$($(PYTHON) --version 2>&1); try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@# Debian's Python without python3-venv leaves half of one, which would be taken for a whole.
	$(PYTHON) -m venv $(VENV) || { rm -f $@; exit 1; }
