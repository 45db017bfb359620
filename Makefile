# `make chat` and `make test` do their own set-up; a second run finds it done and starts at once.
# Use another interpreter with `make chat PYTHON=python3.12`.

MAKEFLAGS += --no-print-directory
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
PIP := $(INSTALL) -c constraints.txt
# Saves the first start half a second, and every start where PYTHONDONTWRITEBYTECODE is set.
COMPILE := $(BIN)/python -m compileall -qq src/dragoman
# The first pip that reads dependency groups.
GROUPS := 'pip>=25.1'
# The compiled tests are kept: compiling them anew is half the time of finding them.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
# Two processes share the tests; one that is alone with a test runs it by `pytest PATH`.
BOTH := -n 2 --dist worksteal
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3; do \
	$$name -c '$(RECENT)' 2>/dev/null && { echo $$name; break; }; done)

.PHONY: site chat serve test slow trust fuzz sbom audit check bench bench-peers results docs-help screenshots clean help

help:
	@echo "make chat       set up, and talk to the sample agent (MODEL=ollama:qwen3:4b: with that model)"
	@echo "make serve      set up, and serve the sample agent on this machine (ARGS='--port 9000' for more)"
	@echo "make test       set up, and run the tests (some minutes)"
	@echo "make slow       the tests that take longest: large files, every experiment, every page"
	@echo "make trust      what attackers, crashes and full disks must not achieve: every test that SECURITY.md names (minutes)"
	@echo "make fuzz       the same doors by fuzzing that coverage guides (atheris, which is built where there is no wheel: clang)"
	@echo "make sbom       what is installed as CycloneDX, in dist/sbom.json"
	@echo "make audit      licences, versions and files of what is installed; then known weaknesses, from a service"
	@echo "make check      formatting, lint, types and layers"
	@echo "make bench      print the figures of docs/performance.md"
	@echo "make bench-peers  compare the loop and the import with other frameworks"
	@echo "make results    run every experiment on the data in DRAGOMAN_DATA, write docs/results (an hour)"
	@echo "make docs-help  write docs/cli/README.md and docs/metrics.md anew"
	@echo "make site       the documents as a site, in dist/site"
	@echo "make screenshots  take the pictures of the page in docs/images anew"
	@echo "make clean      remove the environment and what tools left behind"

# Standard output carries the conversation alone, so that it can be piped; set-up talks on standard error.
chat: $(VENV)/.core $(VENV)/.weights
	@$(BIN)/dragoman chat $(if $(MODEL),--model $(MODEL))

serve: $(VENV)/.server $(VENV)/.weights
	@$(BIN)/dragoman serve $(ARGS)

test: $(VENV)/.dev $(VENV)/.weights $(VENV)/.bases $(VENV)/.chromium
	@$(PYTEST) $(BOTH) -m "not slow and not trust"

slow: $(VENV)/.dev $(VENV)/.weights $(VENV)/.bases $(VENV)/.chromium
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) $(BOTH) -m "slow and not trust"

trust: $(VENV)/.dev $(VENV)/.weights $(VENV)/.bases $(VENV)/.chromium $(VENV)/.strace
	@echo "== trust tests"
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) $(BOTH) -m trust

# SECONDS_EACH=600 make fuzz looks longer; what it finds lies in dist/fuzz.
SECONDS_EACH ?= 60
fuzz: $(VENV)/.fuzz
	@mkdir -p dist/fuzz
	@for name in formats agents experiments recipes conversations grammar records labelled http; do \
		echo "== $$name"; $(BIN)/python -m tests.trust.attacks.fuzzing $$name -max_total_time=$(SECONDS_EACH) -timeout=30 \
		-max_len=8192 -artifact_prefix=dist/fuzz/ >dist/fuzz/$$name.log 2>&1 || { tail -60 dist/fuzz/$$name.log; exit 1; }; \
		grep -E 'DONE|^Done' dist/fuzz/$$name.log; done

sbom: $(VENV)/.dev
	@$(BIN)/python -m tests.trust.supply --sbom dist/sbom.json

# The first half needs no network. The second fails where its service cannot be reached: nothing was audited then.
audit: $(VENV)/.dev $(VENV)/audit/bin/pip-audit
	@$(BIN)/python -m tests.trust.supply
	@$(VENV)/audit/bin/pip-audit --strict --progress-spinner off \
		--path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

check: $(VENV)/.dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

