#!/usr/bin/env bash
# Runs the tests that need only npm and are fast; with `full`, the slower ones and those of the client; with `browser`, those in a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
# Hundreds of short processes load the same modules, which are compiled once.
export NODE_COMPILE_CACHE="$PWD/node_modules/.cache/compiled"
export PICTURES="${PICTURES:-${TMPDIR:-/tmp}/counterfoil-pictures}"

# Every commit is flushed. These tests cut no power, so they wait for no disk where the memory has 2 GiB of room.
room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1 || true)
if [ "${room:-0}" -ge 2097152 ] && [ -w /dev/shm ]; then TMPDIR=/dev/shm; fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/counterfoil-tests-XXXXXX")
export TMPDIR="$folder"
pids=()
stop() {
  kill "${pids[@]}" 2>/dev/null || true
  wait
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM

# A few processes run many files each: a process per file would spend most of its time on loading modules.
in_shards() { # their number, files
  local shard shards=$1 status=0
  for shard in $(seq "$shards"); do
    node --test --test-isolation=none --test-shard="$shard/$shards" "$2" >"$folder/shard-$shard" 2>&1 &
    pids+=($!)
  done
  echo "$shards processes are running; the output of each is printed when it has ended."
  for shard in $(seq "$shards"); do
    wait "${pids[shard - 1]}" || status=1
    cat "$folder/shard-$shard"
    # Detects a test that ended the process with status 0.
    grep -q '^ℹ fail 0$' "$folder/shard-$shard" || status=1
  done
  return "$status"
}

case "${1:-fast}" in
  fast) in_shards 4 'test/**/*.test.ts' ;;
  full) node --test --test-concurrency=4 'test/**/*.full.ts' 'client/test/*.test.ts' ;;
  # A process for each file: in one process with all others, the first continuous backup of a service was not done in minutes.
  browser) node --test --test-concurrency=3 'test/browser/*.browser.ts' ;;
esac
