import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { errorKinds } from '../src/errors.ts';
import { Scraped } from './support/metrics.ts';
import { startTestService } from './support/service.ts';

const dashboard = JSON.parse(readFileSync('deploy/grafana/counterfoil.json', 'utf8')) as Dashboard;
const alerts = readFileSync('deploy/prometheus/alerts.yml', 'utf8');

interface Dashboard {
  readonly uid: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly Panel[];
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

/** Every name in a text that has the form of one of our metrics. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/\b(?:counterfoil|process|nodejs)_\w+/g)].map(([name]) => name);
}

test('deploy: /metrics exposes every metric of the dashboard and of the alerts, which use every metric', async (t) => {
  const exposed = (
    await Scraped.from(await startTestService(t, { env: { COUNTERFOIL_STORE: 'lmdb' } }))
  ).names();
  const exprs = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const named = [...exprs, JSON.stringify(dashboard.templating), alerts].flatMap(namesIn);
  assert.ok(named.length > 40);
  assert.deepEqual(
    named.filter((name) => !exposed.has(name)),
    [],
  );
  // The dashboard and the alerts use every metric; of a histogram, any of its series is enough.
  const shown = new Set(named.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  const unshown = [...exposed].filter((name) => !shown.has(name.replace(/_(bucket|sum|count)$/, '')));
  assert.deepEqual(unshown, []);
});

test('deploy: the alerts use only outcomes and codes that exist', () => {
  const codes = [...alerts.matchAll(/outcome=~"([^"]+)"/g)].flatMap(([, list = '']) => list.split('|'));
  const ofStore = ['storage_full', 'unavailable', 'unknown', 'failed'];
  const ofSignIns = ['rate_limited', 'overloaded', 'unreachable', 'untrusted', 'rejected'];
  assert.deepEqual(codes, [...ofStore, ...ofSignIns]);
  const rateLimited = JSON.stringify(dashboard).match(/code=\\+"(\w+)/)?.[1];
  assert.ok(rateLimited !== undefined && rateLimited in errorKinds);
});

test('deploy: the dashboard queries the selected data source, and its panels do not overlap', () => {
  assert.ok(
    dashboard.templating.list.some(({ name, type }) => name === 'datasource' && type === 'datasource'),
  );
  const taken = new Set<string>();
  const ids = new Set(dashboard.panels.map(({ id }) => id));
  assert.equal(ids.size, dashboard.panels.length);
  for (const { title, type, gridPos, targets = [] } of dashboard.panels) {
    assert.ok(type === 'row' || targets.length > 0, title);
    for (const { datasource } of targets) assert.match(datasource.uid, /^\$\{datasource\}$/, title);
    const { x, y, w, h } = gridPos;
    assert.ok(x + w <= 24, title);
    for (let column = x; column < x + w; column++) {
      for (let line = y; line < y + h; line++) {
        const place = `${column}/${line}`;
        assert.ok(!taken.has(place), `${title} overlaps`);
        taken.add(place);
      }
    }
  }
});

test('deploy: the image is the package, does not run as root, and has a health check', () => {
  const dockerfile = readFileSync('deploy/Dockerfile', 'utf8');
  const ignored = readFileSync('deploy/Dockerfile.dockerignore', 'utf8').split('\n');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) [./]\S*$/gm)].flatMap(([, list = '']) =>
    list.split(' '),
  );
  assert.ok(copied.includes('src') && copied.includes('package-lock.json'));
  // A file that the build stage lacks is missing from the package.
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] };
  assert.deepEqual(
    files.filter((name) => !/^!?dist\b/.test(name) && !copied.includes(name)),
    [],
    'every file of the package is copied',
  );
  assert.deepEqual(
    copied.filter((name) => !ignored.includes(`!${name}`)),
    [],
    'what is copied is not ignored',
  );
  assert.match(dockerfile, /^USER node$/m);
  assert.match(dockerfile, /^RUN npm pack /m);
  assert.match(dockerfile, /^RUN install-libraries.sh$/m);
  const check = /^ {2}CMD (\["node", "-e", .+\])$/m.exec(dockerfile)?.[1] ?? '';
  assert.match((JSON.parse(check) as string[])[2] ?? '', /\/readyz/);
});
