import {
  createReadStream,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  draftFolder,
  flush,
  hasLiveDrafts,
  putInPlace,
  removeDeadDrafts,
  writeFlushed,
} from '../durable-files.ts';
import { SettingsError } from '../errors.ts';
import { asBackupFailure, type BackupTarget, type TargetFile } from './target.ts';

/** The file system has no hard links. */
const noLinks: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** A folder with backups. Each process writes in a folder of its own within it, and moves finished files out of that. */
export class FolderTarget implements BackupTarget {
  readonly name: string;
  readonly drafts: string;

  /** @param folder an absolute path */
  constructor(folder: string) {
    this.name = folder;
    this.drafts = draftFolder(folder);
  }

  async prepare(): Promise<void> {
    await this.#try(() => {
      // Not with its parents: a backup belongs on the disk that was to be mounted there.
      if (!existsSync(this.name)) {
        mkdirSync(this.name, { mode: 0o700 });
        flush(dirname(this.name));
      }
      removeDeadDrafts(this.name);
    });
  }

  /** Not while another process is writing here: the file may be the half of its backup. */
  isAbandoned(): boolean {
    return !hasLiveDrafts(this.name);
  }

  async list(): Promise<readonly TargetFile[]> {
    if (!existsSync(this.name)) throw new SettingsError([`${this.name}: there is no such folder`]);
    return this.#try(() =>
      readdirSync(this.name)
        .sort()
        .flatMap((name) => {
          const found = statSync(join(this.name, name), { throwIfNoEntry: false });
          return found?.isFile() ? { name, bytes: found.size, writtenAt: found.mtimeMs } : [];
        }),
    );
  }

  async get(name: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#try(async () => {
      const file = await open(join(this.name, name), 'r').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      return file && createReadStream('', { fd: file });
    });
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return this.#try(() => statSync(join(this.name, name), { throwIfNoEntry: false })?.size);
  }

  async put(name: string, bytes: Uint8Array): Promise<'written' | 'exists'> {
    return this.#withDraft(name, bytes, (draft, to) => (this.#link(draft, to) ? 'written' : 'exists'));
  }

  async replace(name: string, bytes: Uint8Array): Promise<void> {
    return this.#withDraft(name, bytes, putInPlace);
  }

  async putFile(name: string, path: string): Promise<void> {
    await this.#try(() => putInPlace(path, join(this.name, name)));
  }

  async remove(names: readonly string[]): Promise<void> {
    await this.#try(() => {
      for (const name of names) rmSync(join(this.name, name), { force: true });
      if (names.length > 0) flush(this.name);
    });
  }

  close(): void {
    rmSync(this.drafts, { recursive: true, force: true });
  }

  /** Writes and flushes a file, and then has it put to its place. */
  #withDraft<Result>(
    name: string,
    bytes: Uint8Array,
    put: (draft: string, to: string) => Result,
  ): Promise<Result> {
    return this.#try(() => {
      const draft = join(this.drafts, name);
      // Not with its parents: without its disk, the target would be made anew on the disk below, and what is sent be lost to it.
      if (!existsSync(this.drafts)) mkdirSync(this.drafts, { mode: 0o700 });
      try {
        writeFlushed(draft, bytes);
        return put(draft, join(this.name, name));
      } finally {
        rmSync(draft, { force: true });
        if (readdirSync(this.drafts).length === 0) rmdirSync(this.drafts);
      }
    });
  }

  /** A link, unlike a rename, leaves a file of this name alone. @returns whether there was none */
  #link(draft: string, to: string): boolean {
    try {
      linkSync(draft, to);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      if (!noLinks.has(code)) throw error;
      if (existsSync(to)) return false;
      putInPlace(draft, to);
      return true;
    }
    flush(this.name);
    return true;
  }

  async #try<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw asBackupFailure(error, this.name);
    }
  }
}
