import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Counterfoil } from '../support/counterfoil.ts';
import { startPageServer } from '../support/page-server.ts';
import { offerSignIn } from '../support/sign-in.ts';
import { stopWith } from '../support/stop.ts';
import { seats } from './seats.ts';

/**
 * A shop that sells the seats of a theatre: `npm run example:shop`. The page has no backend code: this file starts the
 * service and an identity provider, makes the keys, fills the table of prices, and serves the files of the page.
 */
const types: Readonly<Record<string, string>> = {
  'index.html': 'text/html',
  'shop.css': 'text/css',
  'shop.js': 'text/javascript',
  'payments.js': 'text/javascript',
  'purchases.js': 'text/javascript',
  'seating-plan.js': 'text/javascript',
  'session.js': 'text/javascript',
  'simulated.js': 'text/javascript',
  'stripe.js': 'text/javascript',
};

/** What stands in a page of your own: the address of the payments, and the publishable key. */
let written: Readonly<Record<string, string>> = {};

const server = await startPageServer((request, response) => {
  const name = request.url?.split('?')[0] === '/' ? 'index.html' : (request.url?.slice(1) ?? '');
  const type = Object.hasOwn(types, name) ? types[name] : undefined;
  if (type === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' }).end(fileOf(name));
});

// The payments have an address of their own, like api.shop.example.
const counterfoil = new Counterfoil(import.meta.dirname, { COUNTERFOIL_PAYMENT_PORT: '0' });
const setUp = ['--scope', 'tables:write', '--scope', 'integrations:write'];
const secretKey = await counterfoil.run('keys', 'create', '--name', 'set-up', ...setUp);
const limits = ['--route', 'simulated/ticket', '--origin', server.origin];
const key = await counterfoil.run('keys', 'create', '--publishable', '--name', 'page', ...limits);

const service = await counterfoil.serve(server.origin, '--simulate');
stopWith(service);
await offerSeats();
await offerSignIn(service.origin, server.origin, secretKey);
server.proxySignInTo(service.origin);
written = { '{{payments}}': service.paymentOrigin, '{{key}}': key };
// The command reads counterfoil.json in the folder where it runs.
const folder = relative(process.cwd(), import.meta.dirname) || '.';
process.stdout.write(`Open ${server.origin}/ to buy a ticket. Press Ctrl-C to stop.
To refund a payment, run this in the same folder, with the id that the ticket shows:
  (cd ${folder} && COUNTERFOIL_DATA=${counterfoil.data} npx counterfoil payments refund pay_…)
`);

function fileOf(name: string): string {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8');
  return name === 'index.html' ? text.replace(/\{\{\w+\}\}/g, (place) => written[place] ?? place) : text;
}

/** Puts each seat with its price into the table, all in one commit. */
async function offerSeats(): Promise<void> {
  const response = await fetch(`${service.origin}/v3/table/seats/batch`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${secretKey}` },
    body: JSON.stringify({ writes: seats.map((seat) => ({ create: seat })) }),
  });
  if (!response.ok) throw new Error(await response.text());
}
