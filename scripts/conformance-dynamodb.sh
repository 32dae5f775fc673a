#!/usr/bin/env bash
# Tests the engine's contract and faults, tables, payments and integrations, several processes, and copies of a store,
# on AWS's own DynamoDB Local on loopback. Needs Java and Maven. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
bash scripts/dynamodb-local/serve.sh "$folder" >"$folder/out" 2>"$folder/log" &
pid=$!
stop() {
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  rm -rf "$folder"
}
trap stop EXIT

for _ in $(seq 1200); do
  [ -s "$folder/out" ] && break
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
DYNAMODB_ENDPOINT=$(head -n 1 "$folder/out")
export DYNAMODB_ENDPOINT
[ -n "$DYNAMODB_ENDPOINT" ] || { echo "DynamoDB Local did not start: $(cat "$folder/log")" >&2; exit 1; }

bash scripts/test-on-dynamodb.sh
node_modules/.bin/node --test --test-concurrency=2 test/conformance/{dynamodb-faults,dynamodb-service,dynamodb-processes,store-copy}.conformance.ts
