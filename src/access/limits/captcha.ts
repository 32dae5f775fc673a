import { ServiceError } from '../../errors.ts';

/** A captcha provider usually responds within a second, and the buyer waits for it. */
const captchaMsMax = 5_000;
/** The limit of Turnstile is 2,048 characters. */
const captchaTokenCharactersMax = 8_192;

/**
 * Whether a browser has passed the captcha, according to the token that it has sent. Rejects with `unavailable` if this
 * is unknown.
 */
export type Captcha = (token: string | undefined, address: string) => Promise<boolean>;

export interface CaptchaSettings {
  readonly url?: string | undefined;
  readonly secret?: string | undefined;
}

/**
 * A captcha by a provider that has a `siteverify` endpoint: Cloudflare Turnstile
 * (https://developers.cloudflare.com/turnstile/get-started/server-side-validation/), hCaptcha and reCAPTCHA accept the
 * same form and respond `{"success": true}`. If the provider cannot be reached, no browser passes.
 *
 * @returns undefined if the settings name no captcha
 */
export function openCaptcha({ url, secret }: CaptchaSettings): Captcha | undefined {
  if (url === undefined || secret === undefined) return undefined;
  return async (token, address) => {
    if (token === undefined || token === '' || token.length > captchaTokenCharactersMax) return false;
    const body = new URLSearchParams({ secret, response: token, remoteip: address });
    const signal = AbortSignal.timeout(captchaMsMax);
    return fetch(url, { method: 'POST', body, signal, redirect: 'error' }).then(
      async (response) => ((await response.json()) as { readonly success?: unknown }).success === true,
      (error: unknown) => {
        throw new ServiceError('unavailable', {
          message: 'The challenge cannot be verified now; nothing was charged.',
          detail: `challenge: ${(error as Error).name}`,
          retryAfterSeconds: 5,
        });
      },
    );
  };
}
