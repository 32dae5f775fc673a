#!/usr/bin/env bash
# Sends smuggled requests through nginx, and calls a service without keys through each proxy. Needs the Debian packages nginx-light,
# haproxy and caddy; each test reports the ones that are missing. Ends with the summary of node's test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

node --test test/conformance/{smuggling-nginx,open-behind-proxies}.conformance.ts
