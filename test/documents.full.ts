import { test } from 'node:test';
import { documents, documentText, examplesOf, runExamples } from './support/documents.ts';

// README.md runs with `npm test`.
for (const name of documents) {
  if (name === 'README.md' || examplesOf(documentText(name)).length === 0) continue;
  test(`${name}: each command returns the response that is shown`, (t) => runExamples(t, name));
}
