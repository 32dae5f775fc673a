#!/usr/bin/env bash
# Runs all parts of the conformance tests, even if one fails. Each part reports what it needs. Most parts wait for disks, for
# Java or for installations: they run at the same time, and their output is printed when they have ended. The last part
# measures, so it runs alone.
set -uo pipefail
cd "$(dirname "$0")"

failed=()
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; exit 130' INT TERM

together() { # parts
  local part
  pids=()
  for part in "$@"; do
    bash "conformance-$part.sh" >"$logs/$part" 2>&1 &
    pids+=($!)
  done
  local n=0
  for part in "$@"; do
    wait "${pids[n++]}" || failed+=("$part")
    cat "$logs/$part"
  done
}

together storage dynamodb schemathesis s3 stripe openapi proxies
together attacks
[ ${#failed[@]} -eq 0 ] && exit
echo "conformance: failed in ${failed[*]}" >&2
exit 1
