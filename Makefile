# SPDX-License-Identifier: Apache-2.0
#
# Every target does its own set-up; the second time there is nothing to do.

PYTHON ?= python3
VENV := .venv
STAMPS := $(VENV)/.stamps
CLI := $(VENV)/bin/docsis-p4

# What to run, and on what: make demo TIER=cable-2018, make ptf TARGET=bmv2
TOPOLOGY ?= topologies/residential.yaml
TIER ?=
TARGET ?= embedded
AQM ?= docsis-pie
SEED ?= 1

OPTIONS = --topology "$(TOPOLOGY)" $(if $(TIER),--tier "$(TIER)") --target "$(TARGET)"
CORES := $(shell nproc)
PYTHON_CODE = conftest.py cli control_plane experiments labs mininet ptf_tests docs/site_hooks

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# In order, whatever -j says: only the parts of `make test` that say so run side by side.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
# Before cargo: it takes its jobs from make's where parts run side by side (and -n runs nothing).
SHARES_JOBS = $(if $(SIDE_BY_SIDE),$(if $(findstring n,$(firstword -$(MAKEFLAGS))),,+))

.PHONY: help
help: ## this list
	@echo 'Targets:'
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	    while IFS='|' read -r target text; do printf '%-19s %s\n' "$$target" "$$text"; done
	@echo 'Variables: TOPOLOGY=file.yaml TIER=cable-20|cable-2018 TARGET=embedded|bmv2 AQM=docsis-pie|codel|... (docs/queue-managers.md)'

# --- Set-up -----------------------------------------------------------------

# With sudo, what the next make without it changes is given back to the user whose clone this is, even where the
# command before has failed.
CACHES = .pytest_cache .ruff_cache .mypy_cache .hypothesis
GIVE_BACK = mininet/setup/give-back.sh $(VENV) switch/target control_plane/docsis_control/gen results $(CACHES)
GIVES_BACK = ; status=$$?; $(GIVE_BACK); exit $$status

.PHONY: setup setup-mininet setup-virtual setup-video packages build-packages rust switch world
# Python's packages are installed while cargo compiles, and cargo compiles only what is asked for.
ifdef SIDE_BY_SIDE
setup: setup-mininet setup-virtual $(STAMPS)/byte-code
setup-mininet: packages $(STAMPS)/python $(STAMPS)/mininet $(STAMPS)/stubs switch
setup-virtual: $(STAMPS)/python $(STAMPS)/stubs world
else
TOGETHER = @$(MAKE) --no-print-directory --jobs=$(CORES) SIDE_BY_SIDE=yes
setup: ## Debian packages, Python environment, the switch, the virtual world
	$(TOGETHER) $@ $(GIVES_BACK)
# What a run in Mininet takes: no virtual world, none of the packages that only tests use, and no TLS.
setup-mininet:
	$(TOGETHER) CRATES=docsis-switch FEATURES="$(ENOUGH)" PACKAGES=run $@ $(GIVES_BACK)
# What virtual time takes: no switch, no Mininet, and no root where a compiler and Python's venv are there.
setup-virtual:
	$(TOGETHER) CRATES=docsis-world FEATURES="$(ENOUGH)" $@ $(GIVES_BACK)
endif

# The browser of adaptive videos in Mininet is as large as all the rest, and few runs want it.
setup-video: packages ## besides, the browser that plays adaptive videos in Mininet
	@mininet/setup/debian-packages.sh "$(PYTHON)" video

packages:
	@mininet/setup/debian-packages.sh "$(PYTHON)" $(PACKAGES)

# Nothing is compiled where the PTF suite tests a switch of somebody else's.
BUILD = $(if $(and $(filter ptf,$(MAKECMDGOALS)),$(findstring :,$(TARGET))),python,build)
build-packages:
	@mininet/setup/debian-packages.sh "$(PYTHON)" $(BUILD)

$(STAMPS)/mininet: mininet/setup/mininet-package.sh $(STAMPS)/python | packages
	@mininet/setup/mininet-package.sh "$(VENV)"
	@touch $@

ENVIRONMENT = mininet/setup/python-environment.sh
$(STAMPS)/protocol: requirements.lock $(ENVIRONMENT) | build-packages
	@$(ENVIRONMENT) "$(PYTHON)" "$(VENV)" protocol
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/python: requirements.lock pyproject.toml $(ENVIRONMENT) $(STAMPS)/protocol | build-packages
	@$(ENVIRONMENT) "$(PYTHON)" "$(VENV)"
	@touch $@

# A program compiles what it imports when it does so for the first time; tests import everything, many at once.
$(STAMPS)/byte-code: $(STAMPS)/python
	@$(VENV)/bin/python -m compileall -q -j $(CORES) $(VENV)/lib
	@touch $@

