#!/usr/bin/env bash
# The service under the whole of the corpora and 100,000 generated requests, under slowhttptest, behind nginx, under what
# schemathesis makes of its own /openapi.json, attacked beside honest callers, directly and behind nginx, HAProxy and Caddy,
# and told to stop under load (STOPS times, 200 unless it is said). Needs the Debian packages slowhttptest, nginx-light,
# haproxy and caddy, and schemathesis, or Python 3.10 with venv and pip to install it; each test says what it lacks. Ends
# with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -z "${SCHEMATHESIS:-}" ]; then
  if python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q schemathesis==4.32.5; then
    export SCHEMATHESIS="$folder/venv/bin/schemathesis"
  else
    echo 'conformance: schemathesis is not there, and pip could not install it' >&2
  fi
fi

LONG=1 node --test test/http/{corpora,generated-requests}.full.ts
export STOPS=${STOPS:-200}
node --test --test-concurrency=1 \
  test/http/stops-under-load.full.ts \
  test/conformance/smuggling-nginx.conformance.ts \
  test/conformance/schemathesis.conformance.ts \
  test/conformance/slow-callers.conformance.ts \
  test/conformance/attacks.conformance.ts
