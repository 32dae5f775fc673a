import { type Static, Type } from 'typebox';
import { named } from '../response/described.ts';
import { nullable, responseSchema, strictObject, stringEnum, timestamp } from '../response/schemas.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';

/** Administrators examine the service here. @param prefix in front of `/v3` */
export function doctorRoutes(examine: () => Promise<DoctorReport>, prefix: string): Routes {
  return routeFamily('Administration', [
    operation('GET', `${prefix}/v3/doctor`, 'admin', {
      id: 'runDoctor',
      summary: 'Examine the service and what it needs',
      description:
        'The checks of `counterfoil doctor` that a running service can make of itself. Calls the processors and lists the target ' +
        'of the backups, so it may take 15 seconds. Callers at the same time share one examination.',
      response: responseSchema(report, 'The checks, also if there are problems'),
      handle: () => examine(),
    }),
  ]);
}

const status = Type.Unsafe<'ok' | 'warning' | 'problem'>(stringEnum(['ok', 'warning', 'problem']));

const check = named(
  'DoctorCheck',
  strictObject({
    check: Type.String({ description: 'What was checked', examples: ['disk', 'processor stripe'] }),
    status,
    message: Type.String({ description: 'What was found' }),
    action: nullable(Type.String({ description: 'What to do' })),
  }),
);

const masterKey = named(
  'MasterKey',
  strictObject({
    id: Type.String({ description: 'It reveals nothing about the key' }),
    is_writing: Type.Boolean({ description: 'Whether it encrypts what is stored now' }),
    state: Type.Unsafe<'sealing' | 'retiring' | 'retired' | 'unused'>(
      stringEnum(['sealing', 'retiring', 'retired', 'unused']),
    ),
    since: nullable(timestamp, { description: 'When it came into that state' }),
    secrets: Type.Integer({ description: 'How many secrets it encrypts' }),
  }),
);

const report = named(
  'DoctorReport',
  strictObject(
    {
      status,
      checked_at: timestamp,
      checks: Type.Array(check),
      master_keys: Type.Array(masterKey),
    },
    { description: '`status` is that of the worst check' },
  ),
);

export type DoctorReport = Omit<Static<typeof report>, 'checks' | 'master_keys'> & {
  readonly checks: readonly Static<typeof check>[];
  readonly master_keys: readonly Static<typeof masterKey>[];
};
