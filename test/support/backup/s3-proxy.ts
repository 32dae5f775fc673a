import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What happens to a request: `status`, an error of the server; `hang`, no response; `cut`, the connection ends after so many bytes
 * of the body; `slow`, the body comes in pieces with pauses; `edit`, another body.
 */
export type S3Fault =
  | { readonly kind: 'status'; readonly status: number; readonly code: string }
  | { readonly kind: 'hang' }
  | { readonly kind: 'cut'; readonly afterBytes: number }
  | { readonly kind: 'slow'; readonly pieceBytes: number; readonly pauseMs: number }
  | { readonly kind: 'edit'; readonly edit: (body: string) => string };

export interface S3Request {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** How many of this method came before. */
  readonly before: number;
}

/** A proxy on loopback in front of an S3 server, which injects faults. */
export class S3Proxy {
  script: (request: S3Request) => S3Fault | undefined = () => undefined;
  readonly endpoint: string;
  readonly #server: Server;
  readonly #counts = new Map<string, number>();

  private constructor(server: Server) {
    this.#server = server;
    this.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param target origin of the server */
  static async open(target: string): Promise<S3Proxy> {
    const server = createServer((message, response) => {
      proxy.#take(target, message, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new S3Proxy(server);
    return proxy;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(target: string, message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = message;
    const before = this.#counts.get(method) ?? 0;
    this.#counts.set(method, before + 1);
    const fault = this.script({ method, path, before });
    if (fault?.kind === 'hang') return void message.resume();
    if (fault?.kind === 'status') {
      message.resume();
      response.writeHead(fault.status, { 'content-type': 'application/xml' });
      response.end(`<?xml version="1.0"?><Error><Code>${fault.code}</Code><Message>x</Message></Error>`);
      return;
    }
    // The signature covers the host, so it is passed on as it came.
    const onward = request(new URL(path, target), { method, headers });
    message.pipe(onward);
    const reply = await new Promise<IncomingMessage>((resolve, reject) =>
      onward.on('response', resolve).on('error', reject),
    );
    await send(reply, response, fault);
  }
}

async function send(reply: IncomingMessage, response: ServerResponse, fault: S3Fault | undefined) {
  const { statusCode = 500, headers } = reply;
  if (fault?.kind === 'edit') {
    const { 'content-length': _, ...others } = headers;
    const body = Buffer.concat(await reply.toArray()).toString();
    response.writeHead(statusCode, others).end(fault.edit(body));
    return;
  }
  response.writeHead(statusCode, headers);
  let sent = 0;
  for await (const bytes of reply as AsyncIterable<Buffer>) {
    if (fault?.kind === 'cut' && sent + bytes.length > fault.afterBytes) return void response.destroy();
    const size = fault?.kind === 'slow' ? fault.pieceBytes : bytes.length;
    for (let at = 0; at < bytes.length; at += size) {
      response.write(bytes.subarray(at, at + size));
      if (fault?.kind === 'slow') await sleep(fault.pauseMs);
    }
    sent += bytes.length;
  }
  response.end();
}
