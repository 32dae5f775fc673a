#!/usr/bin/env bash
# Attacks the service during honest load, directly and behind nginx, HAProxy and Caddy, and by slowhttptest, and measures. Needs the
# Debian packages slowhttptest, nginx-light, haproxy and caddy; each test reports the ones that are missing. Ends with
# the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

node --test --test-concurrency=1 test/conformance/{slow-callers,attacks}.conformance.ts
