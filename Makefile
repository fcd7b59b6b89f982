# credd. `make help` says what there is; docs/internals/decisions.md says why.

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
# Swift's own library is linked with the C++ library that g++ brings.
BUILD_PACKAGES := binutils ca-certificates g++ git libc6-dev libcurl4-openssl-dev libgmp-dev \
  libgnutls28-dev libmicrohttpd-dev libqrcodegen-dev libssl-dev libsystemd-dev
PYTHON_PACKAGES := python3 python3-venv
DEMO_PACKAGES := curl netcat-openbsd
# redis-server, ssh-agent and git's credential cache are credd's peers there.
BENCH_PACKAGES := gcc git libcurl4-openssl-dev libmicrohttpd-dev openssh-client openssl python3 \
  redis-server valgrind
# The gate: style, documents and the programs from outside. prometheus brings promtool, systemd the
# program systemd-socket-activate.
GATE_PACKAGES := $(DEMO_PACKAGES) fish locales mandoc openssl procps prometheus shellcheck strace systemd \
  util-linux zsh
# The rest of the tests boots machines of its own: systemd-nspawn, D-Bus, a user's manager, NSS. podman
# is run with runc, since crun refuses hosts with both kinds of cgroups.
TEST_PACKAGES := $(GATE_PACKAGES) adduser apparmor dbus dbus-user-session gcc init-system-helpers \
  iproute2 libnss-systemd libpam-systemd nftables nginx-light podman rclone runc systemd-container \
  tinyproxy-bin uidmap
STEADY_PACKAGES := stress-ng
# A provider that nobody here wrote, and a browser that signs in there: RealProvidersTests.
PROVIDER_PACKAGES := chromium chromium-driver glewlwyd sqlite3
SANITIZE_PACKAGES := valgrind
AUTHSERVER_PACKAGES := libargon2-dev libpq-dev libsqlite3-dev libssl-dev libunistring-dev
# The tests start PostgreSQL servers of their own.
AUTHSERVER_TEST_PACKAGES := curl openssl pgbouncer postgresql postgresql-client prometheus sqlite3
DEB_PACKAGES := dpkg-dev lintian
RPM_PACKAGES := rpm
REPO_PACKAGES := $(DEB_PACKAGES) $(RPM_PACKAGES) apt-utils createrepo-c gpg gpg-agent
# apt and dnf try the repositories.
REPO_TEST_PACKAGES := apt dnf
REPRODUCIBLE_PACKAGES := $(DEB_PACKAGES) $(RPM_PACKAGES) diffoscope-minimal git util-linux

# What `make deb ARCH=arm64` and its like need: a compiler in a system of its own, see scripts/cross.
CROSS_PACKAGES := binutils-aarch64-linux-gnu debian-archive-keyring debootstrap git qemu-user-static \
  util-linux

# What is built and packed is for ARCH, in the words of Debian or of the kernel.
MACHINE := $(shell uname --machine)
ARCH ?= $(MACHINE)
PROCESSOR := $(patsubst arm64,aarch64,$(patsubst amd64,x86_64,$(ARCH)))
OTHER := $(filter-out $(MACHINE),$(PROCESSOR))

PROGRAMS := credd credctl credd-sandbox
BIN := build/bin$(OTHER:%=-%)
BINARIES := $(PROGRAMS:%=$(BIN)/%)
OWN_BINARIES := $(PROGRAMS:%=build/bin/%)
# The folders too: their time changes when a file goes.
SOURCES := Package.swift $(shell find Sources)

define need_swift
command -v swift >/dev/null || { \
  echo 'swift is missing: install Swift 6.2 or later, see https://www.swift.org/install' >&2; \
  exit 1; }
endef

# It wants libraries of the distribution, which a system for another processor would have to have.
define need_own_machine
test -z "$(OTHER)" || { \
  echo 'the authentication server is built for its own machine: build it on one with $(OTHER)' >&2; \
  exit 1; }
endef

.PHONY: help
help: ## this list
	sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 24

