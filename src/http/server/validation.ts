import { Ajv, type ValidateFunction } from 'ajv';
import type { FastifyInstance } from 'fastify';

/**
 * Validators that do not change a request: the default of Fastify would coerce 100 to "100" and drop unknown fields. Each is
 * compiled at its first request, so that the start of the service does not wait for all of them.
 */
export function useStrictValidation(app: Pick<FastifyInstance, 'setValidatorCompiler'>): void {
  const ajv = new Ajv({ meta: false, validateSchema: false });
  app.setValidatorCompiler(({ schema }) => {
    let validate: ValidateFunction | undefined;
    return (value: unknown) => {
      validate ??= ajv.compile(schema as object);
      return validate(value) ? { value } : { error: validate.errors ?? [] };
    };
  });
}
