import { spawnSync } from 'node:child_process';
import { shellEnvironment } from './environment.ts';

/** A program other than Node that a case needs. If it is missing, the case is not measured and the run continues. */
export interface Tool {
  readonly command: string;
  /** Prints the version; undefined if the program has no such option. */
  readonly versionArgs: readonly string[] | undefined;
  readonly version: RegExp;
  readonly install: string;
}

export const wrk: Tool = {
  command: 'wrk',
  // It prints its version with its usage, and exits with 1.
  versionArgs: ['-v'],
  version: /^wrk \S+/m,
  install: 'on Debian and Ubuntu: apt-get install wrk',
};
export const nginx: Tool = {
  command: 'nginx',
  versionArgs: ['-v'],
  version: /nginx\/\S+/,
  install: 'on Debian and Ubuntu: apt-get install nginx-light',
};
export const redis: Tool = {
  command: 'redis-server',
  versionArgs: ['--version'],
  version: /Redis server v=\S+/,
  install: 'on Debian and Ubuntu: apt-get install redis-server',
};
export const webdis: Tool = {
  command: 'webdis',
  // It has no option for the version: it starts with any arguments.
  versionArgs: undefined,
  version: /^/,
  install: 'on Debian and Ubuntu: apt-get install webdis',
};
export const etcd: Tool = {
  command: 'etcd',
  versionArgs: ['--version'],
  version: /etcd Version: \S+/,
  install: 'on Debian and Ubuntu: apt-get install etcd-server',
};
export const go: Tool = {
  command: 'go',
  versionArgs: ['version'],
  version: /go1\.\S+/,
  install: "Go 1.24 or newer builds etcd's own load client, see https://go.dev/doc/install",
};

/** Returns why a case cannot be measured here, or undefined if all tools are installed. */
export function missingTool(...tools: readonly Tool[]): string | undefined {
  const missing = tools.find(({ command }) => !isInstalled(command));
  return missing === undefined ? undefined : `needs ${missing.command} (${missing.install})`;
}

/** The names and versions of the installed tools. */
export function toolVersions(): string[] {
  return [wrk, nginx, redis, webdis, etcd, go].flatMap(({ command, versionArgs, version }) => {
    if (!isInstalled(command)) return [];
    if (versionArgs === undefined) return [command];
    const { stdout, stderr } = spawnSync(command, versionArgs, { encoding: 'utf8', env: shellEnvironment() });
    return [version.exec(stdout + stderr)?.[0] ?? command];
  });
}

function isInstalled(command: string): boolean {
  const { status } = spawnSync('sh', ['-c', 'command -v "$0"', command], { env: shellEnvironment() });
  return status === 0;
}
