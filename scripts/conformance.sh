#!/usr/bin/env bash
# All conformance tests, one part after the other, each of them whatever became of the others; each says what it needs.
set -uo pipefail
cd "$(dirname "$0")"
failed=()
for part in stripe dynamodb storage http; do
  bash "conformance-$part.sh" || failed+=("$part")
done
[ ${#failed[@]} -eq 0 ] && exit
echo "conformance: failed in ${failed[*]}" >&2
exit 1
