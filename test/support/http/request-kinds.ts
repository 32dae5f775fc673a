import { create, payment, readPath } from './documented-operations.ts';
import { requestText } from './raw-http.ts';

const json = { 'Content-Type': 'application/json' };
const chunked = { ...json, 'Transfer-Encoding': 'chunked' };

/** One request of every kind that a connection can receive, and malformed ones. */
export const requestKinds: Readonly<Record<string, (origin: string) => string>> = {
  'a read': (origin) => requestText(origin, `GET ${readPath}`),
  'a read with HEAD': (origin) => requestText(origin, `HEAD ${readPath}`),
  'a create with a body': (origin) =>
    requestText(origin, `POST ${create.path}`, json, JSON.stringify(create.body)),
  'a create in chunks': (origin) =>
    `${requestText(origin, `POST ${create.path}`, chunked)}${inChunks('{"id":"c","na', 'me":"Gamma"}')}`,
  'a create that waits for 100 Continue': (origin) =>
    requestText(
      origin,
      `POST ${create.path}`,
      { ...json, Expect: '100-continue' },
      JSON.stringify(create.body),
    ),
  'a charge': (origin) => requestText(origin, `POST ${payment.path}`, json, JSON.stringify(payment.body)),
  'a sign-out': (origin) => requestText(origin, 'POST /v3/auth/sign-out', json, '{}'),
  'an event': (origin) => requestText(origin, 'POST /stage/events/stripe', json, '{"id":"evt_1"}'),
  'a pair of requests': (origin) =>
    requestText(origin, `GET ${readPath}`) + requestText(origin, 'GET /livez', { Connection: 'close' }),
  'a read and a CONNECT': (origin) =>
    `${requestText(origin, `GET ${readPath}`)}CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  'a documentation asset': (origin) => requestText(origin, 'GET /docs/static/swagger-ui.css'),
  'a CONNECT': () => 'CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\nwhat follows',
  'an upgrade': (origin) =>
    `${requestText(origin, 'GET /livez', {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version': '13',
    })}what follows`,
  'an unknown expectation': (origin) => requestText(origin, 'GET /livez', { Expect: 'a-miracle' }),
  'a malformed head': () => 'GET /livez HTTP/1.1\r\nHost : localhost\r\nX-A: a\r\n\r\n',
  'a malformed chunk': (origin) => `${requestText(origin, `POST ${create.path}`, chunked)}zz\r\nwhat follows`,
  'a TLS hello': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x00\x00\x00',
};

function inChunks(...pieces: readonly string[]): string {
  return [...pieces, ''].map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
}
