#!/usr/bin/env bash
# What test:browser needs beyond npm: a Chromium of the system (Debian, Ubuntu). CHROMIUM names one elsewhere.
set -euo pipefail
command -v "${CHROMIUM:-/usr/bin/chromium}" >/dev/null && exit 0
apt-get update
apt-get install --yes --no-install-recommends chromium
