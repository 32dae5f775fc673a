#!/bin/sh
# Installs the libraries of the package that lies unpacked in this folder, with package-lock.json and scripts/runtime of the
# clone beside it: those of production, and the optional ones for DynamoDB and for traces, all at the versions of the lock file.
set -eu
npm ci --omit=dev --no-audit --no-fund
optional=$(node -p "
  const { peerDependencies, devDependencies } = require('./package.json');
  Object.keys(peerDependencies).map((name) => name + '@' + devDependencies[name]).join(' ')
")
# While package.json names them as peers, npm leaves them out; and with devDependencies it would install all of these.
npm pkg delete devDependencies peerDependencies peerDependenciesMeta
# shellcheck disable=SC2086 # a list
npm install --no-save --no-audit --no-fund $optional
rm -r package-lock.json .npmrc scripts
