#!/usr/bin/env bash
# Installs what test:browser needs besides npm's packages: Chromium (Debian, Ubuntu). CHROMIUM is the path of another
# one.
set -euo pipefail
command -v "${CHROMIUM:-/usr/bin/chromium}" >/dev/null && exit 0
apt-get update
apt-get install --yes --no-install-recommends chromium
