#!/usr/bin/env bash
# Stops the service under load, STOPS times (40 by default). Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

export STOPS=${STOPS:-40}
node --test test/http/shutdowns-under-load.full.ts