ALL_PACKAGES := $(sort $(BUILD_PACKAGES) $(PYTHON_PACKAGES) $(DEMO_PACKAGES) $(BENCH_PACKAGES) \
  $(TEST_PACKAGES) $(PROVIDER_PACKAGES) $(SANITIZE_PACKAGES) $(REPRODUCIBLE_PACKAGES) $(REPO_PACKAGES) \
  $(REPO_TEST_PACKAGES) \
  $(AUTHSERVER_PACKAGES) $(AUTHSERVER_TEST_PACKAGES))

.PHONY: deps
deps: ## install the Debian packages and the Python environments that all targets need
	$(INSTALL_PACKAGES) $(ALL_PACKAGES)
	scripts/python-venv
	scripts/python-venv build/venv-oidc scripts/requirements-oidc.txt
	scripts/python-venv build/venv-sbom scripts/requirements-sbom.txt

.PHONY: build
build: ## build for debugging, into .build/debug
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES)
	scripts/build

.PHONY: release
release: $(BINARIES) ## build for use: static Swift, stripped, into build/bin

# A folder of its own, so that a build for debugging can run beside it.
RELEASE := build/release
BUILD_RELEASE := scripts/build release --scratch-path $(RELEASE)

# $(call strip_programs,FROM,PREFIX,TO): by the binutils whose names have that prefix.
define strip_programs
mkdir -p $(3)
for program in $(PROGRAMS); do \
  $(2)strip --remove-section=.comment -o "$(3)/$$program.new" "$(1)/$$program"; \
  mv "$(3)/$$program.new" "$(3)/$$program"; \
done
endef

$(OWN_BINARIES) &: $(SOURCES)
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES)
	scripts/step 'release build' $(BUILD_RELEASE) --target Programs
	$(call strip_programs,$(RELEASE)/release,,build/bin)

ifneq ($(OTHER),)
$(BINARIES) &: $(SOURCES) scripts/cross scripts/cross-folder
	scripts/cross check "$(ARCH)"
	$(INSTALL_PACKAGES) $(CROSS_PACKAGES)
	scripts/step 'build for $(OTHER)' scripts/cross build "$(ARCH)" --scratch-path $(RELEASE)-$(OTHER)
	$(call strip_programs,$(RELEASE)-$(OTHER)/release,$(OTHER)-linux-gnu-,$(BIN))
endif

.PHONY: cross-test
cross-test: ## build for arm64 and run that by qemu; run the unit tests with the oldest Swift
	$(INSTALL_PACKAGES) $(CROSS_PACKAGES) $(PYTHON_PACKAGES)
	$(MAKE) release ARCH=aarch64
	scripts/cross try
	scripts/cross test

