import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';

/** Validates a `counterfoil.json` as an editor does, by the published schema. */
export function validatorOfFile(): ValidateFunction {
  const schema = JSON.parse(readFileSync('counterfoil.schema.json', 'utf8'));
  return new Ajv({ allErrors: true, strict: true, strictTypes: false }).compile(schema);
}
