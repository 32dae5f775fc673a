#!/usr/bin/env bash
# Openings beside writers; a rotation of master keys that is killed at each step; the service on disks that lose their power, are full, cannot
# be written, and fail to flush. Needs root, Linux and the Debian packages nbdkit, libnbd-bin, fuse3, e2fsprogs and strace; each test says which of them it lacks.
# LONG=1 takes the full counts. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

node --test --test-concurrency=1 \
  test/conformance/slow-opening.conformance.ts \
  test/conformance/killed-rotation.conformance.ts \
  test/conformance/power-cut.conformance.ts \
  test/conformance/disk-full.conformance.ts \
  test/conformance/flush-fails.conformance.ts
