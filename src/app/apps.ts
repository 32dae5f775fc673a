import { auditRoutes } from '../http/routes/audit.ts';
import { type BackupOperations, backupRoutes } from '../http/routes/backups.ts';
import { challengeRoutes } from '../http/routes/challenge.ts';
import { consoleRoutes } from '../http/routes/console.ts';
import { consoleSessionRoutes } from '../http/routes/console-session.ts';
import { type DoctorReport, doctorRoutes } from '../http/routes/doctor.ts';
import { documentationRoutes } from '../http/routes/documentation.ts';
import { healthRoutes, type MetricsResponse } from '../http/routes/health.ts';
import { integrationRoutes } from '../http/routes/integrations.ts';
import { keyRoutes } from '../http/routes/keys.ts';
import { paymentRoutes } from '../http/routes/payments.ts';
import { reconciliationRoutes } from '../http/routes/reconciliation.ts';
import { sessionRoutes } from '../http/routes/session.ts';
import { signInRoutes } from '../http/routes/sign-in.ts';
import { type Documented, startPageRoutes } from '../http/routes/start-page.ts';
import { tableRoutes } from '../http/routes/tables.ts';
import { tokenRoutes } from '../http/routes/tokens.ts';
import { userRoutes } from '../http/routes/users.ts';
import { type AppOptions, type HttpApp, openApp } from '../http/server/app.ts';
import type { Listener } from '../http/server/listener.ts';
import type { Routes } from '../http/server/operation.ts';
import { tablePolicy } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { version } from '../version.ts';
import type { AccessParts } from './access.ts';
import { consoleFolder } from './console-files.ts';
import type { Domains } from './domains.ts';
import type { Listeners } from './listeners.ts';

export interface AppContext extends Pick<AppOptions, 'log' | 'metrics' | 'isStopping'> {
  readonly domains: Domains;
  readonly access: AccessParts;
  /** Throws `unavailable` if the service cannot work now. */
  readonly checkReady: () => Promise<readonly string[]>;
  readonly backups: BackupOperations;
  /** Runs the checks of `doctor`. */
  readonly examine: () => Promise<DoctorReport>;
  readonly metricsText: () => Promise<MetricsResponse>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Opens an HTTP app on each listener; a separate one for payments has no other routes. */
export async function openApps(
  settings: Settings,
  listeners: Listeners,
  context: AppContext,
): Promise<readonly HttpApp[]> {
  const { docs, publicUrl } = settings;
  const { log, metrics, isStopping, access, checkReady, metricsText } = context;
  const open = (
    listener: Listener,
    families: readonly Routes[],
    paths: Documented['paths'],
    origin = publicUrl,
  ): Promise<HttpApp> => {
    const documented = docs === 'on' ? { version, paths } : undefined;
    const hasConsole = access.console !== undefined && listener === listeners.main;
    const start = startPageRoutes({ origin, documented, hasConsole });
    const described = [...families, start, healthRoutes(checkReady, metricsText)];
    const routes = docs === 'on' ? [...described, documentationRoutes(version, described)] : described;
    return openApp(listener, { log, metrics, ...access, isStopping, routes });
  };
  const main = [...mainRoutes(settings, context), ...consolePages(settings, listeners, context)];
  const payments = paymentsRoutes(settings, context);
  const { ofMain, ofPayments } = operationPaths(settings);
  if (!listeners.areSeparate)
    return [await open(listeners.main, [...payments, ...main], { ...ofMain, ...ofPayments })];
  return [
    await open(listeners.main, main, ofMain),
    // The public URL is that of the main listener.
    await open(listeners.payments, payments, ofPayments, ''),
  ];
}

/** Where the paths of the operations begin, on each listener. */
function operationPaths({ basePath, payments }: Settings) {
  return {
    ofMain: { tables: `${basePath}/v3/table`, sign_in: `${basePath}/v3/auth` },
    ofPayments: { payments: `${payments.basePath}/stage/payment` },
  };
}

function mainRoutes({ basePath, tables }: Settings, context: AppContext): readonly Routes[] {
  const { domains, access, backups, examine, log, now } = context;
  const { signIn } = domains;
  const { authorizer } = access;
  return [
    tableRoutes(domains.tables, basePath, tables.aliases),
    integrationRoutes(signIn),
    signInRoutes(signIn, log, (request) => authorizer.takeSignIn(request, now()), access.console?.cookies),
    sessionRoutes(signIn),
    tokenRoutes(signIn),
    userRoutes(signIn),
    auditRoutes(access.audit, basePath),
    keyRoutes(access.keys, now, basePath),
    backupRoutes(backups, basePath),
    doctorRoutes(examine, basePath),
    reconciliationRoutes(domains.payments, now, basePath),
  ];
}

/** The console, on the main listener; none if the settings turn it off. */
function consolePages(settings: Settings, listeners: Listeners, context: AppContext): readonly Routes[] {
  const { access, domains, log } = context;
  const { signIn } = domains;
  const { console: callers, authorizer: counts, isOpen, administrators, signIns } = access;
  if (callers === undefined) return [];
  const { processors, routes } = domains.payments;
  const configured = [...processors].flatMap(([name, processor]) => (processor === undefined ? [] : [name]));
  const payments = { basePath: settings.payments.basePath, processors: configured, routes };
  const facts = {
    version,
    basePath: settings.basePath,
    tablePolicy: tablePolicy(settings),
    payments: listeners.areSeparate ? undefined : payments,
  };
  return [
    consoleSessionRoutes({ callers, counts, isOpen, administrators, signIns, signIn, facts }),
    consoleRoutes(() => consoleFolder(log)),
  ];
}

function paymentsRoutes(settings: Settings, { domains, access }: AppContext): readonly Routes[] {
  const { basePath } = settings.payments;
  const { payments, challenges } = domains;
  return [
    paymentRoutes(payments, basePath, access.authorizer),
    ...(challenges === undefined ? [] : [challengeRoutes(challenges, basePath)]),
  ];
}
