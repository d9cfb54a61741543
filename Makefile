# Each target makes its own .venv when it is missing; nothing else has to be installed but Python 3.10+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_WAIT_POLICY := PASSIVE
# The tests start some hundred processes, each of which would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lowest lock lint bench docs images script audit clean

OURS := -e "./sim[prepare]" -e "./houses[viz]" -e "./ghosts[deploy,log,recordings,viz,web]" -e ./benchmarks

$(VENV)/.ready: pyproject.toml constraints.txt $(wildcard */pyproject.toml) sim/hatch_build.py sim/src/ghosts_sim/native.c
	@test -x $(BIN)/python || $(PYTHON) -m venv --upgrade-deps $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt $(OURS) --group dev --group docs
	@touch $@

demo: $(VENV)/.ready
	$(BIN)/ghosts demo

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The faster half of the tests with the lowest versions that the pyproject.toml files allow (300 MB). Only torch is that of
# .venv: its lowest version brings gigabytes for GPUs. httpx is what the tests' client of old Starlettes needs.
LOWEST := build/lowest
UV := build/uv/bin/uv
$(UV):
	$(PYTHON) -m venv build/uv && build/uv/bin/pip install --quiet uv

# Newer versions into constraints.txt, which every Python and system takes its own lines of; a registry's address is in none.
lock: $(UV)
	@mkdir -p build
	printf -- '-e %s\n' $(filter-out -e,$(OURS)) > build/ours.txt
	$(UV) pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --no-emit-index-url --no-emit-find-links --upgrade --group dev --group docs build/ours.txt | grep -v '^-e ' > build/constraints.txt
	mv build/constraints.txt constraints.txt

lowest: $(VENV)/.ready $(UV)
	$(UV) venv --quiet --clear --python $(BIN)/python $(LOWEST)
	echo 'torch; python_version < "3"' > $(LOWEST)/without-torch.txt
	$(UV) pip install --quiet --python $(LOWEST) --resolution lowest-direct --only-binary numpy --only-binary pillow --overrides $(LOWEST)/without-torch.txt $(OURS) --group dev "httpx>=0.27"
	$(BIN)/python -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])' > $$(echo $(LOWEST)/lib/python3*/site-packages)/torch.pth
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal -k "not no_http" --ignore=ghosts/tests/view/test_browser.py --ignore=ghosts/tests/view/test_pictures.py sim/tests houses/tests $(addprefix ghosts/tests/,agent belief cli data mapping view words)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vermin --quiet --no-tips --violations --target=3.8- --exclude typing.TypeGuard sim benchmarks/clients  # where MatterSim's clients live
	$(BIN)/vermin --quiet --no-tips --violations --target=3.10- --exclude long houses/src ghosts/src benchmarks/src examples testing

docs: $(VENV)/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open build/site/index.html (to search it: $(BIN)/python -m http.server -d build/site)"

# The pictures of viewer and report in docs/images, by the shipped weights; needs Chromium. HOUSES is the demo's world.
# LANDMARKS is a data root of real buildings, which cannot be shipped: without it, the pictures of one stay as they are.
HOUSES ?= runs/demo/world-299
images: $(VENV)/.ready
	@mkdir -p build
	@test -d $(HOUSES) || $(BIN)/ghosts demo
	$(BIN)/ghosts report --data $(HOUSES) --run houses-agent --baseline --examples 24 --show 3 --figures docs/images --out build/report.html
	$(if $(LANDMARKS),$(BIN)/ghosts report --data $(LANDMARKS) --run landmarks-agent --examples 24 --show 3 --figures docs/images --out build/landmarks.html)

# What the tests hold to be run by hand, such as: make script RUN="ghosts/tests/robust/fuzz.py --minutes 60 --seed 7"
script: $(VENV)/.ready
	PYTHONPATH=testing:sim/tests:houses/tests:ghosts/tests:tests $(BIN)/python $(RUN)

# Known vulnerabilities of everything installed, by PyPI's advisories; needs a network. In its own environment, so that it does not audit itself.
audit: $(VENV)/.ready
	@test -x build/audit/bin/pip-audit || ($(PYTHON) -m venv --upgrade-deps build/audit && build/audit/bin/pip install --quiet pip-audit)
	build/audit/bin/pip-audit --strict --skip-editable --path "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

bench: $(VENV)/.ready
	$(BIN)/ghosts bench simulator
	$(BIN)/ghosts bench model

# Not runs/: trained models are there, and nothing makes them again.
clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build
