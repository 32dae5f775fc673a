#!/usr/bin/env bash
# The service under slowhttptest, behind nginx, and told to stop under load (STOPS times, 200 unless it is said). Needs the Debian
# packages slowhttptest and nginx-light; each test says which of them it lacks. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

export STOPS=${STOPS:-200}
node --test --test-concurrency=1 \
  test/http/stops-under-load.test.ts \
  test/conformance/smuggling-nginx.conformance.ts \
  test/conformance/slow-callers.conformance.ts
