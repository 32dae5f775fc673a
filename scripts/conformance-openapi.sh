#!/usr/bin/env bash
# Whether openapi.json breaks clients of the last release, whose document is test/openapi/released.json. Needs oasdiff, or Go to
# install it. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
OASDIFF=$(command -v oasdiff || true)
if [ -z "$OASDIFF" ]; then
  # Pinned: the levels of its checks decide what fails.
  GOBIN="$folder" go install github.com/oasdiff/oasdiff@v1.30.0 ||
    { echo 'conformance: oasdiff is not there, and Go could not install it' >&2; exit 1; }
  OASDIFF="$folder/oasdiff"
fi
OASDIFF="$OASDIFF" node --test test/conformance/released-openapi.conformance.ts
