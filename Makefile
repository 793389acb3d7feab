PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test faults lint bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages into $(VENV) (once)"
	@sed -n '/^setuptools==/,/[^\\]$$/p' constraints.txt > $(VENV)/build.txt
	@$(PIP) --require-hashes --requirement $(VENV)/build.txt
	@$(PIP) --require-hashes --no-build-isolation --requirement constraints.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## the real systems on this machine, and events flowing through them
	@$(BIN)/penstock demo

test: $(READY) ## every test, fault tests in short form; what fails beside others runs once more, alone
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder || \
	{ test $$? -eq 1 && echo "once more, alone: what failed" && $(BIN)/python -m pytest --last-failed; }

faults: $(READY) ## the fault tests at full length; ROUNDS=n for longer
	@ROUNDS=$${ROUNDS:-1} $(BIN)/python -m pytest -m faults -s

lint: $(READY) ## ruff, mypy, import-linter
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

bench: $(READY) ## every benchmark, as ratios to a ceiling or a peer
	@$(BIN)/penstock bench

clean: ## remove what was built here; the shared cache of jars stays
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
