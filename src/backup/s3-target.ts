import { createReadStream, statSync } from 'node:fs';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { defined } from '../defined.ts';
import { asS3Failure, attemptsMax, downloadResumably, hasStatus } from './s3-requests.ts';
import { mapWithConcurrency, requestsAtOnceMax } from './small-files.ts';
import type { BackupTarget, TargetFile } from './target.ts';

/** Time to connect to a target. */
const connectMsMax = 5_000;
/** After this silence a target counts as hung: even a slow one moves some bytes in this time. */
const idleMsMax = 30_000;
/** Bytes of a part of a large upload: S3 accepts no parts smaller than 5 MiB. */
const partBytesMin = 8 * 1024 * 1024;
/** S3 accepts 10,000 parts; the rest is a margin. */
const partsMax = 9_000;
/** Parts that are sent concurrently. Times their bytes, this is the memory of an upload. */
const partsAtOnceMax = 3;
/** An older file that no manifest lists is left over from a killed backup: no upload takes longer. */
const abandonedMs = 24 * 60 * 60 * 1_000;

export interface S3Settings {
  /** Origin of the S3 API; by default that of the region, or AWS_ENDPOINT_URL_S3. */
  readonly endpoint?: string | undefined;
  /** The default comes from the SDK's own chain (`AWS_REGION`, a profile). */
  readonly region?: string | undefined;
  /** Whether the bucket is the first segment of the path. By default `on` with an endpoint, because most other servers need it. */
  readonly pathStyle?: 'on' | 'off' | undefined;
  /** After this silence a request counts as hung; the bound of the same name by default. */
  readonly idleMsMax?: number;
}

const ignore = () => undefined;
/** Without this logger the SDK writes warnings to standard error, not to our log. */
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** The backups under a prefix of a bucket of Amazon S3, or of a server that speaks its protocol. */
export class S3Target implements BackupTarget {
  readonly name: string;
  readonly drafts = undefined;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  /** Whether the server supports conditional writes. Some servers reject the header. */
  #isConditional = true;

  /** @param url `s3://bucket` or `s3://bucket/prefix` */
  constructor(url: string, settings: S3Settings = {}) {
    this.name = url;
    const [bucket = '', ...path] = url.slice('s3://'.length).split('/');
    this.#bucket = bucket;
    this.#prefix = path
      .filter(Boolean)
      .map((part) => `${part}/`)
      .join('');
    this.#client = openClient(settings);
  }

  async prepare(): Promise<void> {
    await this.#translateErrors(() => this.#client.send(new HeadBucketCommand({ Bucket: this.#bucket })));
  }

  async list(): Promise<readonly TargetFile[]> {
    const files: TargetFile[] = [];
    await this.#translateErrors(async () => {
      const within = { Bucket: this.#bucket, Prefix: this.#prefix, Delimiter: '/' };
      for await (const { Contents = [] } of paginateListObjectsV2({ client: this.#client }, within))
        for (const { Key = '', Size = 0, LastModified } of Contents)
          files.push({
            name: Key.slice(this.#prefix.length),
            bytes: Size,
            writtenAt: LastModified?.getTime() ?? 0,
          });
    });
    return files.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** An upload takes hours at most, and its manifest follows at once. */
  isAbandoned({ writtenAt }: TargetFile): boolean {
    return Date.now() - writtenAt > abandonedMs;
  }

  async get(name: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    try {
      return await downloadResumably(
        async (from, etag) => {
          const rest = from === 0 ? {} : { Range: `bytes=${from}-`, IfMatch: etag };
          const { Body, ETag } = await this.#client.send(
            new GetObjectCommand({ ...this.#at(name), ...rest }),
          );
          return { pieces: Body as AsyncIterable<Uint8Array>, etag: ETag };
        },
        (error) => asS3Failure(error, this.name),
      );
    } catch (error) {
      if (hasStatus(error, 404) && (error as Error).name !== 'NoSuchBucket') return undefined;
      throw asS3Failure(error, this.name);
    }
  }

  async sizeOf(name: string): Promise<number | undefined> {
    try {
      return (await this.#client.send(new HeadObjectCommand(this.#at(name)))).ContentLength;
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw asS3Failure(error, this.name);
    }
  }

  async put(name: string, bytes: Uint8Array): Promise<'written' | 'exists'> {
    const write = { ...this.#at(name), Body: bytes };
    return this.#translateErrors(async () => {
      try {
        const condition = this.#isConditional ? { IfNoneMatch: '*' } : {};
        await this.#client.send(new PutObjectCommand({ ...write, ...condition }));
        return 'written';
      } catch (error) {
        if (this.#isConditional && hasStatus(error, 412, 409)) return 'exists';
        if (!this.#isConditional || !hasStatus(error, 501)) throw error;
        this.#isConditional = false;
        await this.#client.send(new PutObjectCommand(write));
        return 'written';
      }
    });
  }

  async replace(name: string, bytes: Uint8Array): Promise<void> {
    await this.#translateErrors(() =>
      this.#client.send(new PutObjectCommand({ ...this.#at(name), Body: bytes })),
    );
  }

  async putFile(name: string, path: string): Promise<void> {
    const partSize = Math.max(partBytesMin, Math.ceil(statSync(path).size / partsMax));
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#at(name), Body: createReadStream(path) },
      partSize,
      queueSize: partsAtOnceMax,
    });
    await this.#translateErrors(() => upload.done());
  }

  async remove(names: readonly string[]): Promise<void> {
    const remove = (name: string) =>
      this.#translateErrors(() => this.#client.send(new DeleteObjectCommand(this.#at(name))));
    await mapWithConcurrency(names, requestsAtOnceMax, remove);
  }

  close(): void {
    this.#client.destroy();
  }

  #at(name: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + name };
  }

  async #translateErrors<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw asS3Failure(error, this.name);
    }
  }
}

function openClient({ endpoint, region, pathStyle, idleMsMax: idleMs = idleMsMax }: S3Settings): S3Client {
  const isOther = endpoint !== undefined || process.env.AWS_ENDPOINT_URL_S3 !== undefined;
  return new S3Client({
    ...defined({ endpoint, region }),
    forcePathStyle: pathStyle === undefined ? isOther : pathStyle === 'on',
    maxAttempts: attemptsMax,
    // The SDK's own checksums are trailers that other servers may not know. Each of our files has a checksum anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectMsMax,
      socketTimeout: idleMs,
      logger: silent,
    },
    logger: silent,
  });
}
