# Everything that a person or CI does with this repository. `make help` lists it.

CARGO ?= cargo
PYTHON ?= python3
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEMO := $(TARGET)/demo
PLUGINS := redaction halt_on_pattern dialect_normalization stream_metrics
LIBRARY_SUFFIX := $(if $(filter Darwin,$(shell uname -s)),dylib,so)

# How long each fuzzing target runs, in seconds.
FUZZ_SECONDS ?= 600
FUZZ_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# What libFuzzer reads to see which code an input reached; these work without a nightly compiler.
FUZZ_FLAGS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares

.PHONY: help run test test-clients lint bench bench-proxy deny fuzz fuzz-smoke

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1|\2/' | column -t -s '|'

run: ## Build everything and start the daemon with the embedded provider and the four plugins
	$(CARGO) build --locked -p seamd $(foreach plugin,$(PLUGINS),-p seam-$(subst _,-,$(plugin)))
	@mkdir -p $(DEMO)/plugins
	@cp -r runtime/daemon/demo/seamd.toml runtime/daemon/demo/streams $(DEMO)/
	@$(foreach plugin,$(PLUGINS),install $(TARGET)/debug/lib$(plugin).$(LIBRARY_SUFFIX) $(DEMO)/plugins/$(plugin).so &&) true
	@echo "Ask it in another terminal; the README has more:"
	@echo "  curl -N http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\"
	@echo "    -d '{\"model\":\"card\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}'"
	$(TARGET)/debug/seamd run -c $(DEMO)/seamd.toml

test: ## Run every test; a server, key or network is not needed
	$(CARGO) build --locked --workspace --bins --lib
	$(CARGO) test --locked --workspace --quiet

test-clients: ## Run the official OpenAI Python client against the daemon, in a virtual environment of its own
	$(CARGO) build --locked -p seamd $(foreach plugin,$(PLUGINS),-p seam-$(subst _,-,$(plugin)))
	tests/clients/run.sh $(PYTHON) $(TARGET)

lint: ## Formatting, clippy and documentation, warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --quiet

deny: ## Licences, advisories and duplicates of dependencies (needs cargo-deny and the advisory database)
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo "cargo-deny is not installed: cargo install --locked cargo-deny"; exit 1; }
	$(CARGO) deny --locked check

bench: ## The figures that need no second process, each beside its bar; also in target/figures.json
	$(CARGO) build --locked --release --workspace --lib
	$(CARGO) build --locked --release -p e2e --examples
	$(CARGO) bench --locked -p e2e

bench-proxy: ## The whole daemon's figures beside nginx (installs Debian's nginx if it is missing)
	@command -v nginx >/dev/null || (apt-get update -qq && apt-get install -y -qq nginx-light)
	$(CARGO) build --locked --release --workspace --bins --lib
	$(TARGET)/release/bench-proxy

fuzz: ## Coverage-guided search for inputs that break the wire, FUZZ_SECONDS for each target (needs a C++ compiler)
	RUSTFLAGS="$(FUZZ_FLAGS)" $(CARGO) build --locked --profile fuzz -p fuzz --features engine --bin fuzz \
		--target $(FUZZ_HOST) --target-dir $(TARGET)/fuzz
	$(CARGO) run --locked --quiet -p fuzz --bin fuzz-seeds -- $(TARGET)/fuzz/seeds
	@$(CARGO) run --locked --quiet -p fuzz --bin fuzz-seeds | while read -r target corpus; do \
		echo "$$target: $(FUZZ_SECONDS) s"; \
		mkdir -p $(TARGET)/fuzz/found/$$corpus $(TARGET)/fuzz/failed; \
		FUZZ_TARGET=$$target $(TARGET)/fuzz/$(FUZZ_HOST)/fuzz/fuzz -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 \
			-max_len=16384 -verbosity=0 -artifact_prefix=$(TARGET)/fuzz/failed/$$target- \
			$(TARGET)/fuzz/found/$$corpus tests/fuzz/corpus/$$corpus $(TARGET)/fuzz/seeds/$$corpus || exit 1; \
	done

fuzz-smoke: ## The same, a few seconds for each target
	$(MAKE) fuzz FUZZ_SECONDS=5
