#!/usr/bin/env bash
# Installs what the conformance tests need besides npm's packages: on Debian or Ubuntu, as root. stripe-mock, oasdiff and versitygw need Go,
# DynamoDB Local needs Java and Maven, and schemathesis needs Python.
set -euo pipefail

missing=()
for pair in cc:gcc nbdkit:nbdkit nbdfuse:libnbd-bin fusermount3:fuse3 mkfs.ext4:e2fsprogs strace:strace slowhttptest:slowhttptest nginx:nginx-light haproxy:haproxy caddy:caddy go:golang-go java:default-jdk-headless mvn:maven; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
done
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
[ "${#missing[@]}" -eq 0 ] && exit 0
command -v apt-get >/dev/null || { echo "install by hand: ${missing[*]}" >&2; exit 1; }
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
