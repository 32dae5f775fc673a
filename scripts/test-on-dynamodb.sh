#!/usr/bin/env bash
# The tests of tables, payments and integrations on the DynamoDB engine: on AWS's DynamoDB Local where
# DYNAMODB_ENDPOINT tells where it listens, on dynalite without it. With `short`, those that `npm test` has time for.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=(
  test/tables/{tables,batch,delete,one-item}.test.ts
  test/payments/{take-payment,idempotency,refunds}.test.ts
  test/sign-in/registration.test.ts
)
if [ "${1:-}" != short ]; then
  tests+=(
    test/storage/dynamodb*.test.ts
    test/tables/{bad-batches,if-match,stalled-reads}.test.ts
    test/access/{keys,matrix,limits}.test.ts
    test/sign-in/{sessions,flow,registry,app-sign-in}.test.ts
    test/secrets/rotate.test.ts
    test/payments/{listing,paid-items,recovery,crash,crash-at-steps,events,faults,money,single-use-tokens}.test.ts
  )
fi

# What is promised of the embedded store alone: the order of a table, its ETag, what lies in its files.
embedded_alone='in exactly the words of the document|under every other tag|in clear|in the order of the ids|make no new store'

export TEST_STORE=dynamodb
exec node_modules/.bin/node --test --test-concurrency=3 --test-skip-pattern="/$embedded_alone/" "${tests[@]}"
