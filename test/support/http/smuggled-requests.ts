/** A request whose end two parsers may see at different places, with another request after one of these ends. */
export interface Smuggling {
  readonly what: string;
  /** The bytes, one character each. */
  readonly bytes: string;
}

export interface Canary {
  readonly host: string;
  /** The complete request that must never run. */
  readonly request: string;
}

/** Requests that the service must reject with 400, without another response. */
export function ambiguous({ host, request }: Canary): Smuggling[] {
  const length = request.length;
  const post = (headers: string, body: string) =>
    `POST /v3/table/books/create HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
  const chunks = `0\r\n\r\n${request}`;
  const both = transferEncodings.flatMap(([what, header]) => [
    {
      what: `Content-Length, then Transfer-Encoding: ${what}`,
      bytes: post(`Content-Length: 4\r\n${header}`, chunks),
    },
    {
      what: `Transfer-Encoding: ${what}, then Content-Length`,
      bytes: post(`${header}Content-Length: 4\r\n`, chunks),
    },
    ...(what === 'chunked' || what.startsWith('in another case') || what.startsWith('spaces')
      ? []
      : [{ what: `Transfer-Encoding alone: ${what}`, bytes: post(header, chunks) }]),
  ]);
  const lengths = contentLengths(length).map(([what, headers]) => ({
    what: `Content-Length: ${what}`,
    bytes: post(headers, request),
  }));
  const sizes = chunkSizes.map(([what, line]) => ({
    what: `a chunk size ${what}`,
    bytes: post('Transfer-Encoding: chunked\r\n', `${line}${request}\r\n0\r\n\r\n`),
  }));
  const lines = headerLines.map(([what, text]) => ({
    what,
    bytes: post(`${text}Content-Length: ${length}\r\n`, request),
  }));
  return [
    ...both,
    ...lengths,
    ...sizes,
    ...lines,
    { what: 'HTTP/0.9', bytes: `GET /livez\r\n\r\n${request}` },
    { what: 'a tab in the request line', bytes: `GET\t/livez HTTP/1.1\r\nHost: ${host}\r\n\r\n${request}` },
    { what: 'a space before the method', bytes: ` GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n${request}` },
    {
      what: 'a bare carriage return in the path',
      bytes: `GET /li\rvez HTTP/1.1\r\nHost: ${host}\r\n\r\n${request}`,
    },
    { what: 'two hosts', bytes: post('Host: elsewhere\r\nContent-Length: 0\r\n', '') },
    {
      what: 'no host',
      bytes: `POST /v3/table/books/create HTTP/1.1\r\nContent-Length: ${length}\r\n\r\n${request}`,
    },
    {
      what: 'a chunk that is longer than it says',
      bytes: post('Transfer-Encoding: chunked\r\n', `1\r\nab\r\n${chunks}`),
    },
    {
      what: 'a chunk that ends in a bare line feed',
      bytes: post('Transfer-Encoding: chunked\r\n', `1\r\na\n${chunks}`),
    },
    {
      what: 'a last chunk with a folded trailer',
      bytes: post('Transfer-Encoding: chunked\r\n', `0\r\nX-A: a\r\n b\r\n\r\n${request}`),
    },
    {
      what: 'a trailer with a space before its colon',
      bytes: post('Transfer-Encoding: chunked\r\n', `0\r\nX-A : a\r\n\r\n${request}`),
    },
  ];
}

/** Requests with only one meaning: the other request is a body. */
export function unambiguous({ host, request }: Canary): Smuggling[] {
  const length = request.length;
  const size = length.toString(16);
  const get = (path: string, headers: string, body: string) =>
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n${body}`;
  return [
    {
      what: 'two spaces in the request line',
      bytes: `GET /livez  HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n\r\n${request}`,
    },
    { what: 'a GET with a body', bytes: get('/livez', `Content-Length: ${length}\r\n`, request) },
    {
      what: 'a GET with a body in chunks',
      bytes: get('/livez', 'Transfer-Encoding: chunked\r\n', `${size}\r\n${request}\r\n0\r\n\r\n`),
    },
    { what: 'an unknown path', bytes: get('/v3/none', `Content-Length: ${length}\r\n`, request) },
    { what: 'an absolute URI', bytes: get(`http://${host}/livez`, `Content-Length: ${length}\r\n`, request) },
    {
      what: 'an absolute URI of another host',
      bytes: get('http://elsewhere/livez', `Content-Length: ${length}\r\n`, request),
    },
    {
      what: 'an Upgrade',
      bytes: get(
        '/livez',
        `Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: ${length}\r\n`,
        request,
      ),
    },
    {
      what: 'an Upgrade to HTTP/2',
      bytes: get(
        '/livez',
        `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: ${length}\r\n`,
        request,
      ),
    },
    {
      what: 'Content-Length named by Connection',
      bytes: get('/livez', `Connection: Content-Length\r\nContent-Length: ${length}\r\n`, request),
    },
    {
      what: 'another method by a header',
      bytes: get('/livez', `X-HTTP-Method-Override: POST\r\nContent-Length: ${length}\r\n`, request),
    },
    {
      what: 'another path by a header',
      bytes: get(
        '/livez',
        `X-Original-URL: /stage/payment/simulated/charge\r\nContent-Length: ${length}\r\n`,
        request,
      ),
    },
    {
      what: 'an expectation',
      bytes: get('/livez', `Expect: 100-continue\r\nContent-Length: ${length}\r\n`, request),
    },
    {
      what: 'a HEAD with a body',
      bytes: `HEAD /livez HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n\r\n${request}`,
    },
    {
      what: 'an OPTIONS with a body',
      bytes: `OPTIONS /livez HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n\r\n${request}`,
    },
    {
      what: 'a chunk with an extension',
      bytes: get('/livez', 'Transfer-Encoding: chunked\r\n', `${size};a=b\r\n${request}\r\n0\r\n\r\n`),
    },
    {
      what: 'a chunk size with zeros before it',
      bytes: get('/livez', 'Transfer-Encoding: chunked\r\n', `0000${size}\r\n${request}\r\n0\r\n\r\n`),
    },
    {
      what: 'a Content-Length with zeros before it',
      bytes: get('/livez', `Content-Length: 000${length}\r\n`, request),
    },
    {
      what: 'a Content-Length with underscores',
      bytes: get('/livez', `Content_Length: 0\r\nContent-Length: ${length}\r\n`, request),
    },
  ];
}

