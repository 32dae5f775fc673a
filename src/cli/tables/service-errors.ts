import { CounterfoilError } from '../../../client/src/index.ts';
import { type ErrorCode, errorKinds, ServiceError } from '../../errors.ts';
import { WorkFailed } from '../problems.ts';

/** An error of the client as a command reports it. */
export function commandError(error: unknown): unknown {
  if (!(error instanceof CounterfoilError)) return error;
  const { type, code, message, param, requestId } = error;
  // A newer service may have codes that are not known here.
  if (type === 'client' || !Object.hasOwn(errorKinds, code)) return new WorkFailed(code, message);
  const request = requestId === undefined ? '' : ` (request ${requestId})`;
  const hint = code === 'unauthenticated' ? ' Give it as COUNTERFOIL_API_KEY.' : '';
  // Only an error of the service itself needs the log.
  return new ServiceError(code as ErrorCode, {
    message: code === 'internal' ? message + request : message + hint,
    param,
  });
}
