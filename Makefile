# credd. `make help` says what there is; CONTRIBUTING.md says why.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
# `make V=1 …` shows the commands.
ifndef V
.SILENT:
endif

PREFIX ?= /usr
DESTDIR ?=
# Installs the named Debian packages that are missing. Elsewhere, or to be left alone:
# `make INSTALL_PACKAGES=true …`.
INSTALL_PACKAGES ?= scripts/install-dependencies

# What each target needs beside the Swift toolchain.
BUILD_PACKAGES := binutils ca-certificates git libc6-dev libcurl4-openssl-dev libsystemd-dev
PYTHON_PACKAGES := python3 python3-venv
DEMO_PACKAGES := curl netcat-openbsd
# systemd-socket-activate is in systemd; redis-server is what the benchmarks' peer is.
BENCH_PACKAGES := gcc git openssh-client python3 redis-server
TEST_PACKAGES := curl fish gcc mandoc netcat-openbsd openssl shellcheck systemd zsh

PROGRAMS := credd credctl credd-sandbox
BINARIES := $(PROGRAMS:%=build/bin/%)
# The folders too: their time changes when a file goes.
SOURCES := Package.swift $(shell find Sources)

define need_swift
command -v swift >/dev/null || { \
  echo 'swift is missing: install Swift 6.2 or later, see https://www.swift.org/install' >&2; \
  exit 1; }
endef

.PHONY: help
help: ## this list
	sed -nE 's/^([a-z]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 16

.PHONY: deps
deps: ## install the Debian packages and the Python environment that all targets need
	$(INSTALL_PACKAGES) $(sort $(BUILD_PACKAGES) $(PYTHON_PACKAGES) $(DEMO_PACKAGES) \
	  $(BENCH_PACKAGES) $(TEST_PACKAGES))
	scripts/python-venv

.PHONY: build
build: ## build for debugging, into .build/debug
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES)
	swift build

.PHONY: release
release: $(BINARIES) ## build for use: static Swift, stripped, into build/bin

# credctl becomes a static executable by its settings in Package.swift.
$(BINARIES) &: $(SOURCES)
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES)
	swift build --configuration release --static-swift-stdlib
	mkdir -p build/bin
	for program in $(PROGRAMS); do \
	  strip -o "build/bin/$$program.new" ".build/release/$$program"; \
	  mv "build/bin/$$program.new" "build/bin/$$program"; \
	done

MANUALS := $(patsubst docs/man/%,build/man/%,$(wildcard docs/man/*))

.PHONY: man
man: $(MANUALS) ## the manual pages with their version, into build/man

build/man/%: docs/man/% Sources/CredctlKit/Version.swift
	mkdir -p build/man
	version=$$(sed -n 's/.*credctlVersion = "\(.*\)"/\1/p' Sources/CredctlKit/Version.swift); \
	  sed "s/@VERSION@/$${version:?}/" $< >$@

.PHONY: demo
demo: $(BINARIES) ## show credentials arriving through credential_process; KEEP=1 leaves it running
	$(INSTALL_PACKAGES) $(PYTHON_PACKAGES) $(DEMO_PACKAGES)
	scripts/python-venv
	scripts/demo build/bin

.PHONY: test
test: deps ## everything that a change has to pass
	$(need_swift)
	scripts/test

.PHONY: bench
bench: $(BINARIES) ## measure against redis-server, ssh-agent and C; BENCH="--help" for options
	$(INSTALL_PACKAGES) $(BENCH_PACKAGES)
	python3 Benchmarks/bench.py --credd build/bin/credd --credctl build/bin/credctl \
	  --sandbox build/bin/credd-sandbox $(BENCH)

.PHONY: format
format: ## bring the Swift sources into the house style
	$(need_swift)
	swift format format --in-place --recursive --parallel Package.swift Sources Tests

.PHONY: install
install: $(BINARIES) ## install credd and credctl under DESTDIR and PREFIX (/usr)
	install -D --mode=755 --target-directory="$(DESTDIR)$(PREFIX)/bin" \
	  build/bin/credd build/bin/credctl
	install -D --mode=644 --target-directory="$(DESTDIR)$(PREFIX)/share/doc/credd" \
	  README.md contrib/credd.conf.example

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build .build
