import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { requesterFor } from '../../access/permission.ts';
import { type FieldsBesideError, success } from '../../envelope.ts';

import type { SignIn } from '../../sign-in/sign-in.ts';
import type { Integration } from '../../sign-in/types.ts';
import {
  closed,
  envelopeSchema,
  errorResponses,
  noQuery,
  pageSchema,
  responseSchema,
} from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { body, described, pageQuery, registered, verifyQuery } from './integration-schemas.ts';
import { integrationParams } from './provider-param.ts';

const tags = ['Sign-in'];
const besideError: FieldsBesideError = () => ({ compelete: false });

/**
 * The registry of sign-in integrations: register (interface.md, 4.5), retrieve, replace, remove. No response contains a
 * secret.
 */
export function integrationRoutes(signIn: SignIn): Routes {
  const { prefix } = signIn;
  return (app) => {
    app.post(
      `${prefix}/v3/create/service/auth/:identity_provider/:INTEGRATION_NAME`,
      {
        config: { access: 'integrations:write', besideError },
        schema: {
          tags,
          operationId: 'createIntegration',
          summary: 'Register a sign-in integration',
          params: integrationParams,
          querystring: verifyQuery,
          body,
          response: {
            200: responseSchema(registered, 'The integration is on disk, with its secret encrypted'),
            ...errorResponses('IntegrationErrorResponse', { compelete: Type.Literal(false) }),
          },
        },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        if (request.query.verify === 'true') await signIn.verify({ provider, name }, request.body);
        const integration = await signIn.register(
          { provider, name },
          request.body,
          requesterFor(request.caller, request.id),
        );
        const { redirectUri, signInUrl } = signIn.addresses(integration);
        return sendEnvelope(
          reply,
          success({
            compelete: true,
            complete: true,
            name: integration.name,
            provider: integration.provider,
            client_id: integration.clientId,
            redirect_uri: redirectUri,
            sign_in_url: signInUrl,
            created_at: integration.createdAt,
          }),
        );
      },
    );

    const one = `${prefix}/v3/service/auth/:identity_provider/:INTEGRATION_NAME`;
    app.get(
      one,
      {
        config: { access: 'integrations:read' },
        schema: {
          tags,
          operationId: 'getIntegration',
          summary: 'Retrieve an integration',
          params: integrationParams,
          querystring: noQuery,
          response: {
            200: responseSchema(described, 'The integration, without its secret'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        return sendEnvelope(reply, success(shown(signIn, await signIn.integration({ provider, name }))));
      },
    );

    app.put(
      one,
      {
        config: { access: 'integrations:write' },
        schema: {
          tags,
          operationId: 'replaceIntegration',
          summary: 'Replace the credentials of an integration',
          params: integrationParams,
          querystring: verifyQuery,
          body,
          response: {
            200: responseSchema(described, 'The new credentials are on disk, with the secret encrypted'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        if (request.query.verify === 'true') await signIn.verify({ provider, name }, request.body);
        const { caller, id } = request;
        const mayApprove = caller.rights?.scopes.includes('admin') ?? false;
        const requester = { ...requesterFor(caller, id), mayApprove };
        const integration = await signIn.replace({ provider, name }, request.body, requester);
        return sendEnvelope(reply, success(shown(signIn, integration)));
      },
    );

    app.delete(
      one,
      {
        config: { access: 'integrations:write' },
        schema: {
          tags,
          operationId: 'deleteIntegration',
          summary: 'Remove an integration',
          params: integrationParams,
          querystring: noQuery,
          response: {
            200: responseSchema(
              Type.Object({ message: Type.Literal('Integration deleted') }, closed),
              'Nobody can sign in with it any more, and its users are signed out',
            ),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        await signIn.remove({ provider, name }, requesterFor(request.caller, request.id));
        return sendEnvelope(reply, success({ message: 'Integration deleted' }));
      },
    );
  };
}

/** Lists the integrations of all providers or of one. */
export function integrationListRoutes(signIn: SignIn): Routes {
  const path = `${signIn.prefix}/v3/service/auth`;
  const page = {
    querystring: pageQuery,
    response: {
      200: envelopeSchema(pageSchema(described), 'Ordered by provider and name; `next` if there are more'),
      ...errorResponses(),
    },
  };
  const send = async (reply: FastifyReply, provider: string | undefined, after: string | undefined) => {
    const { integrations, next } = await signIn.integrations(provider, after);
    const envelope = success(integrations.map((each) => shown(signIn, each)));
    return sendEnvelope(reply, next === undefined ? envelope : { ...envelope, ...{ next } });
  };
  return (app) => {
    app.get(
      path,
      {
        config: { access: 'integrations:read' },
        schema: { tags, operationId: 'listIntegrations', summary: 'List integrations', ...page },
      },
      (request, reply) => send(reply, undefined, request.query.after),
    );
    app.get(
      `${path}/:identity_provider`,
      {
        config: { access: 'integrations:read' },
        schema: {
          tags,
          operationId: 'listIntegrationsOfProvider',
          summary: 'List the integrations of a provider',
          params: Type.Pick(integrationParams, ['identity_provider']),
          ...page,
        },
      },
      (request, reply) => send(reply, request.params.identity_provider, request.query.after),
    );
  };
}

/** An integration as its operations return it. */
export function shown(signIn: SignIn, integration: Integration) {
  const { redirectUri, signInUrl } = signIn.addresses(integration);
  return {
    name: integration.name,
    provider: integration.provider,
    client_id: integration.clientId,
    ...(integration.issuer === undefined ? {} : { issuer: integration.issuer }),
    return_urls: integration.returnUrls,
    scopes: integration.scopes,
    redirect_uri: redirectUri,
    sign_in_url: signInUrl,
    created_at: integration.createdAt,
    console_approved_at: integration.consoleApprovedAt ?? null,
  };
}
