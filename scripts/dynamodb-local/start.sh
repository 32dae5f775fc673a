# To be sourced: starts DynamoDB Local in $folder, and sets DYNAMODB_ENDPOINT and dynamodb_pid. Needs Java and Maven.
for tool in java mvn; do
  command -v "$tool" >/dev/null || { echo "DynamoDB Local needs $tool (scripts/install-conformance.sh)" >&2; exit 1; }
done
mvn -q -B -f scripts/dynamodb-local/pom.xml dependency:copy-dependencies -DoutputDirectory="$folder/lib" \
  >"$folder/maven.log" 2>&1 || { cat "$folder/maven.log" >&2; exit 1; }
DDB_LOCAL_TELEMETRY=0 java -Djava.library.path="$folder/lib" -cp "$folder/lib/*" scripts/dynamodb-local/Serve.java \
  >"$folder/dynamodb.out" 2>"$folder/dynamodb.err" &
dynamodb_pid=$!
for _ in $(seq 300); do
  [ -s "$folder/dynamodb.out" ] && break
  kill -0 "$dynamodb_pid" 2>/dev/null || break
  sleep 0.1
done
DYNAMODB_ENDPOINT=$(head -n 1 "$folder/dynamodb.out")
[ -n "$DYNAMODB_ENDPOINT" ] || { echo "DynamoDB Local did not start: $(cat "$folder/dynamodb.err")" >&2; exit 1; }
export DYNAMODB_ENDPOINT
