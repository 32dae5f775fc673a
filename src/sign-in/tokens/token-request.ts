import { invalidRequest, type ServiceError } from '../../errors.ts';
import type { SentCode } from './sign-in-code.ts';

/** The body as received; `grant_type` determines which other fields are required. */
export interface TokenRequest {
  readonly grant_type: 'authorization_code' | 'refresh_token';
  readonly code?: string;
  readonly code_verifier?: string;
  readonly return_url?: string;
  readonly refresh_token?: string;
}

export function codeFields({ code, code_verifier, return_url, refresh_token }: TokenRequest): SentCode {
  if (refresh_token !== undefined) throw unexpected('refresh_token', 'authorization_code');
  return {
    code: required('code', code),
    codeVerifier: required('code_verifier', code_verifier),
    returnUrl: required('return_url', return_url),
  };
}

export function refreshField({ refresh_token, ...others }: TokenRequest): string {
  for (const name of ['code', 'code_verifier', 'return_url'] as const)
    if (others[name] !== undefined) throw unexpected(name, 'refresh_token');
  return required('refresh_token', refresh_token);
}

function required(name: string, value: string | undefined): string {
  if (value === undefined) throw invalidRequest(name, `${name} is required.`);
  return value;
}

function unexpected(name: string, grant: string): ServiceError {
  return invalidRequest(name, `${name} is not allowed with grant_type "${grant}".`);
}

export function invalidCode(detail?: string): ServiceError {
  const why = 'it was used, has expired, or belongs to another integration, return_url or code_verifier';
  return invalidRequest('code', `code is invalid: ${why}. Sign in again.`, detail);
}

export function invalidToken(detail?: string): ServiceError {
  return invalidRequest('refresh_token', 'refresh_token is invalid or has expired. Sign in again.', detail);
}
