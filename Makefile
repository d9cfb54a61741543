# Each target makes its own .venv when it is missing; nothing else has to be installed but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_WAIT_POLICY := PASSIVE

.PHONY: demo test lint bench docs clean

$(VENV)/.ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev,docs,viz,web,log]"
	@touch $@

demo: $(VENV)/.ready
	$(BIN)/ghosts demo

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n 3 --dist worksteal

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open build/site/index.html (to search it: $(BIN)/python -m http.server -d build/site)"

bench: $(VENV)/.ready
	$(BIN)/ghosts bench simulator
	$(BIN)/ghosts bench model

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build runs
