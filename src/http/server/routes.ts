import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Listener } from './listener.ts';

/** Adds the routes of one domain to an app. */
export type Routes = (app: App) => void | Promise<void>;
export type App = FastifyInstance<
  Listener['server'],
  FastifyRequest['raw'],
  FastifyReply['raw'],
  FastifyInstance['log'],
  TypeBoxTypeProvider
>;
