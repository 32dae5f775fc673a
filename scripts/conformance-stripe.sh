#!/usr/bin/env bash
# Tests the service with stripe-mock, Stripe's own server that checks requests against Stripe's OpenAPI document.
# Needs stripe-mock, or Go to install it. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

fail() {
  echo "conformance: $1" >&2
  exit 1
}

mock=$(command -v stripe-mock || true)
if [ -z "$mock" ]; then
  command -v go >/dev/null || fail 'needs stripe-mock, or Go to install it (https://go.dev/dl)'
  bin=$(go env GOBIN)
  mock="${bin:-$(go env GOPATH)/bin}/stripe-mock"
  if [ ! -x "$mock" ]; then
    go install github.com/stripe/stripe-mock@latest || fail 'stripe-mock is not installed, and Go could not install it'
  fi
fi

folder=$(mktemp -d)
export STRIPE_MOCK_LOG="$folder/stripe-mock.log"
# The loop below may look before the process that is started has made it.
: >"$STRIPE_MOCK_LOG"
# Without an explicit address, HTTPS would listen on port 12112 of every interface.
"$mock" -http-addr 127.0.0.1: -https-addr 127.0.0.1: >"$STRIPE_MOCK_LOG" 2>&1 &
pid=$!
stop() {
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  rm -rf "$folder"
}
trap stop EXIT

address=
for _ in $(seq 100); do
  address=$(sed -n 's/^Listening for HTTP at address: //p' "$STRIPE_MOCK_LOG")
  [ -n "$address" ] && break
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
[ -n "$address" ] || fail "stripe-mock did not start: $(cat "$STRIPE_MOCK_LOG")"
export STRIPE_MOCK_ORIGIN="http://$address"

node --test test/conformance/stripe-mock.conformance.ts
