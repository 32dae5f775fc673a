/** Whether a host, as a setting or URL names it, can be reached from this machine alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Whether a text is an origin as a browser writes it (RFC 6454, 6.2), and so can be compared to the letter; http is
 * for pages of this machine alone, for anybody on the way could change any other.
 */
export function isWebOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol, hostname } = new URL(text);
  return origin === text && (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)));
}