$(STAMPS)/stubs: $(wildcard switch/proto/docsis/*/v1/*.proto) mininet/setup/proto-stubs.sh $(STAMPS)/python
	@mininet/setup/proto-stubs.sh "$(VENV)"
	@touch $@

# Root has no Rust of its own as a rule. With sudo that of the user who called it serves; nothing is written there.
SUDO_HOME := $(if $(SUDO_USER),$(shell command -v cargo >/dev/null || getent passwd "$(SUDO_USER)" | cut -d: -f6))
ifneq ($(and $(SUDO_HOME),$(wildcard $(SUDO_HOME)/.cargo/bin/cargo)),)
export PATH := $(PATH):$(SUDO_HOME)/.cargo/bin
export RUSTUP_HOME ?= $(SUDO_HOME)/.rustup
endif

# cargo knows better than a stamp what is out of date. What two crates depend on has the same features
# for each of them, or cargo would compile it a second time; a test compares them.
CRATES ?= docsis-switch docsis-world
RELEASE = $${CARGO_TARGET_DIR:-target}/release
# Runs of ours listen on loopback: TLS is left out until somebody builds everything, and then stays.
ENOUGH = $(shell cd switch && ls "$(RELEASE)"/deps/librustls-*.rlib >/dev/null 2>&1 || echo --no-default-features)
rust: $(STAMPS)/protocol | build-packages
	@command -v cargo >/dev/null || { echo 'set-up: cargo is not on PATH; install Rust first' >&2; exit 1; }
	@echo 'set-up: compiling $(CRATES)'
	@$(SHARES_JOBS)cd switch && cargo build --release --locked --quiet $(FEATURES) $(CRATES:%=--package %)

switch: packages rust
	@cd switch && "$(RELEASE)/docsis-switch" install-alias target/bin >/dev/null

world: $(STAMPS)/python rust
	@mininet/setup/world-module.sh "$(VENV)"

# --- The demo ----------------------------------------------------------------

.PHONY: demo demo-virtual run stop clean bench performance figures
demo-virtual: setup-virtual ## the demo in virtual time: no root, no Mininet, seconds; SEED=1
	@$(CLI) demo $(OPTIONS) --virtual --seed "$(SEED)" $(GIVES_BACK)

demo: setup-mininet ## the demo: three queue managers under load, and a report
	@$(CLI) demo $(OPTIONS) $(GIVES_BACK)

run: setup-mininet ## the system running, with you in the Mininet command line
	@$(CLI) run $(OPTIONS) --aqm "$(AQM)" $(GIVES_BACK)

figures: setup ## the papers' figures about single decisions, made of the pipeline
	@$(CLI) figures $(GIVES_BACK)

bench: setup ## the switch's speed beside a bare forwarder (and BMv2 where installed), and virtual time's
	@$(CLI) bench $(GIVES_BACK)
	@$(CLI) bench --virtual 100 $(GIVES_BACK)

performance: setup ## docs/performance.md's figures anew, in one sitting of about 20 minutes on a quiet machine
	@folder=results/$$(date +%Y%m%d-%H%M%S)-figures && $(CLI) bench --all --output "$$folder" && \
	    $(VENV)/bin/python -m docsis_experiments.bench.page "$$folder/figures.json" docs/performance.md $(GIVES_BACK)

stop: ## end what runs, and only what is ours
	@if [ -x $(CLI) ]; then $(CLI) stop; else echo 'nothing is set up, so nothing of ours runs'; fi

clean: ## stop, and remove what set-up and runs made; results/ stays
	@if [ -x $(CLI) ]; then $(CLI) clean; fi
	@rm -rf $(VENV) $(DOCS_VENV) site switch/target control_plane/docsis_control/gen
	@rm -rf $(CACHES)

# --- P4 ------------------------------------------------------------------------

.PHONY: p4 p4-check
p4: packages $(STAMPS)/python ## compile p4src/ with the p4c on PATH
	@$(CLI) p4 build

p4-check: packages $(STAMPS)/python
	@$(CLI) p4 check

# --- Tests -----------------------------------------------------------------------

.PHONY: test test-all lint lint-python lint-rust fmt ptf test-rust test-python test-experiments test-the-rest \
    test-end-to-end
# All of it runs side by side, so that no core waits: what has a clock runs in time on a busy
# machine, too. The longest first.
PARTS = test-rust lint-rust ptf test-end-to-end test-experiments test-the-rest lint-python p4-check demo-virtual
JOBS = 4
# What has no clock gives way to the PTF suite and the end-to-end tests, which wait for each other.
GIVES_WAY = $(if $(SIDE_BY_SIDE),nice -n 10)

# Is to fit into 15 minutes, set-up included. What is left out is marked `long` with the reason
# beside it: a mark of pytest, a group of PTF, an ignored test in Rust.
test: ## every test but those marked long
	@$(MAKE) --no-print-directory every-part WITHOUT_LONG=yes
	@echo 'make test: everything passed but what takes long, which make test-all runs'

test-all: every-part ## every test
	@echo 'make test-all: everything passed'

.PHONY: every-part
every-part:
	@echo 'make: side by side, each with its output when it has ended: set-up, $(PARTS)'
	@$(MAKE) --no-print-directory --jobs=$(JOBS) --output-sync=target SIDE_BY_SIDE=yes setup $(PARTS) $(GIVES_BACK)

lint: lint-python lint-rust ## formatters and linters, checking only

lint-python: $(STAMPS)/stubs
	$(VENV)/bin/ruff format --check $(PYTHON_CODE)
	$(VENV)/bin/ruff check $(PYTHON_CODE)
	$(GIVES_WAY) $(VENV)/bin/mypy $(PYTHON_CODE)

# jemalloc is C and takes more than a minute to compile: the development build takes the release's.
JEMALLOC = found=$$(ls -d "$$PWD"/target/release/build/tikv-jemalloc-sys-*/out/lib/libjemalloc_pic.a \
    2>/dev/null | head -n 1) && { [ -z "$$found" ] || export JEMALLOC_OVERRIDE="$$found"; }

