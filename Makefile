# The commands of the project. Each makes the virtual environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench reproduce clean

demo: $(VENV)/.installed
	$(BIN)/reticent demo

test: check
	$(BIN)/python -m pytest
	$(BIN)/python -m tests.golden tests/golden/*.json

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src/reticent

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.draw
	$(BIN)/python -m benchmarks.tally
	$(BIN)/python -m benchmarks.mle
	$(BIN)/python -m benchmarks.npmle

reproduce: $(VENV)/.installed-test
	$(BIN)/python -m reproductions.subset_privacy
	$(BIN)/python -m reproductions.interval_privacy

clean:
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/.installed
