import { type ServiceOptions, startService } from '../../../src/app/service.ts';
import { openLog } from '../../../src/log.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { unhurried } from '../service.ts';

/**
 * A program that runs the service with options that are no settings (`OPTIONS`, in JSON). On a busy machine it sheds no
 * requests.
 */
const options = JSON.parse(process.env.OPTIONS ?? '{}') as Partial<ServiceOptions>;
const settings = loadSettings({ env: process.env, file: '/nonexistent/counterfoil.json', simulate: true });
const service = await startService(settings, {
  simulate: true,
  log: openLog(settings.logLevel),
  ...options,
  load: { ...unhurried, ...options.load },
});
process.send?.(service.origin);
process.once('disconnect', () => process.exit());
