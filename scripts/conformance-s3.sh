#!/usr/bin/env bash
# Tests backups to a bucket on versitygw, an S3 server over a folder, with faults injected between the two. Needs versitygw, or Go
# to install it. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

fail() {
  echo "conformance: $1" >&2
  exit 1
}

folder=$(mktemp -d)
pid=
stop() {
  [ -z "$pid" ] || { kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; }
  rm -rf "$folder"
}
trap stop EXIT

gateway=$(command -v versitygw || true)
if [ -z "$gateway" ]; then
  command -v go >/dev/null || fail 'needs versitygw, or Go to install it (https://go.dev/dl)'
  bin=$(go env GOBIN)
  gateway="${bin:-$(go env GOPATH)/bin}/versitygw"
  if [ ! -x "$gateway" ]; then
    go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 ||
      fail 'versitygw is not installed, and Go could not install it'
  fi
fi

mkdir -p "$folder/buckets/bucket"
port=$(node -p 'const { createServer } = require("node:net"); const s = createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); }); ""' | head -n 1)
export AWS_ACCESS_KEY_ID=access AWS_SECRET_ACCESS_KEY=secret-of-the-tests AWS_REGION=us-east-1
export S3_ENDPOINT="http://127.0.0.1:$port"
ROOT_ACCESS_KEY=$AWS_ACCESS_KEY_ID ROOT_SECRET_KEY=$AWS_SECRET_ACCESS_KEY \
  "$gateway" --port "127.0.0.1:$port" --quiet posix "$folder/buckets" >"$folder/log" 2>&1 &
pid=$!
isUp=
for _ in $(seq 300); do
  (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && { isUp=yes; break; }
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
[ -n "$isUp" ] || fail "versitygw did not start: $(cat "$folder/log")"

node --test test/conformance/s3-backup.conformance.ts