# Clippy compiles what the tests run: with what `cargo clippy` only checks no test can be linked, and
# every dependency would be read twice. Nobody edits between the two, so nothing is incremental.
LINTED = $(JEMALLOC) && export CARGO_INCREMENTAL=0 RUSTC_WORKSPACE_WRAPPER="$$PWD/clippy-rustc.py"

# Before it comes what a newcomer's first command compiles, which no other part builds. `make test` leaves it out:
# it takes 45 s of a processor (AMD EPYC, 2026-11-28), and compiles no file that the other build does not.
lint-rust: switch
	cd switch && cargo fmt --check
	$(if $(WITHOUT_LONG),,$(SHARES_JOBS)cd switch && $(LINTED) && $(GIVES_WAY) cargo build --locked --quiet --no-default-features --package docsis-switch)
	$(SHARES_JOBS)cd switch && $(LINTED) && $(GIVES_WAY) cargo build --locked --quiet --all-targets

fmt: $(STAMPS)/python ## format the code
	$(VENV)/bin/ruff check --fix $(PYTHON_CODE)
	$(VENV)/bin/ruff format $(PYTHON_CODE)
	cd switch && cargo fmt

# In the development profile: with overflow checks and debug assertions. Examples are clippy's.
test-rust: switch $(if $(SIDE_BY_SIDE),lint-rust)
	$(SHARES_JOBS)cd switch && $(LINTED) && $(GIVES_WAY) cargo test --locked --quiet --lib --bins --tests \
	    $(if $(WITHOUT_LONG),,-- --include-ignored)

# Two halves: at the end, when nothing else is left, each has a core. They take about as long because
# the tests of `docsis-p4 reproduce` are in the second, and those of two small folders in the first.
test-python: test-experiments test-the-rest
REPRODUCTION = test_reproduce_*.py
WITH_EXPERIMENTS = experiments/tests mininet/tests ptf_tests/tests
PYTEST = $(GIVES_WAY) $(VENV)/bin/pytest --durations=25 -m 'not end_to_end$(if $(WITHOUT_LONG), and not long)'

test-experiments: setup setup-video
	$(PYTEST) $(WITH_EXPERIMENTS) --ignore-glob='*/$(REPRODUCTION)'

test-the-rest: setup setup-video
	$(PYTEST) $(filter-out $(WITH_EXPERIMENTS),$(wildcard */tests)) $(wildcard experiments/tests/$(REPRODUCTION))

# Their files alone: pytest imports every file that it looks for them in.
END_TO_END = $(shell grep -rl --include='test_*.py' 'pytest.mark.end_to_end' $(PYTHON_CODE))

# After the PTF suite, which has switches of its own: a machine has one run at a time.
test-end-to-end: setup $(if $(SIDE_BY_SIDE),ptf)
	$(VENV)/bin/pytest -m 'end_to_end$(if $(WITHOUT_LONG), and not long)' $(END_TO_END)

# A switch of somebody else's needs none of ours, and no Rust.
PTF_OPTIONS = $(if $(DEVICE_ID),--device-id "$(DEVICE_ID)") $(foreach port,$(PORTS),--port "$(port)") \
    $(if $(PROGRAMS),--programs "$(PROGRAMS)")
ptf: $(if $(findstring :,$(TARGET)),$(STAMPS)/stubs,setup) ## the PTF suite; TARGET=bmv2, or HOST:PORT with PORTS="1=eth1 2=eth2 3=eth3" DEVICE_ID=0
	@$(CLI) ptf --target "$(TARGET)" $(PTF_OPTIONS) $(TESTS) $(if $(WITHOUT_LONG),^long) $(GIVES_BACK)

