import { ServiceError } from '../errors.ts';
import { challengeMsMax, challengeTokenCharactersMax } from './limits.ts';

/** Verifies that a browser has passed a challenge. Throws `forbidden` if it has not, `unavailable` if this is unknown. */
export type Challenge = (token: string | undefined, address: string) => Promise<void>;

export interface ChallengeSettings {
  readonly url?: string | undefined;
  readonly secret?: string | undefined;
}

/**
 * A challenge by a provider that has a `siteverify` endpoint: Cloudflare Turnstile
 * (https://developers.cloudflare.com/turnstile/get-started/server-side-validation/), hCaptcha and reCAPTCHA accept the same
 * form and respond `{"success": true}`. If the provider cannot be reached, nobody passes.
 *
 * @returns undefined if the settings name no challenge
 */
export function challengeOf({ url, secret }: ChallengeSettings): Challenge | undefined {
  if (url === undefined || secret === undefined) return undefined;
  return async (token, address) => {
    if (token === undefined || token === '' || token.length > challengeTokenCharactersMax) throw notPassed();
    const body = new URLSearchParams({ secret, response: token, remoteip: address });
    const signal = AbortSignal.timeout(challengeMsMax);
    const passed = await fetch(url, { method: 'POST', body, signal, redirect: 'error' }).then(
      async (response) => ((await response.json()) as { readonly success?: unknown }).success === true,
      (error: unknown) => {
        throw new ServiceError('unavailable', {
          message: 'The challenge cannot be verified now; nothing was charged.',
          detail: `challenge: ${(error as Error).name}`,
          retryAfterSeconds: 5,
        });
      },
    );
    if (!passed) throw notPassed();
  };
}

function notPassed(): ServiceError {
  return new ServiceError('forbidden', {
    param: 'Challenge-Token',
    message:
      'This charge needs the token of a passed challenge, in the header Challenge-Token. Nothing was charged.',
  });
}
