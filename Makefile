# Every target sets up what it needs; `make ablation` and `make test` are where to start.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
ALL_MARKS := not gpu

# Bytecode is kept whatever the environment says: without it every process needs up to ten seconds more to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: ablation test test-all check format docs benchmark gpu mutants clean

ablation: $(INSTALLED)
	$(BIN)/python train.py -m corruption=mean,marginal scaling=zscore,minmax

test: $(INSTALLED)
	$(BIN)/pytest -q -n 2 --dist worksteal

test-all: $(INSTALLED)
	$(BIN)/pytest -q -n 2 --dist worksteal -m "$(ALL_MARKS)"

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(INSTALLED)
	$(BIN)/python -m scarf_lightning.config.options_page > docs/.options.md
	mv docs/.options.md docs/options.md

benchmark: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks.table
	$(BIN)/python -m tests.benchmarks.network_time
	$(BIN)/python -m tests.benchmarks.logger_time
	$(BIN)/python -m tests.benchmarks.report_time
	$(BIN)/python -m tests.benchmarks.verdict_calibration

gpu: $(INSTALLED)
	$(BIN)/pytest -q -m gpu
	$(BIN)/python -m tests.benchmarks.gpu_time

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

# Small faults, one at a time, and which of them no test notices.
mutants: $(INSTALLED)
	$(BIN)/python -m tests.mutants

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
