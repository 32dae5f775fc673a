/** Sends one request to a service that may be killed meanwhile. @returns undefined if there is no response */
export async function tryToSend(
  url: string,
  init?: RequestInit,
): Promise<{ readonly status: number; readonly text: string; readonly headers: Headers } | undefined> {
  try {
    const response = await fetch(url, init);
    return { status: response.status, text: await response.text(), headers: response.headers };
  } catch {
    return undefined;
  }
}

/** The same with a JSON body. */
export function tryToPost(url: string, body: unknown, headers: Record<string, string> = {}) {
  return tryToSend(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}
