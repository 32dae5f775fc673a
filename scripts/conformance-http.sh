#!/usr/bin/env bash
# The service under slowhttptest, behind nginx, and under what schemathesis makes of its own /openapi.json. Needs the Debian
# packages slowhttptest and nginx-light, and Python 3 with venv and pip; each test says which of them it lacks.
# LONG=1 takes the full counts. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

node --test --test-concurrency=1 \
  test/conformance/smuggling-nginx.conformance.ts \
  test/conformance/slow-callers.conformance.ts
