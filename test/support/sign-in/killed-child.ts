import { endByProvider } from '../../../src/sign-in/end-by-provider.ts';
import { openLmdbEngine } from '../../../src/storage/lmdb/open.ts';
import { type Begun, engineWith, finishForApp, signInKitOver } from './sign-in-kit.ts';

/** What a child process does until it is killed, at a time of its clock. */
export interface Order {
  readonly work: Work;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly subject: string;
  /** The id of the user. */
  readonly user: string;
  readonly integration: string;
  readonly tokenId: string;
  readonly begun: Begun;
  readonly code: string;
  /** Kills itself before, during or after this commit; with a commit that it does not make, when it has finished. */
  readonly when: 'before' | 'during' | 'after';
  readonly commit: number;
}

export const endingWorks = [
  'logout of user',
  'logout of session',
  'logout of both',
  'everywhere',
  'delete',
  'integration',
] as const;
export type EndingWork = (typeof endingWorks)[number];
export type Work = EndingWork | 'finish' | 'exchange';

/** The session id at the provider, of all sign-ins of a subject. */
export function providerSessionOf(subject: string): string {
  return `sid of ${subject}`;
}

const [, , data = '', key = ''] = process.argv;
if (import.meta.main) await run();

async function run(): Promise<void> {
  const engine = await openLmdbEngine(data);
  process.once('message', (order: Order) => void obey(order));
  process.send?.('ready');

  async function obey(order: Order): Promise<void> {
    let commits = 0;
    const dying = engineWith(engine, {
      commit: async (writes) => {
        const isLast = ++commits === order.commit;
        if (isLast && order.when === 'before') die();
        const done = engine.commit(writes);
        if (isLast && order.when === 'during') setTimeout(die, Math.random() * 3);
        const outcome = await done;
        if (isLast && order.when === 'after') die();
        return outcome;
      },
    });
    const kit = signInKitOver(dying, Buffer.from(key, 'base64url'), order.now);
    const { subject, user } = order;
    const issuer = kit.user.proven.issuer;
    const providerSession = providerSessionOf(subject);
    kit.user.proven = { ...kit.user.proven, subject, providerSession };
    const act = { what: 'sessions.ended', on: user, by: 'cli' } as const;
    const logOut = (named: object) => {
      kit.logout.read = { issuer, ...named, id: order.tokenId, expiresAt: order.now + 60_000 };
      return endByProvider(kit.context, {
        provider: 'oidc',
        name: order.integration,
        token: 'x',
        requestId: 'req_1',
      });
    };
    const ending = kit.context.accessEnding;
    const works: Readonly<Record<Work, () => Promise<unknown>>> = {
      'logout of user': () => logOut({ subject }),
      'logout of session': () => logOut({ providerSession }),
      'logout of both': () => logOut({ subject, providerSession }),
      everywhere: () => ending.end({ filter: { user }, act }),
      delete: () => ending.deleteUser(user, { by: 'cli' }),
      integration: () => ending.end({ filter: { integration: `oidc/${order.integration}` }, act }),
      finish: () => finishForApp(kit.context, order.begun),
      exchange: () =>
        kit.appTokens.grant('oidc', order.integration, {
          grant_type: 'authorization_code',
          code: order.code,
          code_verifier: order.begun.verifier,
          return_url: 'https://app.example.com/in',
        }),
    };
    // A repeated logout token, a used state or a user who is gone is an error, as it should be.
    await works[order.work]().catch(() => undefined);
    die();
  }
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}
