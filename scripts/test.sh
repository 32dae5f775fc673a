#!/usr/bin/env bash
# Runs the tests that need only npm and are fast: all on the embedded store, and some on dynalite at the same time. The
# slower ones are in `npm run test:full`.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
# Hundreds of short processes load the same modules, which are compiled once.
export NODE_COMPILE_CACHE="$PWD/node_modules/.cache/compiled"

# A few processes run many files each: a process per file would spend most of its time on loading modules.
shards=4
logs=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM
for shard in $(seq "$shards"); do
  node --test --test-isolation=none --test-shard="$shard/$shards" 'test/**/*.test.ts' >"$logs/$shard" 2>&1 &
  pids+=($!)
done
bash scripts/test-on-dynamodb.sh short >"$logs/$((shards + 1))" 2>&1 &
pids+=($!)

echo "${#pids[@]} processes are running; the output of each is printed when it has ended."
status=0
for part in $(seq "${#pids[@]}"); do
  wait "${pids[part - 1]}" || status=1
  cat "$logs/$part"
  # Detects a test that ended the process with status 0.
  grep -q '^ℹ fail 0$' "$logs/$part" || status=1
done
exit "$status"
