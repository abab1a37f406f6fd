# Makefile - the short names of what can be done here; each is one script or one call of CMake.
#
# PYTHON: the Python in use (python3). FLAGPROF_VENV: a venv to use in place of build/venv. V=1: show every command.
# Any FLAGOS_ variable given on the command line reaches the program: make demo FLAGOS_ACCELERATOR=ascend

PYTHON ?= python3
PREFIX ?= /usr/local
VENV := $(or $(FLAGPROF_VENV),$(CURDIR)/build/venv)
STEP := V=$(V) scripts/step.sh
export PYTHON

.PHONY: build
build: packages
	@$(STEP) "Configuring" cmake -S . -B build -G Ninja
	@$(STEP) "Building" ninja -C build product

.PHONY: help
help:
	@echo "make                build the command and the library into build/"
	@echo "make demo           record a small training on the accelerator found here, or on a simulated one"
	@echo "make test           every test that needs no accelerator; STEPS=\"c python\" for some (make test-list)"
	@echo "make test-matrix    the parity suite with other torch versions, one venv at a time"
	@echo "make test-layouts   our record layouts against all sixteen CUPTI releases"
	@echo "make check-layouts VENDOR=nvidia INCLUDE=DIR   a vendor's mirror against the headers installed here"
	@echo "make bench          the figures of docs/performance.md"
	@echo "make install        PREFIX=$(PREFIX) DESTDIR="
	@echo "make dist           a wheel and a source archive into dist/"
	@echo "make man | format | clean"

# --- what the targets stand on ---

.PHONY: packages test-packages venv test-venv cupti roctracer sysroot
packages:
	@scripts/bootstrap.sh build
test-packages:
	@scripts/bootstrap.sh build test
venv: packages
	@$(PYTHON) scripts/venv.py
test-venv: test-packages
	@$(PYTHON) scripts/venv.py --tests
# NVIDIA's headers judge our layouts and the simulated CUPTI is compiled against them. Without a network the tests that
# need them are skipped and say so; in CI that is an error.
cupti: test-venv
	@$(STEP) "Fetching CUPTI headers" $(VENV)/bin/python scripts/fetch_cupti.py $(if $(CI),,|| true)
# AMD's judge ROCtracer's layout.
roctracer: test-venv
	@$(STEP) "Fetching ROCtracer headers" $(VENV)/bin/python scripts/fetch_roctracer.py || true
# A compiler, an emulator and libraries of 64-bit Arm. Where they cannot be had, that step of the tests is skipped.
sysroot: packages
	@scripts/bootstrap.sh cross && scripts/sysroot.sh || true

# --- try it ---

.PHONY: demo
demo: venv
	@V=$(V) scripts/demo.sh $(VENV)/bin/python

# --- tests ---

.PHONY: test test-list test-matrix test-layouts check-layouts bench
test: test-venv cupti roctracer $(if $(FLAGPROF_SYSROOT)$(filter aarch64,$(shell uname -m)),,sysroot)
	@$(VENV)/bin/python tests/run.py $(STEPS)
test-list:
	@$(PYTHON) tests/run.py --list
test-matrix: cupti
	@$(PYTHON) tests/matrix.py $(if $(JSON),--json $(JSON)) $(TORCH)
test-layouts: test-venv
	@$(STEP) "Fetching all sixteen CUPTI releases" $(VENV)/bin/python scripts/fetch_cupti.py --all
	@FLAGPROF_ALL_RELEASES=1 $(VENV)/bin/python tests/run.py layouts
check-layouts:
	@$(PYTHON) tests/layouts/check_layouts.py $(VENDOR) $(INCLUDE)
bench: test-venv build
	@for bench in build/bench/bench_*; do [ ! -x $$bench ] || $$bench || exit 1; done
	@for bench in bench/bench_*.py; do [ ! -f $$bench ] || $(VENV)/bin/python $$bench || exit 1; done

# --- install ---

.PHONY: install dist man
install: build
	@DESTDIR=$(DESTDIR) $(STEP) "Installing into $(DESTDIR)$(PREFIX)" cmake --install build --prefix $(PREFIX)
dist: venv
	@$(STEP) "Building a wheel" $(VENV)/bin/python -m pip wheel --no-deps -w dist .
	@git archive --prefix=flagprof-$$(cat VERSION)/ -o dist/flagprof-$$(cat VERSION).tar.gz HEAD && ls dist
man: build
	@$(STEP) "Making the man pages" ninja -C build man

# --- housekeeping ---

.PHONY: format clean
format: test-venv
	@cd tests && $(VENV)/bin/python -m steps.lint
clean:
	@find build -mindepth 1 -maxdepth 1 ! -name venv ! -name cupti ! -name roctracer ! -name sysroot -exec rm -rf {} + 2>/dev/null || true
