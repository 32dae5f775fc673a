#!/usr/bin/env bash
# Tests the service with all corpora, 100,000 generated requests, and the requests that schemathesis generates from
# /openapi.json.
# Needs schemathesis, or Python 3.10 with venv and pip to install it. Ends with the summaries of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -z "${SCHEMATHESIS:-}" ]; then
  if python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q schemathesis==4.32.5; then
    export SCHEMATHESIS="$folder/venv/bin/schemathesis"
  else
    echo 'conformance: schemathesis is not installed, and pip could not install it' >&2
  fi
fi

status=0
LONG=1 node --test --test-concurrency=1 test/http/{corpora,generated-requests}.full.ts || status=1
node --test test/conformance/schemathesis.conformance.ts || status=1
exit "$status"
