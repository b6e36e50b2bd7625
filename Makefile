# Everything runs from a private environment in .venv; the only needs are make and Python >= 3.11.
PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 5006
JOBS   ?= 2

BIN   := $(VENV)/bin
PIP   := $(BIN)/python -m pip --disable-pip-version-check
PINS  := pyproject.toml constraints.txt
READY := $(VENV)/.installed-all
TESTED := $(VENV)/.installed-test

# One thread for each test process: the processes, not the threads, share the cores.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
NBVAL := $(if $(NOTEBOOKS),--nbval-lax --nbval-current-env --nbval-cell-timeout=300 \
         --nbval-kernel-startup-timeout=120 notebooks)

.DEFAULT_GOAL := help
.PHONY: help serve test fast lint notebooks lab clean

help: ## Show this list
	@echo "Targets (PYTHON=$(PYTHON) VENV=$(VENV) PORT=$(PORT) JOBS=$(JOBS)):"
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 14

serve: $(READY) ## Install if needed, then serve all apps on 127.0.0.1:$(PORT)
	$(BIN)/workbench serve --port $(PORT)

test: $(TESTED) ## Install if needed, then run ruff, pytest, the notebooks and the browser tests
	$(BIN)/ruff check .
	$(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS) --dist loadscope tests $(NBVAL)

fast: $(TESTED) ## Run the tests that are neither slow nor in a browser
	$(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS) --dist loadscope -m "not slow and not ui" tests

lint: $(TESTED) ## Run ruff alone
	$(BIN)/ruff check .

notebooks: $(TESTED) ## Run the notebooks alone
	$(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS) --dist loadscope $(NBVAL)

lab: $(READY) ## Open the notebooks in JupyterLab
	$(BIN)/jupyter lab --LabApp.news_url=None notebooks

clean: ## Remove the environment and every cache
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make later runs start at once; changed pins or dependencies install again.
$(READY): $(PINS) | $(BIN)/python
	$(PIP) install -c constraints.txt -e ".[all]"
	@touch $@

$(TESTED): $(PINS) | $(BIN)/python
	$(PIP) install -c constraints.txt -e ".[all,test]"
	@touch $(READY) $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: needs Python 3.11 or newer, but '$(PYTHON)' is" \
	       "$$($(PYTHON) --version 2>&1); try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
