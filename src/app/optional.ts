import { SettingsError } from '../errors.ts';

/** Loads an adapter with an optional library. If the library is missing, throws SettingsError with the package to install. */
export async function optional<Adapter>(setting: string, load: () => Promise<Adapter>): Promise<Adapter> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const missing = code === 'ERR_MODULE_NOT_FOUND' ? /package '([^']+)'/.exec(message)?.[1] : undefined;
    if (missing === undefined) throw error;
    throw new SettingsError([
      `${setting}: needs the package ${missing}, which is not installed: npm install ${missing}`,
    ]);
  }
}
