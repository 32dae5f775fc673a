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

/** A folder with backups. Each process writes in its own folder within it, and moves finished files out. */
export class FolderTarget implements BackupTarget {
  readonly name: string;
  readonly drafts: string;

  /** @param folder an absolute path */
  constructor(folder: string) {
    this.name = folder;
    this.drafts = draftFolder(folder);
  }

  async prepare(): Promise<void> {
    await this.#translateErrors(() => {
      // Its parents are not made: a backup belongs on the disk that was to be mounted there.
      if (!existsSync(this.name)) {
        mkdirSync(this.name, { mode: 0o700 });
        flush(dirname(this.name));
      }
      removeDeadDrafts(this.name);
    });
  }

  /** False while another process is writing here: the file may be a part of its backup. */
  isAbandoned(): boolean {
    return !hasLiveDrafts(this.name);
  }

  async list(): Promise<readonly TargetFile[]> {
    if (!existsSync(this.name)) throw new SettingsError([`${this.name}: there is no such folder`]);
    return this.#translateErrors(() =>
      readdirSync(this.name)
        .sort()
        .flatMap((name) => {
          const found = statSync(join(this.name, name), { throwIfNoEntry: false });
          return found?.isFile() ? { name, bytes: found.size, writtenAt: found.mtimeMs } : [];
        }),
    );
  }

  async get(name: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#translateErrors(async () => {
      const file = await open(join(this.name, name), 'r').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      return file && createReadStream('', { fd: file });
    });
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return this.#translateErrors(() => statSync(join(this.name, name), { throwIfNoEntry: false })?.size);
  }

  async put(name: string, bytes: Uint8Array): Promise<'written' | 'exists'> {
    return this.#withDraft(name, bytes, (draft, to) => (this.#link(draft, to) ? 'written' : 'exists'));
  }

  async replace(name: string, bytes: Uint8Array): Promise<void> {
    return this.#withDraft(name, bytes, putInPlace);
  }

  async putFile(name: string, path: string): Promise<void> {
    await this.#translateErrors(() => putInPlace(path, join(this.name, name)));
  }

  async remove(names: readonly string[]): Promise<void> {
    await this.#translateErrors(() => {
      for (const name of names) rmSync(join(this.name, name), { force: true });
      if (names.length > 0) flush(this.name);
    });
  }

  close(): void {
    rmSync(this.drafts, { recursive: true, force: true });
  }

  /** Writes and flushes a file, and then puts it in its place. */
  #withDraft<Result>(
    name: string,
    bytes: Uint8Array,
    put: (draft: string, to: string) => Result,
  ): Promise<Result> {
    return this.#translateErrors(() => {
      const draft = join(this.drafts, name);
      // Its parents are not made: if the target's disk is not mounted, the files would go to the disk below it, and be lost.
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

  /** Links, because a rename would replace a file of this name. @returns whether there was no such file */
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

  async #translateErrors<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw asBackupFailure(error, this.name);
    }
  }
}
