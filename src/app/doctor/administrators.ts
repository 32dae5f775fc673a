import { Administrators } from '../../access/console/administrators.ts';
import { ConsoleApprovals } from '../../sign-in/console-approvals.ts';
import type { Engine } from '../../storage/engine.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Administrators who cannot sign in to the console, because the registration that they are bound to is gone or not approved. */
export async function administratorsCheck(engine: Engine, now: () => number): Promise<readonly Finding[]> {
  const administrators = await new Administrators(engine, now).list();
  if (administrators.length === 0) return [];
  const bound = administrators.flatMap(({ registration }) => registration ?? []);
  const accepted = await new ConsoleApprovals(engine, now).accepted(bound);
  const ids = new Set(accepted.map(({ id }) => id));
  const shutOut = administrators.filter(
    ({ registration }) => registration === undefined || !ids.has(registration.id),
  );
  if (shutOut.length === 0) return [ok('administrators', `all ${administrators.length} can sign in`)];
  return shutOut.map(({ issuer, subject, registration }) =>
    warning(
      'administrators',
      registration === undefined
        ? `${subject} of ${issuer} is bound to no integration, and cannot sign in`
        : `${subject} of ${issuer} cannot sign in: ${registration.integration} is not approved, or was registered again`,
      'run counterfoil integrations approve, then counterfoil admins add',
    ),
  );
}
