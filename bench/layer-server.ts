import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { openAccess } from '../src/app/access.ts';
import { openEngine, openMetrics } from '../src/app/adapters.ts';
import { jsonContentType } from '../src/envelope.ts';
import { sendText } from '../src/http/response/send.ts';
import { tableRoutes } from '../src/http/routes/tables.ts';
import { type AppOptions, openApp } from '../src/http/server/app.ts';
import { Listener } from '../src/http/server/listener.ts';
import type { Routes } from '../src/http/server/operation.ts';
import { openLog } from '../src/log.ts';
import { loadSettings } from '../src/settings/load.ts';
import type { Engine } from '../src/storage/engine.ts';
import { Tables } from '../src/tables/tables.ts';
import { noMetrics } from '../src/telemetry.ts';

/**
 * The service up to one of its layers, for the budget of a small request (`cases/layers.ts`). Each layer contains the ones
 * before it, and responds to the same GET with the bytes of a file.
 *
 * Usage: node bench/layer-server.ts framework|hooks|access|metrics|route BODY-FILE DATA-FOLDER
 */
const [layer = '', bodyFile = '', data = ''] = process.argv.slice(2);
const text = readFileSync(bodyFile, 'utf8');
const readPath = '/v3/table/:TABLE_NAME/read';
const log = openLog('warn');
const settings = loadSettings({
  env: { COUNTERFOIL_DATA: data, COUNTERFOIL_LIMIT_REQUESTS: '1000000' },
  file: '',
  simulate: true,
});

const origin = layer === 'framework' ? await serveFramework() : await serveApp();
process.stdout.write(`The layer is ready on ${origin}\n`);

async function serveFramework(): Promise<string> {
  const app = Fastify();
  app.get(readPath, (_request, reply) => {
    reply.header('content-type', jsonContentType).send(text);
  });
  return app.listen({ host: '127.0.0.1', port: 0 });
}

async function serveApp(): Promise<string> {
  const access = await openAccess(settings, await openEngine(settings, log), [], log, Date.now);
  const everybody: AppOptions['authorizer'] = { admit: () => undefined };
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  await openApp(listener, {
    log,
    ...access,
    authorizer: layer === 'hooks' ? everybody : access.authorizer,
    isStopping: () => false,
    metrics: layer === 'hooks' || layer === 'access' ? noMetrics : openMetrics(settings, Date.now).metrics,
    routes: [layer === 'route' ? readRoute() : fixedRoute],
  });
  return listener.origin;
}

/** A route that does nothing but respond. */
function fixedRoute(app: Parameters<Routes>[0]): void {
  app.get(readPath, { config: { access: 'tables:read' } }, (_request, reply) => sendText(reply, 200, text));
}

/** The route of the service, on a store that has the items in memory. */
function readRoute(): Routes {
  const { body } = JSON.parse(text) as { readonly body: readonly object[] };
  const items = body.map((item) => JSON.stringify(item)).join(',');
  const scan = { count: body.length, textBytes: items.length, version: 'v-1', chunks: [Buffer.from(items)] };
  const engine = { reads: 'snapshot', scan: async () => scan } as unknown as Engine;
  return tableRoutes(new Tables(engine, { tables: 'open', declared: [] }), '', []);
}
