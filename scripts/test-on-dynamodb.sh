#!/usr/bin/env bash
# Runs the tests of tables, payments and integrations on the DynamoDB engine: on AWS's DynamoDB Local if
# DYNAMODB_ENDPOINT is set, and otherwise on dynalite. With `short`, only those that `npm test` has time for.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=(
  test/tables/{tables,batch,delete,one-item}.test.ts
  test/payments/{take-payment,idempotency,refunds}.test.ts
  test/sign-in/registration.test.ts
)
how=--test-isolation=none
if [ "${1:-}" != short ]; then
  tests+=(
    test/storage/dynamodb*.{test,full}.ts
    test/tables/{bad-batches,if-match}.test.ts
    test/tables/stalled-reads.full.ts
    test/access/{keys,keys-http,key-coverage,matrix,limits,audit-list}.test.ts
    test/console/{administrators,administrator-attacks}.full.ts
    test/sign-in/{sessions,flow,registry,app-sign-in,logout-during-sign-in,twice-killed-ending}.test.ts
    test/access/keys-processes.full.ts
    test/sign-in/two-processes.full.ts
    test/secrets/rotate.full.ts
    test/payments/{listing,paid-items,events,faults,money,single-use-tokens}.test.ts
    test/payments/{recovery,crash,crash-at-steps}.full.ts
  )
  how=--test-concurrency=3
fi

# Promises that only the embedded store makes: the order of a table, its ETag, and the content of its files.
embedded_alone='in exactly the words of the document|under every other tag|in clear|unencrypted secret|in the order of the ids|create no store'

# Where the ledger is does not concern the engine.
tested_on_one_engine='with the ledger in the data folder'

export TEST_STORE=dynamodb
exec node_modules/.bin/node --test "$how" --test-skip-pattern="/$embedded_alone|$tested_on_one_engine/" "${tests[@]}"
