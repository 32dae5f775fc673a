#!/usr/bin/env bash
# Tests the opening of a store during writes, processes that are killed within a commit, a rotation of master keys that is
# killed at each step, and the service, its backups, restores and compactions on disks that lose power, are full,
# are read-only, or fail to flush. Needs root, Linux and the Debian packages gcc, nbdkit, libnbd-bin, fuse3, e2fsprogs and
# strace; each test reports the ones that are missing. LONG=1 takes the full counts.
# Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

node --test --test-concurrency=1 \
  test/conformance/slow-opening.conformance.ts \
  test/conformance/dead-writer.conformance.ts \
  test/conformance/killed-rotation.conformance.ts \
  test/conformance/power-cut.conformance.ts \
  test/conformance/power-cut-backup.conformance.ts \
  test/conformance/power-cut-tools.conformance.ts \
  test/conformance/disk-full.conformance.ts \
  test/conformance/flush-fails.conformance.ts
