import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FairQueue } from './fair-queue.ts';
import type { Listener } from './listener.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Whose turn it is to be served, for work of more than a millisecond. */
    readonly queue: FairQueue;
  }
}

/** Adds the routes of one domain to an app. */
export type Routes = (app: App) => void | Promise<void>;
export type App = FastifyInstance<
  Listener['server'],
  FastifyRequest['raw'],
  FastifyReply['raw'],
  FastifyInstance['log'],
  TypeBoxTypeProvider
>;
