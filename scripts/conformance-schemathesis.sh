#!/usr/bin/env bash
# Tests the service with the requests that schemathesis generates from /openapi.json. Needs schemathesis, or Python 3.10 with
# venv and pip to install it. Ends with the summary of node's test runner.
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

node --test test/conformance/schemathesis.conformance.ts
