#!/usr/bin/env bash
# Tests the service with all corpora, and 100,000 generated requests. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

LONG=1 node --test --test-concurrency=1 test/http/{corpora,generated-requests}.full.ts
