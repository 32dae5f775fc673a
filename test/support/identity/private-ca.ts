import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tls } from '../oidc/scripted-oidc.ts';

const folder = join(import.meta.dirname, 'private-ca');

/** A certificate for 127.0.0.1 and localhost, issued by a CA that no system trusts. Its key is only for tests. */
export const privateTls: Tls = {
  key: readFileSync(join(folder, 'server-key.pem'), 'utf8'),
  cert: readFileSync(join(folder, 'server.pem'), 'utf8'),
};

/** The certificate of that CA, as `COUNTERFOIL_PRIVATE_CA` takes it. */
export const privateCaFile = join(folder, 'ca.pem');
