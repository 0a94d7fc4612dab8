# The front door. Every target sets up what it needs in .venv by itself, once: with uv where it is installed, else with pip.
# Running needs little; tests, style and benchmarks need more, and only who asks for them waits for that.
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
UV := $(shell command -v uv 2>/dev/null)
# The first interpreter that is new enough and can make virtual environments; override with PYTHON=...
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11 python; do \
	if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	echo $$candidate; break; fi; done)

.PHONY: help setup run examples test test-long fuzz soak kube lint format bench quality bench-kube clean
.DEFAULT_GOAL := help

help: ## Show what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(DEV) ## Create .venv with everything in it

# $(call install,WHAT,WHY): says what it is for and, while that takes its time, what it is at. The status is pip's.
ifneq ($(UV),)
define install
	@test -x $(BIN)/python || $(UV) venv --quiet --python '>=3.11' $(VENV)
	@echo 'Installing what $(2), in $(VENV) (once) ...'
	@$(UV) pip install --python $(BIN)/python --editable '$(1)'
endef
else
define install
	@test -n "$(PYTHON)" || { echo "Reprieve needs Python 3.11 or newer with the venv module; none was found." >&2; exit 1; }
	@test -x $(BIN)/python || { echo 'Making $(VENV) ...'; $(PYTHON) -m venv $(VENV); }
	@echo 'Installing what $(2), in $(VENV) (once) ...'
	@{ $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --editable '$(1)'; echo "exit $$?"; } \
		| awk '/^Collecting /{printf "  %s\n", $$2; fflush()} /^Installing collected/{print "  unpacking"; fflush()} \
		/^exit /{status = $$2} END{exit status}'
endef
endif

$(RUNTIME): pyproject.toml src/reprieve/__init__.py
	$(call install,.,running needs)
	@touch $@

$(DEV): pyproject.toml src/reprieve/__init__.py
	$(call install,.[dev],tests and checks need)
	@touch $(RUNTIME) $@

run: $(RUNTIME) ## Start a control plane and see all five designs at work
	@$(BIN)/reprieve up --demo

examples: $(RUNTIME) ## Decide over the examples, and run their cases
	@for example in examples/[01]*/; do \
		printf '\n$$ reprieve plan -f %s\n' "$$example"; \
		$(BIN)/reprieve plan -f "$$example" || exit; done
	@printf '\n$$ reprieve test examples/cases\n'; $(BIN)/reprieve test examples/cases

# A worker for each core and one more: tests that talk to an API server wait more than they compute. What one file sets up,
# such as a real API server, is set up once in each of them. Files are taken
# in their order: by the number of their tests, those with one long test would come last, when there is nothing to do beside
# them. The contract counts what was answered in all of its tests, so that one process runs them.
WORKERS := -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist loadfile --no-loadscope-reorder

test: $(DEV) ## Run the tests
	$(BIN)/python -m pytest $(WORKERS) --ignore=tests/server/test_contract.py
	$(BIN)/python -m pytest tests/server/test_contract.py

# The same tests over many more random worlds and lives, and with a thousand kills; about an hour.
LONG := REPRIEVE_RANDOM=1 REPRIEVE_HOSTILE=1 REPRIEVE_KILLS=1000 REPRIEVE_LIVES=1000 REASON_WORLDS=10 \
	REFERENCE_EXAMPLES=5000 TABLE_EXAMPLES=250 \
	LAW_EXAMPLES=1000 BINDING_WORLDS=10000 GROUP_EXAMPLES=500 GANG_WORLDS=3000 SCORE_EXAMPLES=5000 \
	QUEUE_EXAMPLES=600 QUEUE_RESTS=2000 QUEUE_WORLDS=2000 QUEUE_LAW_WORLDS=10000 QUEUE_LAW_LIVES=2000 \
	KEP83_WORLDS=10000 QUOTA_WORLDS=2000 REPRIEVE_TOPOLOGY_WORLDS=2000 \
	TASK_GROUP_WORLDS=1000 REQUIRED_NODE_WORLDS=3000 REPRIEVE_KUBE_FAULTS=200

test-long: $(DEV) ## Run the tests with random worlds, lives and kills over many more of them
	$(LONG) $(BIN)/python -m pytest $(WORKERS) tests/crash tests/hostile tests/engine tests/policies tests/scheduler \
		tests/kube/test_under_fire.py

fuzz: $(DEV) ## Send a real control plane bodies that nobody would write; SECONDS=3600
	REPRIEVE_FUZZ_SECONDS=$(or $(SECONDS),3600) $(BIN)/python -m pytest -n 0 -s tests/hostile/test_fuzz.py

# A hundred thousand Jobs in virtual time, about half an hour: what they cost is in the picture.
soak: $(DEV) ## Live through a virtual week of Jobs, and draw what it took
	$(BIN)/python -m tools.soak.run --jobs 100000 --curve soak.csv --picture docs/pictures/soak.svg

# Tests against a real Kubernetes use them when they are there, and are skipped else.
kube: $(RUNTIME) ## Provide a real Kubernetes control plane for the tests: from KUBEBUILDER_ASSETS, or built with Go, once
	@$(BIN)/python tools/kube/provide.py

lint: $(DEV) ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV) ## Put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(RUNTIME) ## Measure, as ratios within one run
	$(BIN)/python -m benchmarks

quality: ## Measure plans against proven optima; WORLDS=200
	$(call install,.[optimal],proofs need)
	$(BIN)/python -m benchmarks.quality $(or $(WORLDS),200)

bench-kube: $(DEV) kube ## Measure against a real API server, next to kube-scheduler; PAGE=1 writes docs/kubernetes-speed.md
	$(BIN)/python -m benchmarks.kube $(if $(PAGE),page)

clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