MANUALS := $(patsubst docs/man/%,build/man/%,$(wildcard docs/man/*))
SANDBOX_MANUALS := $(filter build/man/credd-sandbox.%,$(MANUALS))

.PHONY: man
man: $(MANUALS) ## the manual pages with their version, into build/man

build/man/%: docs/man/% Sources/CredCore/Version.swift $(wildcard CHANGELOG.md)
	mkdir -p build/man
	version=$$(scripts/version); sed "s/@VERSION@/$${version:?}/" $< >$@

.PHONY: demo
demo: ## show credentials arriving through credential_process; KEEP=1 leaves it running
	$(need_swift)
	scripts/step 'Debian packages' $(INSTALL_PACKAGES) \
	  $(sort $(BUILD_PACKAGES) $(PYTHON_PACKAGES) $(DEMO_PACKAGES))
	# Built for debugging, which takes half the time of a release and is what `make check` needs too. The
	# Python environment is made beside it.
	scripts/python-venv build/venv-demo scripts/requirements-demo.txt & python=$$!; \
	  scripts/step 'build of the programs' scripts/build --target Programs && wait "$$python"
	scripts/demo .build/debug

.PHONY: check
check: ## the inner loop: format, warnings, all unit tests, the long ones short
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES)
	scripts/check

.PHONY: test
test: ## the gate, which every change passes: style, documents, unit and black-box tests, the demonstration
	$(need_swift)
	scripts/step 'Debian packages' $(INSTALL_PACKAGES) \
	  $(sort $(BUILD_PACKAGES) $(PYTHON_PACKAGES) $(GATE_PACKAGES))
	scripts/test

.PHONY: test-all
test-all: ## the gate, and everything slower; ONLY= parts of it, TENTH= of the mutations
	$(need_swift)
	scripts/step 'Debian packages' $(INSTALL_PACKAGES) $(ALL_PACKAGES)
	scripts/test-all $(ONLY)

RUNS ?= 3
.PHONY: steady
steady: ## the gate's tests RUNS times on a machine that is busy, and once on half a processor
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES) $(PYTHON_PACKAGES) $(GATE_PACKAGES) $(STEADY_PACKAGES)
	scripts/steady $(RUNS)

.PHONY: bench
bench: $(OWN_BINARIES) ## measure every figure against redis-server, ssh-agent and C; BENCH=--help
	$(INSTALL_PACKAGES) $(BENCH_PACKAGES)
	python3 Benchmarks/bench.py --credd build/bin/credd --credctl build/bin/credctl \
	  --sandbox build/bin/credd-sandbox $(BENCH)

# ---- The authentication server, a package of its own ----

AUTHSERVER := contrib/authserver
BUILD_AUTHSERVER := scripts/build --package-path $(AUTHSERVER)

.PHONY: authserver
authserver: ## build credd-authserver for use, into build/bin
	$(need_own_machine)
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES) $(AUTHSERVER_PACKAGES)
	scripts/step 'release build of the authentication server' \
	  $(BUILD_AUTHSERVER) --configuration release --static-swift-stdlib --disable-local-rpath \
	  --product credd-authserver
	mkdir -p build/bin
	strip --remove-section=.comment -o build/bin/credd-authserver \
	  $(AUTHSERVER)/.build/release/credd-authserver

.PHONY: authserver-demo
authserver-demo: ## enrol a host, register, sign in, and see credentials arrive
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES) $(AUTHSERVER_PACKAGES) curl
	scripts/build --target Programs
	$(BUILD_AUTHSERVER) --product credd-authserver
	scripts/authserver-demo .build/debug $(AUTHSERVER)/.build/debug/credd-authserver

.PHONY: authserver-test
authserver-test: ## the authentication server's tests, on SQLite and PostgreSQL
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES) $(AUTHSERVER_PACKAGES) $(AUTHSERVER_TEST_PACKAGES)
	scripts/build --product credd-sandbox
	scripts/authserver-test .build/debug

.PHONY: authserver-bench
authserver-bench: authserver ## tokens a second beside the callback in Python of docs/backend.md; BENCH=--help
	$(INSTALL_PACKAGES) $(AUTHSERVER_TEST_PACKAGES) $(PYTHON_PACKAGES) wrk
	scripts/python-venv build/venv-authserver $(AUTHSERVER)/requirements.txt
	python3 $(AUTHSERVER)/bench/bench.py --authserver build/bin/credd-authserver \
	  --python build/venv-authserver/bin/python --check $(BENCH)

.PHONY: authserver-deb
authserver-deb: authserver ## pack its Debian package: build/credd-authserver_VERSION_ARCHITECTURE.deb
	$(INSTALL_PACKAGES) $(DEB_PACKAGES)
	scripts/authserver-deb $(AUTHSERVER)/.build/release/credd-authserver "$(VERSION)"

.PHONY: authserver-machine
authserver-machine: authserver-deb deb ## try its package on a booted machine, as docs/authserver.md says
	$(INSTALL_PACKAGES) $(DEB_PACKAGES) $(TEST_PACKAGES) $(AUTHSERVER_TEST_PACKAGES)
	lintian --allow-root --fail-on error,warning build/credd-authserver_$(VERSION)_*.deb
	scripts/authserver-machine build/credd-authserver_$(VERSION)_*.deb \
	  build/credd_$(VERSION)_$$(dpkg --print-architecture).deb

REQUESTS ?= 10000000
.PHONY: soak
soak: $(OWN_BINARIES) ## REQUESTS of every kind; fails where memory or descriptors grow
	$(INSTALL_PACKAGES) gcc libcurl4-openssl-dev libmicrohttpd-dev python3
	scripts/soak --requests $(REQUESTS)

.PHONY: sanitize
sanitize: ## the tests under Address- and ThreadSanitizer, credd under valgrind; takes half an hour
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES) $(TEST_PACKAGES) $(SANITIZE_PACKAGES) \
	  $(AUTHSERVER_PACKAGES) $(AUTHSERVER_TEST_PACKAGES)
	scripts/sanitize

SEEDS ?= 1000
.PHONY: simulate
simulate: ## check the promises in SEEDS histories of a simulated host; FIRST= or REPLAY= a seed
	$(need_swift)
	# Linked as the programs are: otherwise all modules are compiled again, and then for them.
	$(BUILD_RELEASE) --product credd-simulate
	$(RELEASE)/release/credd-simulate --seeds $(SEEDS) $(if $(FIRST),--first $(FIRST)) \
	  $(if $(REPLAY),--replay $(REPLAY))

.PHONY: mutate
mutate: ## break each promise in a copy, and expect its tests to fail; takes two hours; ONLY= names of mutations
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES) $(TEST_PACKAGES) \
	  $(AUTHSERVER_PACKAGES) $(AUTHSERVER_TEST_PACKAGES)
	nice scripts/mutate $(ONLY)

TARGET ?= all
SECONDS ?= 60
.PHONY: fuzz
fuzz: ## feed TARGET made and mutated inputs for SECONDS each, all targets by default; SEED= repeats one
	$(need_swift)
	$(INSTALL_PACKAGES) $(AUTHSERVER_PACKAGES)
	$(if $(SEED),scripts/fuzz seed $(TARGET) $(SEED),scripts/fuzz $(TARGET) $(SECONDS))

.PHONY: format
format: ## bring the Swift sources into the house style
	$(need_swift)
	swift format format --in-place --recursive --parallel Package.swift Sources Tests \
	  $(AUTHSERVER)/Package.swift $(AUTHSERVER)/Sources $(AUTHSERVER)/Tests

# Where the shells look; Debian's package says otherwise for zsh and fish.
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS ?= $(PREFIX)/share/fish/completions
SYSTEMD ?= $(PREFIX)/lib/systemd
DOCUMENTS = $(DESTDIR)$(PREFIX)/share/doc/credd

# credd-sandbox is for trying and testing, never for production: install-sandbox.
.PHONY: install
install: $(BINARIES) $(MANUALS) install-pages ## install programs, units, manuals under DESTDIR and PREFIX (/usr)
	install -D --mode=755 --target-directory="$(DESTDIR)$(PREFIX)/bin" \
	  $(BIN)/credd $(BIN)/credctl
	# The units name the programs and documents by their paths.
	for unit in credd.socket credd-tokens.socket credd-endpoint.socket credd.service \
	  credd-metrics.service credd-metrics.timer user/credd.socket user/credd.service; do \
	  folder=system; [[ $$unit != user/* ]] || folder=user; \
	  install -D --mode=644 /dev/null "$(DESTDIR)$(SYSTEMD)/$$folder/$${unit#user/}"; \
	  sed 's|/usr/|$(PREFIX)/|g' "systemd/$$unit" \
	    >"$(DESTDIR)$(SYSTEMD)/$$folder/$${unit#user/}"; \
	done
	install -D --mode=644 systemd/credd.sysusers "$(DESTDIR)$(PREFIX)/lib/sysusers.d/credd.conf"
	install -D --mode=644 systemd/credd.preset \
	  "$(DESTDIR)$(SYSTEMD)/system-preset/90-credd.preset"
	install -D --mode=644 systemd/credd.catalog "$(DESTDIR)$(SYSTEMD)/catalog/credd.catalog"
	# Whoever has a configuration keeps it.
	[[ -e "$(DESTDIR)/etc/credd/credd.conf" ]] || \
	  install -D --mode=644 contrib/credd.conf "$(DESTDIR)/etc/credd/credd.conf"
	for page in $(filter-out $(SANDBOX_MANUALS),$(MANUALS)); do \
	  install -D --mode=644 --target-directory="$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}" \
	    "$$page"; \
	done
	scripts/completions build/completions $(OTHER:%=qemu-%-static) $(BIN)/credctl
	install -D --mode=644 build/completions/credctl.bash "$(DESTDIR)$(BASH_COMPLETIONS)/credctl"
	ln -sf credctl "$(DESTDIR)$(BASH_COMPLETIONS)/credd"
	install -D --mode=644 build/completions/credctl.zsh "$(DESTDIR)$(ZSH_COMPLETIONS)/_credctl"
	install -D --mode=644 build/completions/credctl.fish "$(DESTDIR)$(FISH_COMPLETIONS)/credctl.fish"
	ln -sf credctl.fish "$(DESTDIR)$(FISH_COMPLETIONS)/credd.fish"

# The pages for administrators and users, and what they link to.
PAGES := README.md SECURITY.md CHANGELOG.md $(filter-out docs/sandbox.md,$(wildcard docs/*.md))

.PHONY: install-pages
install-pages: ## install the pages, in the same way; this needs no build
	for page in $(PAGES); do \
	  install -D --mode=644 /dev/null "$(DOCUMENTS)/$${page##*/}"; \
	  sed --file=contrib/pages.sed "$$page" >"$(DOCUMENTS)/$${page##*/}"; \
	done
	install -D --mode=644 --target-directory="$(DOCUMENTS)/pictures" docs/pictures/*.svg
	install -D --mode=644 --target-directory="$(DOCUMENTS)/examples" \
	  contrib/credd.conf.example contrib/apparmor/usr.bin.credd systemd/examples/*.conf \
	  systemd/examples/*.socket
	install -D --mode=644 --target-directory="$(DOCUMENTS)/prometheus" contrib/prometheus/credd.rules*.yml \
	  contrib/prometheus/grafana-dashboard.json

.PHONY: install-sandbox
install-sandbox: $(BINARIES) $(MANUALS) ## install credd-sandbox and its manual, in the same way
	install -D --mode=755 --target-directory="$(DESTDIR)$(PREFIX)/bin" $(BIN)/credd-sandbox
	for page in $(SANDBOX_MANUALS); do \
	  install -D --mode=644 --target-directory="$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}" \
	    "$$page"; \
	done
	install -D --mode=644 /dev/null "$(DOCUMENTS)-sandbox/sandbox.md"
	sed 's#\[\([^]]*\)\]([a-z./-]*\(\.md\|man/\)[^)]*)#\1#g' docs/sandbox.md >"$(DOCUMENTS)-sandbox/sandbox.md"

# What the packages are called; `make deb VERSION=0.2.0` packs the same programs as another one.
VERSION ?= $(shell scripts/version)

.PHONY: deb
deb: $(BINARIES) ## pack Debian packages: build/{credd,credd-sandbox}_VERSION_ARCH.deb; ARCH=arm64
	$(INSTALL_PACKAGES) $(DEB_PACKAGES)
	scripts/build-deb "$(VERSION)" "$(ARCH)"

.PHONY: rpm
rpm: $(BINARIES) ## pack RPMs: build/{credd,credd-sandbox}-VERSION-1.ARCH.rpm; ARCH=aarch64
	$(INSTALL_PACKAGES) $(RPM_PACKAGES)
	scripts/build-rpm "$(VERSION)" "$(ARCH)"

KEY ?=
# Before minutes of building.
.PHONY: has-key
has-key:
	scripts/build-repo --check "$(KEY)"

.PHONY: repo
repo: has-key $(BINARIES) ## make build/repo of the packages, for apt and dnf, signed with KEY, a fingerprint
	$(INSTALL_PACKAGES) $(REPO_PACKAGES)
	scripts/build-deb "$(VERSION)" "$(ARCH)"
	scripts/build-rpm "$(VERSION)" "$(ARCH)"
	scripts/build-repo "$(VERSION)" "$(KEY)"

.PHONY: sbom
sbom: $(BINARIES) ## list what is in each package, as CycloneDX: build/PACKAGE-VERSION.ARCH.cdx.json
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES) python3
	scripts/sbom "$(VERSION)" "$(ARCH)"

.PHONY: reproducible
reproducible: ## build programs and packages twice, in different folders: they must be the same
	$(need_swift)
	$(INSTALL_PACKAGES) $(BUILD_PACKAGES) $(REPRODUCIBLE_PACKAGES)
	scripts/reproducible --programs

.PHONY: release-notes
release-notes: ## what is new, from CHANGELOG.md
	scripts/version --notes

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build .build