# --- Documentation -----------------------------------------------------------------

# An environment of its own, so that set-up need not install what only the site needs.
DOCS_VENV := .venv-docs
$(DOCS_VENV)/.installed: requirements-docs.lock
	@echo 'set-up: installing what the documentation needs from requirements-docs.lock'
	@rm -rf $(DOCS_VENV)
	@"$(PYTHON)" -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/pip install --quiet --progress-bar off --no-deps --requirement requirements-docs.lock
	@touch $@

.PHONY: docs
docs: $(DOCS_VENV)/.installed ## the documentation as a site, site/index.html, which opens without a network
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --quiet
	@echo 'docs: site/index.html'

# Tests fail where the names, a page or the benchmark's file are others than the queue managers make.
.PHONY: tables
tables: $(STAMPS)/stubs ## register p4src's queue managers: the controller's names, tables of the docs, the benchmark's list
	@$(VENV)/bin/python -m docsis_control.queue_managers.registration p4src/include/queue_managers.p4
	@$(VENV)/bin/python -m docsis_control.queue_managers.tables docs/queue-managers.md docs/p4-contract.md
	@$(VENV)/bin/python -m docsis_control.queue_managers.benchmarks p4src/queue_managers.json

# --- For developers ------------------------------------------------------------

# Takes hours: a copy of the last commit is changed in one place, built and tested, COUNT times. What was
# stopped goes on. AREAS="traffic-manager laws" leaves out the pipeline, which needs p4c.
.PHONY: mutants mutant-list
COUNT ?= 64
mutants: setup ## change the sources mechanically, and see that tests fail: SEED=1 COUNT=64
	@$(VENV)/bin/python -m docsis_mutants run --seed "$(SEED)" --count "$(COUNT)" --areas $(AREAS)

mutant-list: $(STAMPS)/python ## write the list of all such changes anew, which comes before a draw
	@$(VENV)/bin/python -m docsis_mutants list

.PHONY: fuzz
FUZZED_IN_RUST := packets json p4runtime stf tcp recording mac
FUZZED_IN_PYTHON := experiment sweep population topology outcomes kept summary unit reproduction
FUZZED = $(if $(filter $(FUZZED_IN_RUST) $(FUZZED_IN_PYTHON),$(TARGET)),$(TARGET),packets)
MINUTES ?= 10
FUZZ_LIMITS = -max_total_time=$$(($(MINUTES) * 60)) -timeout=25 -rss_limit_mb=2048 -print_final_stats=1
fuzz: ## fuzz a target, such as TARGET=mac or TARGET=experiment, for MINUTES=10; experiments/fuzz and switch/fuzz list them
	@$(MAKE) --no-print-directory $(if $(filter $(FUZZED),$(FUZZED_IN_PYTHON)),fuzz-python,fuzz-rust)

# Where the fuzzer begins, from switch/fuzz, and the longest input.
FUZZ_SEEDS_json = ../crates/v1model/tests/programs
FUZZ_OPTIONS_json = -max_len=110000 -dict=json.dict
FUZZ_OPTIONS_p4runtime = -max_len=65536
FUZZ_SEEDS = $(or $(FUZZ_SEEDS_$(FUZZED)),seeds/$(FUZZED))
FUZZ_OPTIONS = $(or $(FUZZ_OPTIONS_$(FUZZED)),-max_len=4096 -len_control=0)
.PHONY: fuzz-rust
# Needs cargo-fuzz; see switch/fuzz/README.md.
fuzz-rust:
	@mkdir -p switch/fuzz/corpus/$(FUZZED)
	@cd switch/fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir . $(FUZZED) \
	    corpus/$(FUZZED) $(FUZZ_SEEDS) -- $(FUZZ_OPTIONS) $(FUZZ_LIMITS)

# A folder of its own, so that set-up need not install what only the fuzzer needs.
FUZZ_LIB := .venv-fuzz
$(FUZZ_LIB)/.installed: requirements-fuzz.lock | packages
	@rm -rf $(FUZZ_LIB)
	@$(VENV)/bin/pip install --quiet --progress-bar off --no-deps --target $(FUZZ_LIB) --requirement requirements-fuzz.lock
	@touch $@

.PHONY: fuzz-python
fuzz-python: $(FUZZ_LIB)/.installed
	@mkdir -p experiments/fuzz/artifacts/$(FUZZED)
	@PYTHONPATH=$(FUZZ_LIB) $(VENV)/bin/python experiments/fuzz/run.py $(FUZZED) $(FUZZ_LIMITS) \
	    -max_len=1048576 -artifact_prefix=experiments/fuzz/artifacts/$(FUZZED)/

.PHONY: lock
lock: packages ## resolve pyproject.toml and requirements*.in into their .lock files
	@mininet/setup/lock.sh "$(PYTHON)"
