# Two commands on a fresh machine: `make demo` and `make test`. Both create .venv and
# install what they need, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH_VERSION := 2.13.0

# PyTorch's default Linux build brings several GB of CUDA libraries. Without an NVIDIA
# GPU we install the CPU build. If your pip index does not have it, give the URL of the
# CPU index from PyTorch's installation page: `make demo TORCH_INDEX=URL`.
TORCH_INDEX ?=
TORCH := torch==$(TORCH_VERSION)
ifeq ($(shell uname -s),Linux)
ifeq ($(shell command -v nvidia-smi 2>/dev/null),)
TORCH := torch==$(TORCH_VERSION)+cpu
endif
endif
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
TEST := $(BIN)/python -m pytest
# A file is one process's work; the order is that of tests/conftest.py.
SHARED := --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: help sync demo check format type test test-fast fuzz bench-sim docs pictures lock clean

help:
	@echo "make demo       install, then watch the policy walk the indoor course"
	@echo "make test       install, then run all tests"
	@echo "make test-fast  the quick ones, while editing"
	@echo "make fuzz       try damaged files and odd options, FUZZ=10000 of them"
	@echo "make check      lint and types"
	@echo "make format     format the code"
	@echo "make bench-sim  measure the simulation"
	@echo "make docs       build the documentation, strictly and without network"
	@echo "make pictures   redraw the pictures of the documentation"
	@echo "make lock       write versions and checksums of the robot's packages"
	@echo "make clean      remove .venv and caches"

sync: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	@echo "Installing into $(VENV): about 2.5 GB, two to four minutes."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@if [ -n "$(TORCH_INDEX)" ]; then \
	  $(PIP) install "$(TORCH)" --index-url "$(TORCH_INDEX)"; \
	else \
	  $(PIP) install "$(TORCH)" 2>/dev/null || { \
	    echo "No CPU build of torch on your pip index; installing the default build."; \
	    echo "To keep it small: interrupt, then make sync TORCH_INDEX=<URL of PyTorch's CPU index>."; \
	    $(PIP) install "torch==$(TORCH_VERSION)"; }; \
	fi
	@$(PIP) install --constraint constraints.txt --editable ".[dev]"
	@# The model of the Booster T1, for examples/booster_t1.py; nothing of it is imported.
	@$(PIP) install --constraint constraints.txt --no-deps holosoma || \
	  echo "The model of the Booster T1 is not available; its example will be skipped."
	@touch $@

demo: sync
	@$(BIN)/solo demo

check: sync
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: sync
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

type: sync
	$(BIN)/pyright

test: sync
	$(TEST) $(SHARED)

test-fast: sync
	$(TEST) $(SHARED) -m "not slow"

FUZZ ?= 10000
fuzz: sync
	$(BIN)/python -m tests.fuzz --inputs $(FUZZ)

bench-sim: sync
	$(BIN)/solo bench sim --json bench-sim.json

docs: sync
	$(BIN)/mkdocs build --quiet
	@echo "Open build/site/index.html, or with search: $(PYTHON) -m http.server -d build/site"

pictures: sync
	$(BIN)/solo terrains show --output docs/images/terrains.png
	$(BIN)/solo depth show --output docs/images/depth.png
	$(BIN)/python docs/images/conventions.py --output docs/images/conventions.png
	$(BIN)/solo play shipped --terrain stairs_up --difficulty 0.5 --output docs/images/demo.gif

lock: sync
	$(BIN)/python .ci/lock.py

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache build dist
