# Two words do all the set-up: `make run` and `make test`. Both are safe to repeat, need no root, and work in a
# path with spaces.

SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: run test check docs bench clean help

help: ## What there is to make.
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*##/:/'

$(VENV)/run.ok: requirements.txt
	@echo "make: installing what the server needs into $(VENV) ..."
	@test -x "$(BIN)/python" || $(PYTHON) -m venv "$(VENV)"
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch "$@"

$(VENV)/dev.ok: requirements.txt requirements-dev.txt
	@echo "make: installing what the tests need into $(VENV) ..."
	@test -x "$(BIN)/python" || $(PYTHON) -m venv "$(VENV)"
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch "$@"

run: $(VENV)/run.ok ## Install, fetch the default model if needed, serve on 127.0.0.1:8080. ARGS="-m my.gguf -c 8192".
	@"$(BIN)/python" app.py $(ARGS)

check: $(VENV)/dev.ok ## Format, lint and types.
	@echo "make: format, lint, types ..."
	@"$(BIN)/ruff" format --check .
	@"$(BIN)/ruff" check .
	@"$(BIN)/mypy"

test: check ## Everything that must pass: format, lint, types, then all tests.
	@echo "make: tests ..."
	@"$(BIN)/python" -m pytest $(ARGS)

docs: $(VENV)/run.ok ## Write the generated parts of the documentation (the table of settings).
	@"$(BIN)/python" -m llama.cli.docs

bench: $(VENV)/run.ok ## Measure speed and memory and print the table (see docs/performance.md).
	@"$(BIN)/python" tests/bench/run.py $(ARGS)

clean: ## Remove the environment and caches; models stay where they are.
	rm -rf "$(VENV)" .pytest_cache .mypy_cache .ruff_cache .hypothesis
