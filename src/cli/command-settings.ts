import type { Settings } from '../settings/schema.ts';

/** In the folder where the command runs. */
export const settingsFile = 'counterfoil.json';

/** The settings of the environment and of `counterfoil.json`. Throws SettingsError with all that are invalid. */
export async function commandSettings(simulate = false): Promise<Settings> {
  const { loadSettings } = await import('../settings/load.ts');
  return loadSettings({ env: process.env, file: settingsFile, simulate });
}
