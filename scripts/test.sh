#!/usr/bin/env bash
# The tests that need npm alone: on the embedded store, then a share of them on dynalite.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
# Hundreds of short processes load the same modules: they are compiled once.
export NODE_COMPILE_CACHE="$PWD/node_modules/.cache/compiled"

node --test --test-concurrency=3 'test/**/*.test.ts'
bash scripts/test-on-dynamodb.sh short