# What needs nothing but this machine; `benchmarks/` holds more, which needs data or other frameworks.
bench: $(VENV)/.dev $(VENV)/.weights
	@missed=; for name in speed/imports speed/loop speed/remote_model speed/encoder speed/latency search/search; do \
		echo "== $$name"; $(BIN)/python benchmarks/$$name.py || missed="$$missed $$name"; done; \
		test -z "$$missed" || { echo "Past their limits:$$missed" >&2; exit 1; }

# The others are installed into an environment of their own, never into ours.
bench-peers: $(VENV)/.dev
	@missed=; for name in loop imports; do \
		echo "== $$name"; $(BIN)/python benchmarks/speed/$$name.py --peers $(VENV)/peers || missed="$$missed $$name"; done; \
		test -z "$$missed" || { echo "Past their limits:$$missed" >&2; exit 1; }

# Finished runs are taken as they are: remove runs/results to measure everything anew.
results: $(VENV)/.dev $(VENV)/.weights
	@$(BIN)/python docs/generate_results.py --keep

docs-help: $(VENV)/.dev
	@$(BIN)/python docs/generate_help.py
	@$(BIN)/python docs/generate_metrics.py

site: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Chinese letters need a font that has them, such as Debian's fonts-noto-cjk.
screenshots: $(VENV)/.dev $(VENV)/.weights $(VENV)/.chromium
	@DRAGOMAN_IMAGES=docs/images $(BIN)/python -m pytest tests/server/page/test_screenshots.py

clean:
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
		echo "Dragoman needs Python 3.11 or newer, and none was found (python3 is $$(python3 -V 2>&1))." >&2; \
		echo "Install it, or name it: make chat PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c '$(RECENT)' || { \
		echo "$(PYTHON) is $$($(PYTHON) -V 2>&1); Dragoman needs Python 3.11 or newer." >&2; \
		echo "Name another one: make chat PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) -V)" >&2
	@$(PYTHON) -m venv $(VENV) >&2 </dev/null || { \
		echo "The venv module does not work; on Debian or Ubuntu install the package python3-venv." >&2; \
		rm -rf $(VENV); exit 1; }

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Dragoman (about a minute, once)" >&2
	@$(PIP) -e . >&2 </dev/null
	@$(COMPILE)
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Dragoman with what its tests need (about a minute, once)" >&2
	@$(INSTALL) $(GROUPS) >&2 </dev/null
	@$(PIP) -e '.[all]' --group dev >&2 </dev/null
	@$(COMPILE)
	@touch $@ $(VENV)/.core $(VENV)/.server

$(VENV)/.server: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Dragoman with its server (about a minute, once)" >&2
	@$(PIP) -e '.[server]' >&2 </dev/null
	@$(COMPILE)
	@touch $@ $(VENV)/.core

$(VENV)/.fuzz: | $(VENV)/.dev
	@echo "Installing atheris (some minutes where it has to be built, which needs clang and its libFuzzer)" >&2
	@$(PIP) --group fuzz >&2 </dev/null
	@touch $@

# In an environment of its own: it looks at ours, and is no part of it.
$(VENV)/audit/bin/pip-audit: | $(VENV)/.dev
	@$(PYTHON) -m venv $(VENV)/audit >&2 </dev/null
	@$(VENV)/audit/bin/python -m pip install -qq --disable-pip-version-check 'pip-audit>=2.8' >&2 </dev/null

# Fetched at first use as well; the stamp only saves looking each time.
$(VENV)/.weights: | $(VENV)/.core
	@$(BIN)/dragoman models pull >&2 </dev/null
	@touch $@

# What tests of training begin from.
$(VENV)/.bases: | $(VENV)/.dev
	@$(BIN)/dragoman models pull all-minilm-l6-v2 >&2 </dev/null
	@touch $@

# The browser of the page's tests: Debian's, where there is none.
$(VENV)/.chromium: | $(VENV)/.dev
	@test -z "$$CHROMIUM" || exit 0; for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
		echo "Installing Chromium for the tests of the page" >&2; \
		$$(test "$$(id -u)" = 0 || echo sudo) apt-get install -y -qq chromium >&2 </dev/null || { \
		echo "It could not be installed: install Chromium by hand, or name it in CHROMIUM." >&2; exit 1; }
	@touch $@

# The tracer of tests/trust/privacy/test_outbound.py, which is skipped where it cannot be installed.
$(VENV)/.strace: | $(VENV)/.dev
	@command -v strace >/dev/null || { echo "Installing strace for the tests of outbound traffic" >&2; \
		$$(test "$$(id -u)" = 0 || echo sudo) apt-get install -y -qq strace >&2 </dev/null || \
		echo "It could not be installed: these tests will be skipped." >&2; }
	@touch $@
