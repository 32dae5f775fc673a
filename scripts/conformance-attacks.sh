#!/usr/bin/env bash
# The service attacked beside honest callers, directly and behind nginx, HAProxy and Caddy, and under slowhttptest. Needs the
# Debian packages slowhttptest, nginx-light, haproxy and caddy; each test says what it lacks. Ends with the summary of node's
# test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

node --test --test-concurrency=1 \
  test/conformance/smuggling-nginx.conformance.ts \
  test/conformance/slow-callers.conformance.ts \
  test/conformance/attacks.conformance.ts
