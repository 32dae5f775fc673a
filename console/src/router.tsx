import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { Problem } from './parts/problem.tsx';
import { comparedOf } from './payments/compared.ts';
import { filtersOf } from './payments/filters.ts';
import { Shell } from './shell.tsx';
import { texts } from './texts.ts';

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <p>{texts.problem.notFound}</p>,
});
const getParentRoute = () => root;
const home = createRoute({
  getParentRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/payments', search: {} });
  },
});
const payments = createRoute({
  getParentRoute,
  path: '/payments',
  validateSearch: filtersOf,
  component: lazyRouteComponent(() => import('./payments/payments-view.tsx')),
});
const payment = createRoute({
  getParentRoute,
  path: '/payments/$processor/$route/$id',
  component: lazyRouteComponent(() => import('./payments/payment-view.tsx')),
});
const review = createRoute({
  getParentRoute,
  path: '/review',
  component: lazyRouteComponent(() => import('./payments/review-view.tsx')),
});
const reconciliation = createRoute({
  getParentRoute,
  path: '/reconciliation',
  validateSearch: comparedOf,
  component: lazyRouteComponent(() => import('./payments/reconciliation-view.tsx')),
});
const tables = createRoute({
  getParentRoute,
  path: '/tables',
  component: lazyRouteComponent(() => import('./tables/tables-view.tsx')),
});
const items = createRoute({
  getParentRoute,
  path: '/tables/$table',
  validateSearch: ({ from, prefix }: Record<string, unknown>): { from?: string; prefix?: string } => ({
    ...(typeof from === 'string' && from !== '' ? { from } : {}),
    ...(typeof prefix === 'string' && prefix !== '' ? { prefix } : {}),
  }),
  component: lazyRouteComponent(() => import('./tables/items-view.tsx')),
});
const people = createRoute({
  getParentRoute,
  path: '/people',
  validateSearch: ({ from }: Record<string, unknown>): { from?: string } =>
    typeof from === 'string' && from !== '' ? { from } : {},
  component: lazyRouteComponent(() => import('./people/people-view.tsx')),
});
const operations = createRoute({
  getParentRoute,
  path: '/operations',
  component: lazyRouteComponent(() => import('./operations/operations-view.tsx')),
});
const backups = createRoute({
  getParentRoute,
  path: '/backups',
  component: lazyRouteComponent(() => import('./administration/backups-view.tsx')),
});
const audit = createRoute({
  getParentRoute,
  path: '/audit',
  component: lazyRouteComponent(() => import('./administration/audit-view.tsx')),
});
const keys = createRoute({
  getParentRoute,
  path: '/keys',
  component: lazyRouteComponent(() => import('./keys/keys-view.tsx')),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    payments,
    payment,
    review,
    reconciliation,
    tables,
    items,
    people,
    keys,
    operations,
    backups,
    audit,
  ]),
  basepath: '/console',
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error, reset }: { readonly error: unknown; readonly reset: () => void }) => (
    <Problem error={error} again={reset} />
  ),
  // Ids are text, so an id in the address that looks like a number must stay text.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(
      Object.entries(search as Record<string, unknown>).flatMap(([name, value]) =>
        value === undefined || value === '' ? [] : [[name, String(value)]],
      ),
    ).toString();
    return text === '' ? '' : `?${text}`;
  },
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
