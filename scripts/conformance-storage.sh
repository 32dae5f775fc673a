#!/usr/bin/env bash
# Tests the opening of a store during writes, processes that are killed within a commit, a rotation of master keys that is
# killed at each step, and the service, its backups, restores and compactions on disks that lose power, are full,
# are read-only, or fail to flush. Needs root, Linux and the Debian packages gcc, nbdkit, libnbd-bin, fuse3, e2fsprogs and
# strace; each test reports the ones that are missing. LONG=1 takes the full counts.
# Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

# Most of their time is waits for disks.
node --test --test-concurrency=3 \
  test/conformance/{power-cut,power-cut-backup,power-cut-tools,disk-full,flush-fails}.conformance.ts \
  test/conformance/{killed-rotation,slow-opening,dead-writer}.conformance.ts
