#!/usr/bin/env bash
# Runs the tests of tables, payments and integrations on the DynamoDB engine: on AWS's DynamoDB Local if
# DYNAMODB_ENDPOINT is set, and otherwise on dynalite.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=(
  test/tables/{tables,batch,delete,one-item,bad-batches,if-match}.test.ts
  test/tables/stalled-reads.full.ts
  test/storage/dynamodb*.{test,full}.ts
  test/access/{keys,keys-http,privilege-escalation,matrix,limits,audit-list}.test.ts
  test/access/keys-processes.full.ts
  test/console/{administrators,administrator-attacks}.full.ts
  test/sign-in/{registration,sessions,flow,registry,app-sign-in,logout-during-sign-in,twice-killed-ending}.test.ts
  test/sign-in/two-processes.full.ts
  test/secrets/rotate.full.ts
  test/payments/{take-payment,idempotency,refunds,listing,paid-items,events,faults,money,single-use-tokens}.test.ts
  test/payments/{recovery,crash,crash-at-steps}.full.ts
)

# node's test runner ignores a file that is not there.
for test in "${tests[@]}"; do [ -f "$test" ] || { echo "there is no $test" >&2; exit 1; }; done

# Promises that only the embedded store makes: the order of a table, its ETag, and the content of its files.
embedded_alone='in exactly the words of the document|under every other tag|in clear|unencrypted secret|in the order of the ids|create no store'

# Where the ledger is does not concern the engine.
tested_on_one_engine='with the ledger in the data folder'

export TEST_STORE=dynamodb
exec node_modules/.bin/node --test --test-concurrency=3 --test-skip-pattern="/$embedded_alone|$tested_on_one_engine/" "${tests[@]}"
