# Everything that a person or CI does with this repository. `make help` lists it.

CARGO ?= cargo
PYTHON ?= python3
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEMO := $(TARGET)/demo
PLUGINS := redaction halt_on_pattern dialect_normalization stream_metrics
LIBRARY_SUFFIX := $(if $(filter Darwin,$(shell uname -s)),dylib,so)

.PHONY: help run test test-clients lint bench bench-proxy deny

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