const transferEncodings: readonly (readonly [string, string])[] = [
  ['chunked', 'Transfer-Encoding: chunked\r\n'],
  ['in another case', 'tRANSFER-eNCODING: CHUNKED\r\n'],
  ['xchunked', 'Transfer-Encoding: xchunked\r\n'],
  ['identity', 'Transfer-Encoding: identity\r\n'],
  ['empty', 'Transfer-Encoding:\r\n'],
  ['spaces before chunked', 'Transfer-Encoding:   chunked\r\n'],
  ['a vertical tab before chunked', 'Transfer-Encoding: \x0bchunked\r\n'],
  ['quoted', 'Transfer-Encoding: "chunked"\r\n'],
  ['in two headers', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n'],
  ['identity in a list', 'Transfer-Encoding: chunked, identity\r\n'],
  ['a space before the colon', 'Transfer-Encoding : chunked\r\n'],
  ['a tab before the colon', 'Transfer-Encoding\t: chunked\r\n'],
  ['folded', 'Transfer-Encoding:\r\n chunked\r\n'],
  ['a bare line feed after it', 'Transfer-Encoding: chunked\nX-A: a\r\n'],
  ['a bare line feed before it', 'X-A: a\nTransfer-Encoding: chunked\r\n'],
  ['a bare carriage return before it', 'X-A: a\rTransfer-Encoding: chunked\r\n'],
  ['a zero byte in it', 'Transfer-Encoding: chun\0ked\r\n'],
  ['a zero byte in its name', 'Transfer\0-Encoding: chunked\r\n'],
];

function contentLengths(length: number): (readonly [string, string])[] {
  const header = (value: string | number) => `Content-Length: ${value}\r\n`;
  return [
    ['two that differ', header(0) + header(length)],
    ['two that differ, the other way round', header(length) + header(0)],
    ['two that are equal', header(length) + header(length)],
    ['a list', header(`0, ${length}`)],
    ['a list of equal ones', header(`${length}, ${length}`)],
    ['a plus sign', header(`+${length}`)],
    ['a minus sign', header('-1')],
    ['hexadecimal', header(`0x${length.toString(16)}`)],
    ['a fraction', header('0.0')],
    ['an exponent', header('0e1')],
    ['a space within', header(`0 ${length}`)],
    ['an underscore within', header('0_0')],
    ['letters after it', header(`${length}abc`)],
    ['empty', header('')],
    ['more than 64 bits', header('18446744073709551616')],
    ['a space before the colon', `Content-Length : ${length}\r\n`],
    ['folded', `Content-Length:\r\n ${length}\r\n`],
    ['a zero byte after it', header(`${length}\0`)],
    ['a bare line feed after it', `Content-Length: ${length}\nX-A: a\r\n`],
    ['digits of another script', header('\xd9\xa0')],
  ];
}

const chunkSizes: readonly (readonly [string, string])[] = [
  ['that is not a number', 'zz\r\n'],
  ['with 0x', '0x0\r\n'],
  ['with a minus sign', '-1\r\n'],
  ['with a plus sign', '+0\r\n'],
  ['of more than 64 bits', '10000000000000000\r\n'],
  ['of many digits', `${'f'.repeat(40)}\r\n`],
  ['that is missing', '\r\n'],
  ['with a space before it', ' 0\r\n'],
  ['with a bare line feed after it', '0\n\n'],
  ['with a bare carriage return after it', '0\r\r'],
  ['with a bare line feed in its extension', '0;a\nb\r\n'],
  ['with a zero byte after it', '0\0\r\n'],
];

const headerLines: readonly (readonly [string, string])[] = [
  ['a header without a colon', 'nonsense\r\n'],
  ['a header without a name', ': a\r\n'],
  ['a header with a space in its name', 'X A: a\r\n'],
  ['a folded header', 'X-A: a\r\n b\r\n'],
  ['a header folded by a tab', 'X-A: a\r\n\tb\r\n'],
  ['a bare line feed between headers', 'X-A: a\nX-B: b\r\n'],
  ['a bare carriage return in a header', 'X-A: a\rX-B: b\r\n'],
  ['a zero byte in a header', 'X-A: \0\r\n'],
  ['a control character in a header', 'X-A: \x01\r\n'],
];
