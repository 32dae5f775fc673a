#!/usr/bin/env bash
# The engine's contract, tables, payments and integrations on AWS's own DynamoDB Local, on loopback.
# Needs Java and Maven. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
stop() {
  [ -z "${dynamodb_pid:-}" ] || { kill "$dynamodb_pid" && wait "$dynamodb_pid"; } 2>/dev/null || true
  rm -rf "$folder"
}
trap stop EXIT
. scripts/dynamodb-local/start.sh

bash scripts/test-on-dynamodb.sh
