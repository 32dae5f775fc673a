#!/usr/bin/env bash
# Tests deploy/Dockerfile without Docker: installs the package and its libraries as it does, and serves them as an
# unprivileged user on a root file system that is read-only except for the data and /tmp, until the health check
# succeeds; then SIGTERM must end the service with status 0. Needs root (for the mounts), npm, what `npm ci` installs, and
# Node 24.12 or later as `node`.
set -euo pipefail
cd "$(dirname "$0")/.."

image=$(mktemp -d)
trap 'rm -rf "$image"' EXIT
npm pack --loglevel=error --pack-destination "$image" >/dev/null
tar -xzf "$image"/counterfoil-*.tgz --strip-components=1 -C "$image"
cp package-lock.json .npmrc "$image"
mkdir "$image/scripts" && cp -r scripts/runtime "$image/scripts"
rm "$image"/*.tgz
# The npm ci in it also fails if the lock file does not match package.json.
install=$PWD/deploy/install-libraries.sh
(cd "$image" && "$install" >/dev/null)
mkdir -m 0700 "$image/data" && chown 65534:65534 "$image/data" && chmod 755 "$image"
printf 'installed: %s\n' "$(du -sh "$image/node_modules" | cut -f1)"
test -d "$image/node_modules/@aws-sdk/client-dynamodb" || { echo 'the libraries for DynamoDB are missing'; exit 1; }
test ! -d "$image/node_modules/typescript" || { echo 'libraries for development are installed'; exit 1; }

export HOST=127.0.0.1 PORT=${PORT:-18555} NODE_ENV=production COUNTERFOIL_DATA="$image/data/data" node image
COUNTERFOIL_MASTER_KEY=$(openssl rand -base64 32)
export COUNTERFOIL_MASTER_KEY
node=$(command -v node)
health=$(sed -n 's/^  CMD \["node", "-e", "\(.*\)"\]$/\1/p' deploy/Dockerfile)

unshare --mount --propagation private bash -euo pipefail -c '
  mount --bind "$image" "$image"
  mount --bind "$image/data" "$image/data"
  mount -o remount,bind,ro "$image"
  mount -o remount,bind,ro /
  cd "$image"
  drop=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all)
  if touch "$image/dist/x" 2>/dev/null || touch /etc/x 2>/dev/null; then
    echo "the root is not read-only"; exit 1
  fi
  "${drop[@]}" "$node" bin/counterfoil.mjs serve --simulate &
  pid=$!
  for _ in $(seq 100); do
    "${drop[@]}" "$node" -e "$0" && break
    sleep 0.1
  done
  "${drop[@]}" "$node" -e "$0"
  echo "healthy, as $(ps -o user= -p $pid)"
  kill -TERM $pid
  wait $pid
  echo "ended with 0"
' "$health"
