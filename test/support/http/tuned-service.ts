import { type ServiceOptions, startService } from '../../../src/app/service.ts';
import { openLog } from '../../../src/log.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { unhurried } from '../service.ts';

/**
 * A program that runs the service with options that are no settings (`OPTIONS`, in JSON), and perhaps a settings file (`SETTINGS_FILE`). On a busy machine it sheds no
 * requests.
 */
const options = JSON.parse(process.env.OPTIONS ?? '{}') as Partial<ServiceOptions>;
const { SETTINGS_FILE: file = '/nonexistent/counterfoil.json' } = process.env;
const settings = loadSettings({ env: process.env, file, simulate: true });
const service = await startService(settings, {
  simulate: true,
  log: openLog(settings.logLevel),
  ...options,
  load: { ...unhurried, ...options.load },
});
process.send?.(service.origin);
process.once('disconnect', () => process.exit());
