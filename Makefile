# Each target makes its own .venv if there is none. PYTHON chooses the interpreter that makes it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow fuzz check docs bench-quick lock audit-dependencies sbom clean peers

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Understudy needs Python 3.11 or newer; say PYTHON=python3.11 make ..."; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

demo: $(STAMP)
	$(BIN)/understudy demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m slow

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

docs: $(STAMP)
	$(BIN)/python docs/check.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The documentation is in site/index.html"

# A million crafted files, each kind in processes of its own: about 40 processor minutes. An interrupted run goes on.
fuzz: $(STAMP)
	$(BIN)/python -m benchmarks run fuzz --size full

bench-quick: $(STAMP)
	$(BIN)/python -m benchmarks run accounting ensemble demo --out .benchmarks

# Other people's synthesisers, each in an environment of its own (`python -m benchmarks run peers` drives them).
peers: $(STAMP)
	-for name in smartnoise dpmm; do $(BIN)/python -m benchmarks.peers.make_env $$name; done

lock:
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --python-version 3.11 --no-annotate --no-header --no-emit-index-url --generate-hashes --extra dev --extra evaluation --extra sign --extra postgres --extra files --extra dask pyproject.toml -o requirements.lock

# Tools that look at the environment live in one of their own: they are no part of what they look at.
TOOLS := .venv-tools
$(TOOLS)/.installed:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check pip-audit cyclonedx-bom
	touch $@

# Known vulnerabilities in what is locked; asks a database on the internet.
audit-dependencies: $(TOOLS)/.installed
	$(TOOLS)/bin/pip-audit --requirement requirements.lock --require-hashes --disable-pip

# The parts list of the environment, with licences, in CycloneDX's format.
sbom: $(STAMP) $(TOOLS)/.installed
	$(TOOLS)/bin/cyclonedx-py environment $(BIN)/python --output-format JSON --output-file sbom.json

clean:
	rm -rf $(VENV) $(TOOLS) sbom.json .pytest_cache .ruff_cache site demo-output
