#!/usr/bin/env bash
# Serves AWS's own DynamoDB Local, in memory, on a free port of loopback, and prints its endpoint in the first line.
# Usage: serve.sh FOLDER (for its libraries). Needs Java and Maven.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
for tool in java mvn; do
  command -v "$tool" >/dev/null || { echo "DynamoDB Local needs $tool (scripts/install-conformance.sh)" >&2; exit 1; }
done
mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/lib" >&2
export DDB_LOCAL_TELEMETRY=0
exec java -Djava.library.path="$folder/lib" -cp "$folder/lib/*" "$here/Serve.java"
