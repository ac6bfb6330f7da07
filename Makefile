# `make demo` and `make demo-bot` show it, `make test` checks a change, `make test-all` runs
# the remaining checks. Everything else is in noxfile.py (`make help`).
PYTHON ?= python3
NOX := .venv/bin/nox
# Make uv use the system's certificates, as pip does.
export UV_SYSTEM_CERTS ?= true

.PHONY: help demo demo-bot test test-all lint benchmark minimal-debian
demo demo-bot test test-all lint benchmark minimal-debian: $(NOX)
	$(NOX) -s $@

help: $(NOX)
	@echo "make demo | demo-bot | test | test-all | lint | benchmark, or one of nox's sessions ($(NOX) -s NAME):"
	@$(NOX) --list

$(NOX):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo 'Python 3.11 or newer is needed: name one, as in `PYTHON=python3.12 make test`.' >&2; \
	    exit 1; }
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check 'nox[uv]'
