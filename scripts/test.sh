#!/usr/bin/env bash
# The tests that need npm alone and have time to run daily: on the embedded store, a share of them on dynalite at the same
# time. What takes longer is `npm run test:full`.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
# Hundreds of short processes load the same modules: they are compiled once.
export NODE_COMPILE_CACHE="$PWD/node_modules/.cache/compiled"

# Few processes that each run many files: a process for each file would spend most of its time on loading modules.
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

echo "${#pids[@]} processes are running; what each of them says is printed when it has ended."
status=0
for part in $(seq "${#pids[@]}"); do
  wait "${pids[part - 1]}" || status=1
  cat "$logs/$part"
  # Also where a test has ended the process with status 0.
  grep -q '^ℹ fail 0$' "$logs/$part" || status=1
done
exit "$status"
